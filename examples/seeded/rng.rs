//! Random numbers that are the same in every run.

/// The `SplitMix64` generator.
pub(crate) struct Rng(u64);

#[allow(dead_code, reason = "no graph needs every distribution")]
impl Rng {
    pub(crate) fn seeded(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Evenly spread over `0.0 .. 1.0`.
    pub(crate) fn uniform(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u32 << 24) as f32
    }

    /// Normally distributed with the given spread, near enough: the sum of twelve.
    pub(crate) fn normal(&mut self, deviation: f32) -> f32 {
        let sum: f32 = (0..12).map(|_| self.uniform()).sum();
        (sum - 6.0) * deviation
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }
}

//! Random numbers that are the same in every run.

/// The `SplitMix64` generator.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn seeded(seed: u64) -> Rng {
        Rng(seed)
    }

    fn bits(&mut self) -> u64 {
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

    /// Evenly spread around zero, with this standard deviation.
    pub(crate) fn around_zero(&mut self, deviation: f32) -> f32 {
        (2.0 * self.uniform() - 1.0) * 3.0_f32.sqrt() * deviation
    }
}

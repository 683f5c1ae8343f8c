//! Sampling: records one block per `every` bytes on average, at random, as jemalloc and Go do.
//!
//! Sample points are spread over the bytes that a thread allocates, with gaps that are exponentially distributed. A
//! block is recorded if it has a point in it: with the probability `p = 1 - exp(-bytes / every)`. It then counts as
//! `bytes / p` bytes and `1 / p` blocks, so the expected value of every sum is the exact sum. The weight depends on the
//! size of the block alone, and the size is known again when the block is freed.

use std::sync::atomic::{AtomicU8, Ordering};

/// The counts of a sampled recording are in parts of this size: a block may count as 1.58 blocks.
pub(super) const PARTS: u64 = 1 << 10;

/// The bytes and blocks that a recorded block counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) bytes: u64,
    /// Blocks; in a sampled recording in [`PARTS`].
    pub(super) blocks: u64,
}

impl Weight {
    /// The weight of a block in a recording of all blocks.
    pub(super) fn exact(bytes: u64) -> Weight {
        Weight { bytes, blocks: 1 }
    }

    /// The weight of a sampled block; `every` is 0 in a recording of all blocks.
    pub(super) fn new(bytes: u64, every: u64) -> Weight {
        if every == 0 {
            return Weight::exact(bytes);
        }
        let probability = -(-(bytes as f64) / every as f64).exp_m1();
        if probability <= 0.0 {
            return Weight::exact(bytes);
        }
        Weight {
            bytes: (bytes as f64 / probability).round() as u64,
            blocks: (PARTS as f64 / probability).round() as u64,
        }
    }
}

/// A thread's random numbers: splitmix64.
#[derive(Debug, Clone, Copy)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Bytes up to the next sample point.
    pub(super) fn gap(&mut self, every: u64) -> i64 {
        // In (0, 1], with the 53 bits of a float.
        let uniform = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        // Rounded down: the next `n` bytes have no sample point if the gap is at least `n`.
        (-uniform.ln() * every as f64) as i64
    }
}

const FILTER: usize = 1 << 16;

/// Number of live sampled blocks per hash of their address. Most counts are 0, so freeing a block that was not sampled
/// takes one load from a small table. A count that has reached its highest value does not change any more.
static LIVE: [AtomicU8; FILTER] = [const { AtomicU8::new(0) }; FILTER];

fn live(address: usize) -> &'static AtomicU8 {
    // Neighbours share a cache line: they are often freed together.
    &LIVE[(address >> 4) % FILTER]
}

/// True if a block may have been sampled.
#[inline]
pub(super) fn may_be_sampled(address: usize) -> bool {
    live(address).load(Ordering::Relaxed) != 0
}

pub(super) fn add_sampled(address: usize) {
    let more = |count: u8| count.checked_add(1);
    let _ = live(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
}

pub(super) fn remove_sampled(address: usize) {
    let fewer = |count: u8| (count != u8::MAX).then(|| count.saturating_sub(1));
    let _ = live(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
}

/// Forgets the blocks of an earlier recording.
pub(super) fn clear() {
    for count in &LIVE {
        count.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_of_a_sum_is_unbiased_for_every_size() {
        const EVERY: u64 = 4096;
        let mut random = Random::new(7);
        for bytes in [16, 500, 4096, 6000, 100_000] {
            // Enough blocks for about 20,000 samples, which give a standard error of at most 0.7 %.
            let probability = 1.0 - (-(bytes as f64) / EVERY as f64).exp();
            let blocks = (20_000.0 / probability) as u64;
            let weight = Weight::new(bytes, EVERY);
            let (mut estimate, mut counted) = (0, 0);
            let mut left = random.gap(EVERY);
            for _ in 0..blocks {
                left -= bytes as i64;
                if left < 0 {
                    estimate += weight.bytes;
                    counted += weight.blocks;
                    left = random.gap(EVERY);
                }
            }
            let of_bytes = estimate as f64 / (blocks * bytes) as f64;
            let of_blocks = counted as f64 / (blocks * PARTS) as f64;
            assert!((of_bytes - 1.0).abs() < 0.03, "{bytes}: {of_bytes}");
            assert!((of_blocks - 1.0).abs() < 0.03, "{bytes}: {of_blocks}");
        }
    }

    #[test]
    fn a_full_filter_keeps_reporting_its_blocks() {
        let address = 0xABCD_0000;
        for _ in 0..300 {
            add_sampled(address);
        }
        for _ in 0..300 {
            remove_sampled(address);
        }
        assert!(may_be_sampled(address), "a count that was cut is not exact");
        let other = address + 16;
        add_sampled(other);
        remove_sampled(other);
        assert!(!may_be_sampled(other));
    }
}

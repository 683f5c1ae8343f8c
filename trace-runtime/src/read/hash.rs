//! A fast hash for slices of the text; every event needs one or two lookups.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Hashes sixteen bytes per round. The seeds are random per map, so that a file cannot be made with
/// names that collide.
#[derive(Debug, Clone)]
pub(super) struct FastHash {
    seeds: [u64; 2],
}

impl Default for FastHash {
    fn default() -> Self {
        let random = RandomState::new();
        FastHash {
            seeds: [random.hash_one(0_u8), random.hash_one(1_u8)],
        }
    }
}

impl BuildHasher for FastHash {
    type Hasher = FastHasher;

    fn build_hasher(&self) -> FastHasher {
        let [state, key] = self.seeds;
        FastHasher { state, key }
    }
}

#[derive(Debug)]
pub(super) struct FastHasher {
    state: u64,
    key: u64,
}

impl FastHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        self.add_two(word, 0);
    }

    /// Each multiplication waits for the one before it; one for two words halves their number.
    #[inline]
    fn add_two(&mut self, a: u64, b: u64) {
        let product = u128::from(self.state ^ a) * u128::from(self.key ^ b);
        self.state = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for FastHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let (pairs, odd) = words.as_chunks::<2>();
        for [a, b] in pairs {
            self.add_two(u64::from_le_bytes(*a), u64::from_le_bytes(*b));
        }
        for word in odd {
            self.add(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.add(u64::from_le_bytes(last));
        }
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

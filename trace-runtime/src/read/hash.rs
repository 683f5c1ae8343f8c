//! A fast hash for slices of the text, which are looked up once or twice per event.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Hashes eight bytes a step, from a seed that differs per process: a file cannot be written so that
/// its names collide.
#[derive(Debug, Clone)]
pub(super) struct FastHash {
    seed: u64,
}

impl Default for FastHash {
    fn default() -> Self {
        FastHash {
            seed: RandomState::new().hash_one(0_u8),
        }
    }
}

impl BuildHasher for FastHash {
    type Hasher = FastHasher;

    fn build_hasher(&self) -> FastHasher {
        FastHasher { state: self.seed }
    }
}

#[derive(Debug)]
pub(super) struct FastHasher {
    state: u64,
}

impl FastHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.state = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for FastHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
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

//! A fast hash for the maps that are read or written once per entry or event.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map with a fast hash.
pub(crate) type FastMap<K, V> = HashMap<K, V, FastHash>;

/// A set with a fast hash.
pub(crate) type FastSet<K> = HashSet<K, FastHash>;

/// Hashes sixteen bytes per round. The seeds are random for each map, so that names in a file cannot be chosen to
/// collide.
#[derive(Debug, Clone)]
pub(crate) struct FastHash {
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
pub(crate) struct FastHasher {
    state: u64,
    key: u64,
}

impl FastHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        self.add_two(word, 0);
    }

    /// A multiplication waits for the previous one. One multiplication per two words halves their number.
    #[inline]
    fn add_two(&mut self, a: u64, b: u64) {
        let product = u128::from(self.state ^ a) * u128::from(self.key ^ b);
        self.state = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for FastHasher {
    /// The last word may overlap the one before it, so that no bytes have to be copied. This is correct because the
    /// caller also hashes the length of a text.
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let word = |word: &[u8; 8]| u64::from_le_bytes(*word);
        match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) => {
                let mut rest = bytes;
                while rest.len() > 16
                    && let Some((pair, after)) = rest.split_first_chunk::<16>()
                {
                    let (words, _) = pair.as_chunks();
                    self.add_two(word(&words[0]), word(&words[1]));
                    rest = after;
                }
                let first = rest.first_chunk().unwrap_or(first);
                self.add_two(word(first), word(last));
            }
            _ => self.add(short(bytes)),
        }
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.add(number.into());
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

/// Up to seven bytes as a number.
#[inline]
fn short(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => bytes
            .iter()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)),
    }
}

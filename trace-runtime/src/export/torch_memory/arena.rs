//! Places blocks in a separate address space.

use std::collections::{BTreeMap, BTreeSet};

/// The first address. It is not 0, because some tools do not accept that as an address.
pub(super) const START: u64 = 1 << 20;

/// An address space with a place for every live block. A new block gets the smallest gap that is large enough.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// Gaps by address, with their length.
    gaps: BTreeMap<u64, u64>,
    /// The gaps again, ordered by length: `(length, address)`.
    by_length: BTreeSet<(u64, u64)>,
    /// Bytes from the start to the highest end of a block so far.
    length: u64,
}

impl Arena {
    pub(super) fn place(&mut self, bytes: u64) -> u64 {
        let gap = self.by_length.range((bytes, 0)..).next().copied();
        let Some((length, address)) = gap else {
            let address = START.saturating_add(self.length);
            self.length = self.length.saturating_add(bytes);
            return address;
        };
        self.remove_gap(address, length);
        if length > bytes {
            self.add_gap(address + bytes, length - bytes);
        }
        address
    }

    pub(super) fn free(&mut self, address: u64, bytes: u64) {
        let (mut from, mut until) = (address, address.saturating_add(bytes));
        let before = self.gaps.range(..address).next_back();
        if let Some((&gap, &length)) = before
            && gap + length == from
        {
            self.remove_gap(gap, length);
            from = gap;
        }
        if let Some(&length) = self.gaps.get(&until) {
            self.remove_gap(until, length);
            until += length;
        }
        self.add_gap(from, until - from);
    }

    /// Bytes from [`START`] to the highest end of a block so far.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    fn add_gap(&mut self, address: u64, length: u64) {
        self.gaps.insert(address, length);
        self.by_length.insert((length, address));
    }

    fn remove_gap(&mut self, address: u64, length: u64) {
        self.gaps.remove(&address);
        self.by_length.remove(&(length, address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_never_overlap_and_space_is_used_again() {
        let mut arena = Arena::default();
        let mut live: Vec<(u64, u64)> = Vec::new();
        let (mut random, mut most, mut now) = (12345u64, 0, 0);
        for _ in 0..5000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let drawn = random >> 33;
            if live.len() > 40 || (drawn % 3 == 0 && !live.is_empty()) {
                let (address, bytes) = live.swap_remove(drawn as usize % live.len());
                arena.free(address, bytes);
                now -= bytes;
            } else {
                let bytes = drawn % 1000 + 1;
                let address = arena.place(bytes);
                let end = address + bytes;
                assert!(address >= START && end <= START + arena.length());
                for &(other, length) in &live {
                    assert!(end <= other || other + length <= address);
                }
                live.push((address, bytes));
                now += bytes;
                most = most.max(now);
            }
        }
        assert!(arena.length() < 2 * most, "{} for {most}", arena.length());
    }
}

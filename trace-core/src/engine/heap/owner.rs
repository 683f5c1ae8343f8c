//! The owner of a block, as its word of shadow memory.

use super::SAMPLED;
use std::sync::atomic::{AtomicU64, Ordering};

/// The owner of a block, in one word that is never 0: the recording's tag (4 bits), slot (12), number of the op in its
/// slot (32), and context (16).
///
/// The op is in higher bits than the context. So for two owners of one slot, the larger value means the later op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner(u64);

pub(super) const FIRST_TAG: u64 = 1;

/// Distinguishes recordings in the owners of blocks: counts from 1 to 15, then again from 1.
pub(super) fn tag_of(recording: u32) -> u64 {
    u64::from((recording & !SAMPLED) % 15) + FIRST_TAG
}

impl Owner {
    /// The owner of no block.
    pub(super) const NONE: Owner = Owner(0);

    pub(super) fn new(tag: u64, slot: u16, op: u32, context: u16) -> Owner {
        Owner(tag << 60 | u64::from(slot) << 48 | u64::from(op) << 16 | u64::from(context))
    }

    pub(super) fn tag(self) -> u64 {
        self.0 >> 60
    }

    pub(super) fn slot(self) -> u16 {
        (self.0 >> 48) as u16 & 0xFFF
    }

    pub(super) fn op(self) -> u32 {
        (self.0 >> 16) as u32
    }

    pub(super) fn context(self) -> u16 {
        self.0 as u16
    }

    #[inline]
    pub(super) fn store(self, word: &AtomicU64) {
        word.store(self.0, Ordering::Relaxed);
    }

    /// Moves the owner out of a word. `None` if there is none.
    #[inline]
    pub(super) fn take(word: &AtomicU64) -> Option<Owner> {
        let owner = Owner(word.load(Ordering::Relaxed));
        if owner == Owner::NONE {
            return None;
        }
        word.store(0, Ordering::Relaxed);
        Some(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_kept() {
        let owner = Owner::new(15, 0xABC, 0xDEAD_BEEF, 0x1234);
        assert_eq!((owner.tag(), owner.slot()), (15, 0xABC));
        assert_eq!((owner.op(), owner.context()), (0xDEAD_BEEF, 0x1234));
    }

    #[test]
    fn tags_differ_for_fifteen_recordings_in_a_row() {
        let tags: std::collections::HashSet<u64> = (1..=15).map(tag_of).collect();
        assert_eq!(tags.len(), 15);
        assert_eq!(tag_of(7), tag_of(7 | SAMPLED));
        assert!(tags.iter().all(|&tag| (FIRST_TAG..16).contains(&tag)));
    }
}

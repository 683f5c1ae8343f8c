//! Numbers distinct texts and keeps each once, because the window over the file moves on.

use super::scanner::Raw;
use crate::model::hash::{FastHash, FastHasher};
use std::hash::{BuildHasher as _, Hasher as _};

/// Texts of several parts, numbered in order of first use.
///
/// A hash table over one piece of memory: looking up a text copies nothing, and there is no allocation per text.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// All texts, one after the other. A part is stored after its number (in the high byte) and its length.
    bytes: Vec<u8>,
    /// By text: its end in `bytes`, and its hash.
    known: Vec<(usize, u64)>,
    /// The table: the number of a text plus one, or 0; as long as a power of two, and at most half full.
    slots: Vec<u32>,
    hash: FastHash,
}

const NUMBER_SHIFT: u32 = 56;
const FIRST_SLOTS: usize = 64;

/// Calls `visit` with the head and the bytes of each part that is not empty, until it returns false.
#[inline]
fn each(
    parts: &[Raw<'_>],
    more: &[Raw<'_>],
    mut chosen: u64,
    mut visit: impl FnMut(u64, &[u8]) -> bool,
) -> bool {
    let mut one = |number: usize, part: Raw<'_>| {
        let head = (number as u64) << NUMBER_SHIFT | part.0.len() as u64;
        part.is_empty() || visit(head, part.0)
    };
    for (number, &part) in parts.iter().enumerate() {
        if !one(number, part) {
            return false;
        }
    }
    while chosen != 0 {
        let number = chosen.trailing_zeros() as usize;
        chosen &= chosen - 1;
        if !one(parts.len() + number, more[number]) {
            return false;
        }
    }
    true
}

impl Texts {
    /// The number, from 0, of the text made of these parts. `more` are further parts; those whose bit in `chosen` is
    /// set are used. Empty parts are not stored.
    #[inline]
    pub(super) fn id<const A: usize>(
        &mut self,
        parts: &[Raw<'_>; A],
        more: &[Raw<'_>],
        chosen: u64,
    ) -> u32 {
        let mut hasher: FastHasher = self.hash.build_hasher();
        each(parts, more, chosen, |head, part| {
            hasher.write_u64(head);
            hasher.write(part);
            true
        });
        let hash = hasher.finish();
        if let Some(last) = self.slots.len().checked_sub(1) {
            let mut slot = hash as usize & last;
            while let Some(id) = self.slots[slot].checked_sub(1) {
                if self.known[id as usize].1 == hash && self.is(id, parts, more, chosen) {
                    return id;
                }
                slot = (slot + 1) & last;
            }
        }
        each(parts, more, chosen, |head, part| {
            self.bytes.extend_from_slice(&head.to_le_bytes());
            self.bytes.extend_from_slice(part);
            true
        });
        self.added(hash)
    }

    #[inline]
    fn is<const A: usize>(
        &self,
        id: u32,
        parts: &[Raw<'_>; A],
        more: &[Raw<'_>],
        chosen: u64,
    ) -> bool {
        let mut rest = self.text(id);
        let equal = each(parts, more, chosen, |head, part| {
            let Some((known, after)) = rest.split_first_chunk() else {
                return false;
            };
            let same = u64::from_le_bytes(*known) == head && after[..part.len()] == *part;
            if same {
                rest = &after[part.len()..];
            }
            same
        });
        equal && rest.is_empty()
    }

    /// Completes a text at the end of `bytes`.
    #[cold]
    fn added(&mut self, hash: u64) -> u32 {
        let id = self.known.len() as u32;
        self.known.push((self.bytes.len(), hash));
        if 2 * self.known.len() > self.slots.len() {
            self.slots = vec![0; (2 * self.slots.len()).max(FIRST_SLOTS)];
            for id in 0..self.known.len() as u32 {
                self.place(id);
            }
        } else {
            self.place(id);
        }
        id
    }

    /// Puts a text into the first free slot, beginning at its hash.
    fn place(&mut self, id: u32) {
        let last = self.slots.len() - 1;
        let mut slot = self.known[id as usize].1 as usize & last;
        while self.slots[slot] != 0 {
            slot = (slot + 1) & last;
        }
        self.slots[slot] = id + 1;
    }

    fn text(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let start = id.checked_sub(1).map_or(0, |before| self.known[before].0);
        &self.bytes[start..self.known[id].0]
    }

    /// The parts of a text.
    pub(super) fn parts<const N: usize>(&self, id: u32) -> [Raw<'_>; N] {
        let mut parts = [Raw::default(); N];
        let mut rest = self.text(id);
        while let Some((head, after)) = rest.split_first_chunk() {
            let head = u64::from_le_bytes(*head);
            let length = head & ((1 << NUMBER_SHIFT) - 1);
            let (part, next) = after.split_at(length as usize);
            parts[(head >> NUMBER_SHIFT) as usize] = Raw(part);
            rest = next;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_different_parts_have_different_numbers() {
        let mut texts = Texts::default();
        let mut id =
            |parts: [&'static str; 3]| texts.id(&parts.map(|part| Raw(part.as_bytes())), &[], 0);
        let all = [
            ["", "", ""],
            ["a", "", ""],
            ["", "a", ""],
            ["ab", "", "c"],
            ["a", "b", "c"],
            ["a", "\0\u{1}\0\0\0b", "c"],
        ];
        assert_eq!(all.map(&mut id), [0, 1, 2, 3, 4, 5]);
        assert_eq!(all.map(&mut id), [0, 1, 2, 3, 4, 5]);
        for (id, parts) in all.iter().enumerate() {
            assert_eq!(
                &texts.parts(id as u32).map(|part: Raw<'_>| part.text()),
                parts
            );
        }
    }

    #[test]
    fn only_the_chosen_further_parts_count() {
        let mut texts = Texts::default();
        let more = [Raw(b"x"), Raw(b""), Raw(b"y")];
        assert_eq!(texts.id(&[Raw(b"op")], &more, 0b101), 0);
        assert_eq!(texts.id(&[Raw(b"op")], &more, 0b001), 1);
        assert_eq!(texts.id(&[Raw(b"op")], &more, 0b111), 0);
        let [op, x, none, y] = texts.parts(0);
        assert_eq!([op.0, x.0, none.0, y.0], [&b"op"[..], b"x", b"", b"y"]);
    }

    #[test]
    fn thousands_of_texts_keep_their_numbers() {
        let mut texts = Texts::default();
        for round in 0..2 {
            for number in 0..5000_u32 {
                let text = "x".repeat(number as usize % 40) + &number.to_string();
                let id = texts.id(&[Raw(b"op"), Raw(text.as_bytes())], &[], 0);
                assert_eq!(id, number, "round {round}");
            }
        }
    }
}

//! Numbers distinct texts and keeps each once, because the window over the file moves on.

use super::hash::FastHash;
use super::scanner::Raw;
use std::collections::HashMap;
use std::rc::Rc;

/// Texts of up to 255 parts, numbered in order of first use.
#[derive(Debug, Default)]
pub(super) struct Texts {
    ids: HashMap<Rc<[u8]>, u32, FastHash>,
    known: Vec<Rc<[u8]>>,
    key: Vec<u8>,
}

/// A part is stored after its number (in the high byte) and its length.
const NUMBER_SHIFT: u32 = 56;

impl Texts {
    /// Adds a part to the text whose number the next call of [`id`](Self::id) returns.
    #[inline]
    pub(super) fn part(&mut self, number: u8, part: Raw<'_>) {
        if !part.is_empty() {
            let head = u64::from(number) << NUMBER_SHIFT | part.0.len() as u64;
            self.key.extend_from_slice(&head.to_le_bytes());
            self.key.extend_from_slice(part.0);
        }
    }

    /// The number, from 0, of the text made of the parts added since the last call.
    #[inline]
    pub(super) fn id(&mut self) -> u32 {
        let id = match self.ids.get(self.key.as_slice()) {
            Some(&id) => id,
            None => self.add(),
        };
        self.key.clear();
        id
    }

    #[cold]
    fn add(&mut self) -> u32 {
        let text: Rc<[u8]> = self.key.as_slice().into();
        let id = self.known.len() as u32;
        self.known.push(text.clone());
        self.ids.insert(text, id);
        id
    }

    /// The parts of a text.
    pub(super) fn parts<const N: usize>(&self, id: u32) -> [Raw<'_>; N] {
        let mut parts = [Raw::default(); N];
        let mut rest = &*self.known[id as usize];
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
        let mut id = |parts: [&'static str; 3]| {
            for (number, part) in (0..).zip(parts) {
                texts.part(number, Raw(part.as_bytes()));
            }
            texts.id()
        };
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
}

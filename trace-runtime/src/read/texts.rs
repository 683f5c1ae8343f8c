//! Numbers distinct texts, each kept once: the text of a trace is gone when the trace is read.

use super::hash::FastHash;
use super::scanner::Raw;
use std::collections::HashMap;
use std::rc::Rc;

/// Texts of up to 255 parts, in the order in which they first came.
#[derive(Debug, Default)]
pub(super) struct Texts {
    ids: HashMap<Rc<[u8]>, u32, FastHash>,
    known: Vec<Rc<[u8]>>,
    key: Vec<u8>,
}

impl Texts {
    /// The number of this text, from 0.
    #[inline]
    pub(super) fn id<'a>(&mut self, parts: impl IntoIterator<Item = Raw<'a>>) -> u32 {
        self.key.clear();
        for (number, part) in parts.into_iter().enumerate() {
            if !part.is_empty() {
                self.key.push(number as u8);
                self.key.extend((part.0.len() as u32).to_le_bytes());
                self.key.extend_from_slice(part.0);
            }
        }
        match self.ids.get(self.key.as_slice()) {
            Some(&id) => id,
            None => self.add(),
        }
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
        while let [number, a, b, c, d, behind @ ..] = rest {
            let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            let (part, next) = behind.split_at(length);
            parts[usize::from(*number)] = Raw(part);
            rest = next;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_apart_by_their_parts() {
        let mut texts = Texts::default();
        let mut id = |parts: [&'static str; 3]| texts.id(parts.map(|part| Raw(part.as_bytes())));
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

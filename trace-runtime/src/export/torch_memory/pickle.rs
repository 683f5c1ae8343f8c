//! Writes Python objects in the pickle format, with the few instructions that torch's viewer reads.
//!
//! The viewer's own reader knows only some of the instructions, and keeps the elements of a batch on a stack of limited
//! size. Protocol 2 with batches of a thousand elements, which Python itself writes, can be read by Python and by the
//! viewer.

use std::collections::HashMap;
use std::io::{self, Write};

const PROTOCOL_2: &[u8] = &[0x80, 2];
const EMPTY_DICT: u8 = b'}';
const EMPTY_LIST: u8 = b']';
const MARK: u8 = b'(';
const SET_ITEMS: u8 = b'u';
const APPENDS: u8 = b'e';
const TEXT: u8 = b'X';
const INT: u8 = b'J';
const LONG: u8 = 0x8A;
const FALSE: u8 = 0x89;
const REMEMBER: u8 = b'r';
const RECALL: u8 = b'j';
const STOP: u8 = b'.';

/// Number of elements that one instruction adds to a list.
const BATCH: usize = 1000;

/// A value that was written before, by its number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remembered(u32);

/// Writes one pickle.
pub(super) struct Pickle<W> {
    out: W,
    next: u32,
    keys: HashMap<&'static str, Remembered>,
}

impl<W: Write> Pickle<W> {
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(PROTOCOL_2)?;
        Ok(Pickle {
            out,
            next: 0,
            keys: HashMap::new(),
        })
    }

    /// Ends the pickle, after one value.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&[STOP])?;
        self.out.flush()
    }

    /// A dict; `items` writes each key and its value.
    pub(super) fn dict(
        &mut self,
        items: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.out.write_all(&[EMPTY_DICT, MARK])?;
        items(self)?;
        self.out.write_all(&[SET_ITEMS])
    }

    /// A list; `write` writes each element.
    pub(super) fn list<T>(
        &mut self,
        elements: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.out.write_all(&[EMPTY_LIST])?;
        let mut elements = elements.into_iter().peekable();
        while elements.peek().is_some() {
            self.out.write_all(&[MARK])?;
            for element in elements.by_ref().take(BATCH) {
                write(self, element)?;
            }
            self.out.write_all(&[APPENDS])?;
        }
        Ok(())
    }

    /// A text that occurs often: a key, or a value of which there are few.
    pub(super) fn word(&mut self, word: &'static str) -> io::Result<()> {
        if let Some(&known) = self.keys.get(word) {
            return self.recall(known);
        }
        self.text(word)?;
        let known = self.remember()?;
        self.keys.insert(word, known);
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        // A name of 4 GiB does not occur in practice. It would become empty, so that the file stays valid.
        let len = u32::try_from(text.len()).unwrap_or(0);
        let text = &text.as_bytes()[..len as usize];
        self.out.write_all(&[TEXT])?;
        self.out.write_all(&len.to_le_bytes())?;
        self.out.write_all(text)
    }

    pub(super) fn number(&mut self, number: u64) -> io::Result<()> {
        if let Ok(small) = i32::try_from(number) {
            self.out.write_all(&[INT])?;
            return self.out.write_all(&small.to_le_bytes());
        }
        // A signed number in as few bytes as possible. If the highest bit of the eighth byte is set, a ninth byte of 0
        // follows.
        let bytes = u128::from(number).to_le_bytes();
        let len = (64 - number.leading_zeros()) as usize / 8 + 1;
        self.out.write_all(&[LONG, len as u8])?;
        self.out.write_all(&bytes[..len])
    }

    pub(super) fn no(&mut self) -> io::Result<()> {
        self.out.write_all(&[FALSE])
    }

    /// Remembers the value that was written last.
    pub(super) fn remember(&mut self) -> io::Result<Remembered> {
        let number = self.next;
        self.next += 1;
        self.out.write_all(&[REMEMBER])?;
        self.out.write_all(&number.to_le_bytes())?;
        Ok(Remembered(number))
    }

    /// Refers to an object that was written before.
    pub(super) fn recall(&mut self, known: Remembered) -> io::Result<()> {
        self.out.write_all(&[RECALL])?;
        self.out.write_all(&known.0.to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Pickle<&mut Vec<u8>>) -> io::Result<()>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut pickle = Pickle::new(&mut bytes).unwrap();
        write(&mut pickle).unwrap();
        pickle.finish().unwrap();
        bytes
    }

    #[test]
    fn numbers_are_signed_and_as_short_as_they_can_be() {
        let number = |number| written(|pickle| pickle.number(number));
        assert_eq!(number(7), b"\x80\x02J\x07\0\0\0.");
        assert_eq!(number(1 << 31), b"\x80\x02\x8A\x05\0\0\0\x80\0.");
        assert_eq!(number(0x7F_0000_0000), b"\x80\x02\x8A\x05\0\0\0\0\x7F.");
        let largest = number(u64::MAX);
        assert_eq!(largest[2..4], [LONG, 9]);
        assert_eq!(largest[12], 0, "not negative");
    }

    #[test]
    fn a_repeated_word_is_written_once() {
        let bytes = written(|pickle| pickle.list(["ab", "ab"], Pickle::word));
        assert_eq!(bytes, b"\x80\x02](X\x02\0\0\0abr\0\0\0\0j\0\0\0\0e.");
    }

    #[test]
    fn long_lists_are_in_batches() {
        let bytes = written(|pickle| pickle.list(0..2500u64, Pickle::number));
        let batches = bytes.split(|&byte| byte == APPENDS).count() - 1;
        assert!(batches >= 3, "{batches}");
        assert_eq!(
            written(|pickle| pickle.list(0..0u64, Pickle::number)),
            b"\x80\x02]."
        );
    }
}

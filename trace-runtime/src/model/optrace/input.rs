//! A stream of bytes with its position. Bytes can be examined before they are removed.

use std::io::{self, Read};

#[derive(Debug)]
pub(super) struct Input<R> {
    source: R,
    buffer: Vec<u8>,
    at: usize,
    position: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Input<R> {
        Input {
            source,
            buffer: Vec::new(),
            at: 0,
            position: 0,
        }
    }

    /// The position of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Reads the next `len` bytes, or all that are left.
    pub(super) fn look(&mut self, len: usize) -> io::Result<&[u8]> {
        if self.buffer.len() - self.at < len {
            self.buffer.drain(..self.at);
            self.at = 0;
            let missing = (len.max(1 << 16) - self.buffer.len()) as u64;
            (&mut self.source)
                .take(missing)
                .read_to_end(&mut self.buffer)?;
        }
        let end = self.buffer.len().min(self.at + len);
        Ok(&self.buffer[self.at..end])
    }

    /// Skips this many bytes, which have been examined.
    pub(super) fn take(&mut self, len: usize) {
        let len = len.min(self.buffer.len() - self.at);
        self.at += len;
        self.position += len as u64;
    }
}

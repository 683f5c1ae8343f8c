//! A file that another process writes to, read at positions.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

/// Bytes that are read ahead.
const AHEAD: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct GrowingFile {
    file: File,
    ahead: Vec<u8>,
    /// The position of the first byte of `ahead`.
    ahead_at: u64,
}

impl GrowingFile {
    pub(super) fn new(file: File) -> GrowingFile {
        GrowingFile {
            file,
            ahead: Vec::new(),
            ahead_at: 0,
        }
    }

    /// Reads the bytes at a position as they are now. Returns fewer at the end of the file.
    pub(super) fn read_at<'a>(
        &mut self,
        position: u64,
        bytes: &'a mut [u8],
    ) -> io::Result<&'a [u8]> {
        self.file.seek(SeekFrom::Start(position))?;
        let mut len = 0;
        while len < bytes.len() {
            match self.file.read(&mut bytes[len..]) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&bytes[..len])
    }

    /// Reads up to `len` bytes at a position, which may have been read earlier.
    pub(super) fn look(&mut self, position: u64, len: usize) -> io::Result<&[u8]> {
        let known = self.ahead_at..=self.ahead_at + self.ahead.len() as u64;
        let end = position.saturating_add(len as u64);
        if !(known.contains(&position) && known.contains(&end)) {
            let mut ahead = std::mem::take(&mut self.ahead);
            ahead.resize(len.max(AHEAD), 0);
            let read = self.read_at(position, &mut ahead)?.len();
            ahead.truncate(read);
            self.ahead = ahead;
            self.ahead_at = position;
        }
        let from = (position - self.ahead_at) as usize;
        let to = self.ahead.len().min(from + len);
        Ok(&self.ahead[from..to])
    }

    /// Drops the bytes that were read ahead, because they may have changed since.
    pub(super) fn forget(&mut self) {
        self.ahead.clear();
    }
}

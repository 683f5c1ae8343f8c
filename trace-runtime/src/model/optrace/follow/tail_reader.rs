//! Reads the records that were appended to a file since the last time.

use super::growing_file::GrowingFile;
use crate::model::optrace::tail_record::{RECORD_HEADER_BYTES, RecordContent, RecordHeader};
use std::fs::File;
use std::io;

/// The payload of a record is read instead of skipped if it is smaller: skipping takes a system call, which costs as
/// much as reading this many bytes.
const PASSING: usize = 512;

#[derive(Debug)]
pub(super) struct TailReader {
    file: GrowingFile,
    /// The position of the next record.
    position: u64,
    /// Rows before this position are skipped.
    rows_from: u64,
    /// Ops in damaged records.
    lost_ops: u64,
}

impl TailReader {
    pub(super) fn new(file: File, tail_at: u64) -> TailReader {
        TailReader {
            file: GrowingFile::new(file),
            position: tail_at,
            rows_from: 0,
            lost_ops: 0,
        }
    }

    pub(super) fn pass_rows_before(&mut self, position: u64) {
        self.rows_from = position;
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn lost_ops(&self) -> u64 {
        self.lost_ops
    }

    pub(super) fn file(&mut self) -> &mut GrowingFile {
        &mut self.file
    }

    /// Passes the new records to `visit`, until about `budget` bytes are read. Rows that are skipped are passed without
    /// their payload. True if there are no more records.
    ///
    /// The writer has published records up to `tail_end`. A later record counts if it is complete.
    pub(super) fn read(
        &mut self,
        tail_end: u64,
        budget: &mut usize,
        mut visit: impl FnMut(RecordContent, Option<&[u8]>),
    ) -> io::Result<bool> {
        // The bytes read ahead at the end of the file may have been written since.
        self.file.forget();
        while *budget > 0 {
            let header = match self.header()? {
                Next::Record(header) => header,
                // A fault only before the published end: after it, a record may be half written.
                Next::Damaged if self.position < tail_end => {
                    // The next record begins at a multiple of eight.
                    self.position += 8;
                    *budget = budget.saturating_sub(8);
                    continue;
                }
                Next::Damaged | Next::End => return Ok(true),
            };
            let whole = RECORD_HEADER_BYTES + header.payload_bytes;
            let next = self.position + whole as u64;
            let is_rows = matches!(header.content, RecordContent::Rows { .. });
            if is_rows && self.position < self.rows_from {
                visit(header.content, None);
                self.position = next;
                *budget = budget.saturating_sub(PASSING);
                continue;
            }
            let bytes = self.file.look(self.position, whole)?;
            if bytes.len() < whole {
                return Ok(true);
            }
            let payload = &bytes[RECORD_HEADER_BYTES..];
            if header.fits(payload) {
                visit(header.content, Some(payload));
            } else if self.position < tail_end {
                self.lost_ops += header.rows();
            } else {
                return Ok(true);
            }
            self.position = next;
            *budget = budget.saturating_sub(whole);
        }
        Ok(false)
    }

    fn header(&mut self) -> io::Result<Next> {
        let mut own = [0; RECORD_HEADER_BYTES];
        let bytes = if self.position < self.rows_from {
            self.file.read_at(self.position, &mut own)?
        } else {
            self.file.look(self.position, RECORD_HEADER_BYTES)?
        };
        // The published end has no checksum. If the file is shorter, its own end is used.
        let Some(bytes) = bytes.first_chunk() else {
            return Ok(Next::End);
        };
        Ok(RecordHeader::parse(bytes).map_or(Next::Damaged, Next::Record))
    }
}

/// The content at the position of the next record.
enum Next {
    Record(RecordHeader),
    Damaged,
    End,
}

//! The thread that moves sealed chunks and new tables from the ring to the tail of the file.

use super::part::Parts;
use super::ring::{Ring, WhenFull};
use crate::model::optrace::header::live;
use crate::model::optrace::tail_record::push_rows;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering;
use trace_core::__engine::chunk::{BlockCopy, copy_block};

/// The part of a file after the ring, to which records are appended.
#[derive(Debug)]
pub(super) struct Tail {
    file: File,
    end: u64,
    buffer: Vec<u8>,
    /// The files of the rows, if the recording is split.
    parts: Option<Parts>,
    /// The error of the latest write that failed.
    error: Option<io::Error>,
}

/// Bytes that are written at once.
const BATCH_BYTES: usize = 1 << 20;

impl Tail {
    pub(super) fn new(file: File, begin: u64, parts: Option<Parts>) -> Tail {
        Tail {
            file,
            end: begin,
            buffer: Vec::new(),
            parts,
            error: None,
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// The reason of the latest write that failed, if no later one succeeded.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Writes the chunks that were sealed and the tables that were published since the last time. True if there were
    /// any.
    pub(super) fn write_sealed(&mut self, ring: &Ring) -> bool {
        let sealed = if ring.when_full() == WhenFull::Drop {
            ring.take_sealed()
        } else {
            Vec::new()
        };
        // Tables are written after the sealed chunks were taken, so that they contain everything that the rows refer
        // to. They are written before the rows, so that any prefix of the file can be read.
        let has_tables = self.write_tables(ring);
        let mut done = 0;
        while done < sealed.len() {
            let from = done;
            self.buffer.clear();
            let mut rows = 0;
            while done < sealed.len() && self.buffer.len() < BATCH_BYTES {
                let copy = ring.block(sealed[done]).as_ref().and_then(copy_block);
                if let Some(copy) = copy {
                    self.push(&copy);
                    rows += copy.rows.len() as u64;
                }
                done += 1;
            }
            if !self.write(rows, ring) {
                // The chunks stay in the ring. When it is full, new ops are dropped and counted.
                ring.return_sealed(&sealed[from..]);
                return false;
            }
            ring.free(&sealed[from..done]);
        }
        has_tables || !sealed.is_empty()
    }

    /// Writes everything that is in the ring. If that fails, returns false and the content stays in the ring.
    pub(super) fn write_rest(&mut self, ring: &Ring) -> bool {
        let chunks = ring.chunks();
        self.write_tables(ring);
        if self.error.is_some() {
            return false;
        }
        for batch in chunks.chunks(BATCH_BYTES / (32 << 10)) {
            self.buffer.clear();
            for copy in batch {
                self.push(copy);
            }
            let rows = batch.iter().map(|copy| copy.rows.len() as u64).sum();
            if !self.write(rows, ring) {
                return false;
            }
        }
        if let Some(parts) = &mut self.parts {
            self.error = parts.close(ring).err();
        }
        self.error.is_none()
    }

    fn push(&mut self, copy: &BlockCopy) {
        let log = copy.owner as u32;
        push_rows(
            &mut self.buffer,
            copy.sequence,
            log,
            &copy.rows,
            &copy.extras,
        );
    }

    fn write_tables(&mut self, ring: &Ring) -> bool {
        self.buffer.clear();
        let tables = ring.tables();
        tables.push_new(&mut self.buffer);
        let position = tables.position();
        drop(tables);
        let has_new = !self.buffer.is_empty();
        if has_new && self.write(0, ring) {
            ring.tables().written(position, ring);
        }
        has_new
    }

    /// Writes the buffer after the last record. A part that was written before an error is overwritten by the next one.
    fn write(&mut self, rows: u64, ring: &Ring) -> bool {
        let written = match &mut self.parts {
            Some(parts) => parts.write(&self.buffer, rows, ring),
            None => self.append(ring),
        };
        self.error = written.err();
        self.error.is_none()
    }

    fn append(&mut self, ring: &Ring) -> io::Result<()> {
        self.file.write_all_at(&self.buffer, self.end)?;
        self.end += self.buffer.len() as u64;
        ring.live(live::TAIL_END).store(self.end, Ordering::Release);
        Ok(())
    }
}

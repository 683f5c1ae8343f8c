//! The files of a recording that is split: each has all tables and some rows.

use super::ring::Ring;
use crate::model::optrace::header::{FINISHED, HEADER_BYTES, RECORDING, live};
use crate::model::optrace::ring_block::TABLE_WORDS;
use crate::model::optrace::tail_record::push_tables;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The limits at which a recording is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::record) struct Rotation {
    /// A new file begins when the current one has more bytes.
    pub(in crate::record) max_bytes: u64,
    /// When there are more files, the oldest is removed.
    pub(in crate::record) max_files: usize,
}

/// The parts of a recording, `run.1.optrace`, `run.2.optrace` and so on; the last one is being written.
#[derive(Debug)]
pub(super) struct Parts {
    base: PathBuf,
    rotation: Rotation,
    open: Option<Part>,
    closed: VecDeque<(PathBuf, u64)>,
    next: u64,
}

#[derive(Debug)]
struct Part {
    file: File,
    path: PathBuf,
    end: u64,
    rows: u64,
}

impl Parts {
    pub(super) fn new(base: &Path, rotation: Rotation) -> Parts {
        Parts {
            base: base.to_owned(),
            rotation,
            open: None,
            closed: VecDeque::new(),
            next: 1,
        }
    }

    /// Appends records that have `rows` rows in all.
    pub(super) fn write(&mut self, records: &[u8], rows: u64, ring: &Ring) -> io::Result<()> {
        if self
            .open
            .as_ref()
            .is_some_and(|part| part.end > self.rotation.max_bytes)
        {
            self.close(ring)?;
        }
        let part = if let Some(part) = self.open.take() {
            part
        } else {
            self.create(ring)?
        };
        let part = self.open.insert(part);
        part.file.write_all_at(records, part.end)?;
        part.end += records.len() as u64;
        part.rows += rows;
        Ok(())
    }

    fn create(&mut self, ring: &Ring) -> io::Result<Part> {
        let path = self.base.with_extension(format!("{}.optrace", self.next));
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)?;
        let header = ring.file_header().without_ring();
        let mut bytes = header_bytes(&header.words(RECORDING, header.tail_at()));
        let history = ring.tables().history().to_vec();
        for (words, position) in pieces(&history) {
            push_tables(&mut bytes, position, words);
        }
        file.write_all_at(&bytes, 0)?;
        self.next += 1;
        Ok(Part {
            file,
            path,
            end: bytes.len() as u64,
            rows: 0,
        })
    }

    /// Marks the open part as complete, and removes the oldest parts.
    pub(super) fn close(&mut self, ring: &Ring) -> io::Result<()> {
        let Some(part) = self.open.take() else {
            return Ok(());
        };
        let mut words = ring.file_header().without_ring().words(FINISHED, part.end);
        // The counts of the whole recording are in its main file.
        words[live::NOW] = ring.live(live::NOW).load(Ordering::Relaxed);
        part.file.write_all_at(&header_bytes(&words), 0)?;
        self.closed.push_back((part.path, part.rows));
        while self.closed.len() > self.rotation.max_files.max(1)
            && let Some((path, rows)) = self.closed.pop_front()
        {
            ring.live(live::REPLACED).fetch_add(rows, Ordering::Relaxed);
            // It may have been removed already.
            drop(fs::remove_file(path));
        }
        Ok(())
    }
}

fn header_bytes(words: &[u64; live::WORDS]) -> Vec<u8> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(HEADER_BYTES, 0);
    bytes
}

/// The entries of the tables, in pieces that fit into a record.
pub(super) fn pieces(history: &[u64]) -> impl Iterator<Item = (&[u64], u64)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at;
        while let Some(first) = history.get(at) {
            let len = ((first >> 8 & 0xff_ffff) as usize).max(1);
            if at > from && at + len - from > TABLE_WORDS {
                break;
            }
            at += len;
        }
        let piece = history.get(from..at.min(history.len()))?;
        (!piece.is_empty()).then_some((piece, from as u64))
    })
}

//! Copies the content of a ring to a new file.

use super::part::pieces;
use super::ring::Ring;
use crate::export::OutputFile;
use crate::model::optrace;
use crate::model::optrace::header::{COPIED, HEADER_BYTES};
use crate::model::optrace::tail_record::{push_rows, push_tables};
use crate::model::whole_file::write_whole;
use crate::model::{TraceError, TraceStore};
use std::io::Write as _;
use std::path::Path;
use trace_core::__engine::chunk::Row;

/// The ring's ops that ended at this tick or later, with all tables, as the bytes of a file.
pub(super) fn dump(ring: &Ring, ended_after: u64) -> Vec<u8> {
    let header = ring.file_header().without_ring();
    let mut bytes = vec![0; HEADER_BYTES];
    let chunks = ring.chunks();
    // Copied after the chunks, so that it has everything that their rows refer to.
    let history = ring.tables().history().to_vec();
    for (entry_words, position) in pieces(&history) {
        push_tables(&mut bytes, position, entry_words);
    }
    for mut copy in chunks {
        copy.rows.retain(|row| {
            let row = Row::unpack(*row);
            row.start.saturating_add(row.duration) >= ended_after
        });
        if !copy.rows.is_empty() {
            let log = copy.owner as u32;
            push_rows(&mut bytes, copy.sequence, log, &copy.rows, &copy.extras);
        }
    }
    let mut words = header.words(COPIED, bytes.len() as u64);
    ring.copy_counts(&mut words);
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    bytes
}

/// Writes a dump to a file in the format of its ending.
pub(super) fn write(bytes: &[u8], path: &Path) -> Result<(), TraceError> {
    if super::is_recording(path) {
        return write_whole(path, |file| file.write_all(bytes));
    }
    OutputFile::new(path)?.write(&read(bytes)?)
}

pub(super) fn read(bytes: &[u8]) -> Result<TraceStore, TraceError> {
    optrace::read(bytes)
}

//! Reads the rows that were added to a ring since the last time.

use super::growing_file::GrowingFile;
use crate::model::chunk::{PackedRow, Row};
use crate::model::optrace::header::{FileHeader, HEADER_BYTES};
use crate::model::optrace::ring_block::{BLOCK_BYTES, BLOCK_ROWS, RingBlock, SLOT_BYTES, open_ops};
use std::collections::{BTreeMap, HashMap};
use std::io;
use trace_core::__engine::block::{HEADER_WORDS, TABLES, header};

const ROW_BYTES: usize = 24;
const EXTRAS_AT: usize = 8 * HEADER_WORDS + ROW_BYTES * BLOCK_ROWS;
const TRAILER_AT: usize = BLOCK_BYTES - 8;

/// The number of rows that have been read of each chunk in the ring.
#[derive(Debug, Default)]
pub(super) struct RingReader {
    /// Rows by the sequence number of the chunk.
    read: HashMap<u64, usize>,
    /// The sequence number of the last chunk of each log that was found in the tail. The chunks of a log are written
    /// in order, and a chunk stays in the ring for a moment after it was written.
    in_tail: HashMap<u32, u64>,
}

/// The rows and tables of a ring that are new.
#[derive(Debug, Default)]
pub(super) struct NewInRing {
    /// By sequence number.
    pub(super) chunks: BTreeMap<u64, NewRows>,
    /// Words of the stream of tables with the position of the first.
    pub(super) tables: Vec<(u64, Vec<u64>)>,
    /// The sequence numbers of all chunks in the ring.
    seen: Vec<u64>,
}

/// The rows of a chunk that have not been read before.
#[derive(Debug)]
pub(super) struct NewRows {
    pub(super) log: u32,
    /// The number of rows before them in the chunk.
    from: usize,
    pub(super) rows: Vec<PackedRow>,
    /// All extras of the chunk; empty if none of `rows` has an extra.
    pub(super) extras: Vec<u64>,
}

impl RingReader {
    /// Reads new rows. Read the tail after this: a chunk that disappears from the ring is in the tail.
    pub(super) fn read(
        &mut self,
        file: &mut GrowingFile,
        header: &FileHeader,
    ) -> io::Result<NewInRing> {
        let mut new = NewInRing::default();
        let mut tables = Vec::new();
        for block in 0..header.blocks {
            let position = header.ring_at() + block * header.block_bytes;
            let mut bytes = [0; 8 * HEADER_WORDS];
            let words = words_of(file.read_at(position, &mut bytes)?);
            let Some(words) = words.first_chunk::<HEADER_WORDS>() else {
                break;
            };
            match words[header::OWNER] {
                _ if words[header::SEQUENCE] == 0 => {}
                TABLES => tables.push(position),
                log => {
                    new.seen.push(words[header::SEQUENCE]);
                    if let Ok(log) = u32::try_from(log)
                        && let Some(rows) = self.new_rows(file, position, log, words)?
                    {
                        new.chunks.insert(words[header::SEQUENCE], rows);
                    }
                }
            }
        }
        // Tables are read after the rows, because an entry is published before the first row that refers to it.
        for position in tables {
            let mut bytes = vec![0; BLOCK_BYTES];
            let block = file.read_at(position, &mut bytes)?.first_chunk();
            if let Some(RingBlock::Tables { position, words }) = block.and_then(RingBlock::parse) {
                new.tables.push((position, words));
            }
        }
        Ok(new)
    }

    fn new_rows(
        &mut self,
        file: &mut GrowingFile,
        position: u64,
        log: u32,
        words: &[u64; HEADER_WORDS],
    ) -> io::Result<Option<NewRows>> {
        let sequence = words[header::SEQUENCE];
        let from = self.read.get(&sequence).copied().unwrap_or(0);
        let len = usize::try_from(words[header::LEN]).unwrap_or(usize::MAX);
        if len > BLOCK_ROWS || len <= from || self.is_in_tail(log, sequence) {
            return Ok(None);
        }
        let mut bytes = vec![0; (len - from) * ROW_BYTES];
        let at = position + (8 * HEADER_WORDS + from * ROW_BYTES) as u64;
        let words_of_rows = words_of(file.read_at(at, &mut bytes)?);
        let rows = words_of_rows.as_chunks::<3>().0.to_vec();
        let mut extras = Vec::new();
        if rows.iter().any(|row| Row::unpack(*row).extra) {
            // The extras that are published now. They include those of the rows, because an extra is published before
            // its row.
            let mut bytes = vec![0; TRAILER_AT - EXTRAS_AT];
            let mut count = [0; 8];
            let count_at = position + 8 * header::EXTRA_WORDS as u64;
            let count = words_of(file.read_at(count_at, &mut count)?);
            extras = words_of(file.read_at(position + EXTRAS_AT as u64, &mut bytes)?);
            let count = count.first().map_or(0, |count| *count);
            extras.truncate(usize::try_from(count).unwrap_or(0));
        }
        // The trailer is read last: if the block is used for another chunk, it changes before anything else.
        let mut bytes = [0; 8];
        let trailer = words_of(file.read_at(position + TRAILER_AT as u64, &mut bytes)?);
        let is_whole = trailer == [sequence] && rows.len() == len - from;
        Ok(is_whole.then_some(NewRows {
            log,
            from,
            rows,
            extras,
        }))
    }

    /// The number of rows of a chunk in the tail that were read before, from the ring.
    pub(super) fn take_from_tail(&mut self, log: u32, sequence: u64) -> usize {
        self.in_tail.insert(log, sequence);
        self.read.remove(&sequence).unwrap_or(0)
    }

    pub(super) fn is_in_tail(&self, log: u32, sequence: u64) -> bool {
        self.in_tail.get(&log).is_some_and(|last| *last >= sequence)
    }

    /// Marks these rows as read. Call it after the tail was read to its end.
    pub(super) fn finish(&mut self, new: &NewInRing) {
        for (sequence, rows) in &new.chunks {
            self.read.insert(*sequence, rows.from + rows.rows.len());
        }
        // A chunk that is no longer in the ring was replaced. If it is in the tail, the tail was read after the ring.
        let kept = new.seen.iter();
        self.read = kept
            .filter_map(|sequence| Some((*sequence, *self.read.get(sequence)?)))
            .collect();
    }
}

/// The open ops of each thread, by its log, the outermost first.
pub(super) fn read_open_ops(
    file: &mut GrowingFile,
    header: &FileHeader,
) -> io::Result<Vec<(u32, Vec<PackedRow>)>> {
    let mut bytes = vec![0; (header.slots * header.slot_bytes) as usize];
    let bytes = file.read_at(HEADER_BYTES as u64, &mut bytes)?;
    let (slots, _) = bytes.as_chunks::<SLOT_BYTES>();
    Ok(slots.iter().filter_map(open_ops).collect())
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    crate::model::optrace::tail_record::words_of(bytes)
}

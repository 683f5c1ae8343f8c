//! Records of the tail: a header with a checksum, and a payload with a separate checksum.

use super::packing;
use crate::model::chunk::PackedRow;

/// Rows of one chunk.
const ROWS: [u8; 4] = *b"ROWS";
/// Words of the stream of tables.
const TABLES: [u8; 4] = *b"TABL";
pub(super) const RECORD_HEADER_BYTES: usize = 40;
/// The largest payload of a record. A block of the ring is far smaller.
const MOST_PAYLOAD: usize = 1 << 20;

pub(super) fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// The header of a record. All parts of a file begin at multiples of eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) content: RecordContent,
    pub(super) payload_bytes: usize,
    payload_checksum: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordContent {
    Rows {
        sequence: u64,
        log: u32,
        rows: u32,
        extra_words: u32,
    },
    Tables {
        /// The position of the first word in the stream of tables.
        position: u64,
    },
}

impl RecordHeader {
    /// Reads a header; `None` if the bytes are not one.
    pub(super) fn parse(bytes: &[u8; RECORD_HEADER_BYTES]) -> Option<RecordHeader> {
        let (words, _) = bytes.as_chunks::<4>();
        let number = |at: usize| u32::from_le_bytes(words[at]);
        let content = match words[0] {
            ROWS => RecordContent::Rows {
                sequence: u64::from(number(2)) | u64::from(number(3)) << 32,
                log: number(4),
                rows: number(5),
                extra_words: number(6),
            },
            TABLES => RecordContent::Tables {
                position: u64::from(number(2)) | u64::from(number(3)) << 32,
            },
            _ => return None,
        };
        let payload_bytes = number(1) as usize;
        let is_whole = checksum(&bytes[..RECORD_HEADER_BYTES - 8]) == number(8) && number(9) == 0;
        (is_whole && payload_bytes <= MOST_PAYLOAD && payload_bytes.is_multiple_of(8)).then_some(
            RecordHeader {
                content,
                payload_bytes,
                payload_checksum: number(7),
            },
        )
    }

    /// Ops in the record, if it has rows.
    pub(super) fn rows(&self) -> u64 {
        match self.content {
            RecordContent::Rows { rows, .. } => u64::from(rows),
            RecordContent::Tables { .. } => 0,
        }
    }

    pub(super) fn fits(&self, payload: &[u8]) -> bool {
        checksum(payload) == self.payload_checksum
    }

    /// Rows and extras of a payload of rows; `None` if the payload is too short.
    pub(super) fn unpack(
        rows: u32,
        extra_words: u32,
        payload: &[u8],
    ) -> Option<(Vec<PackedRow>, Vec<u64>)> {
        let extras_at = payload.len().checked_sub(extra_words as usize * 8)?;
        let (of_rows, of_extras) = payload.split_at(extras_at);
        Some((
            packing::unpack(rows as usize, of_rows)?,
            words_of(of_extras),
        ))
    }
}

pub(super) fn words_of(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// Appends a record with the rows of a chunk.
pub(crate) fn push_rows(
    bytes: &mut Vec<u8>,
    sequence: u64,
    log: u32,
    rows: &[PackedRow],
    extras: &[u64],
) {
    let header_at = reserve_header(bytes);
    packing::pack(rows, bytes);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(extras.iter().flat_map(|word| word.to_le_bytes()));
    let facts = [log, rows.len() as u32, extras.len() as u32];
    fill_header(bytes, header_at, ROWS, sequence, facts);
}

/// Appends a record with words of the stream of tables.
pub(crate) fn push_tables(bytes: &mut Vec<u8>, position: u64, words: &[u64]) {
    let header_at = reserve_header(bytes);
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    fill_header(bytes, header_at, TABLES, position, [0; 3]);
}

fn reserve_header(bytes: &mut Vec<u8>) -> usize {
    let at = bytes.len();
    bytes.resize(at + RECORD_HEADER_BYTES, 0);
    at
}

fn fill_header(bytes: &mut [u8], at: usize, kind: [u8; 4], number: u64, facts: [u32; 3]) {
    let (before, payload) = bytes.split_at_mut(at + RECORD_HEADER_BYTES);
    let header = &mut before[at..];
    let [log, rows, extra_words] = facts;
    let fields = [
        u32::from_le_bytes(kind),
        payload.len() as u32,
        number as u32,
        (number >> 32) as u32,
        log,
        rows,
        extra_words,
        checksum(payload),
    ];
    for (place, field) in header.as_chunks_mut::<4>().0.iter_mut().zip(fields) {
        *place = field.to_le_bytes();
    }
    let own = checksum(&header[..RECORD_HEADER_BYTES - 8]);
    header[RECORD_HEADER_BYTES - 8..RECORD_HEADER_BYTES - 4].copy_from_slice(&own.to_le_bytes());
}

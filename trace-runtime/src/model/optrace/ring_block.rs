//! Blocks of the ring: a header, rows or tables, extras, and a trailer.

use crate::model::chunk::PackedRow;
use trace_core::__engine::block::{HEADER_WORDS, TABLES, header};

pub(crate) const BLOCK_BYTES: usize = 32 << 10;
pub(crate) const BLOCK_WORDS: usize = BLOCK_BYTES / 8;
pub(crate) const BLOCK_ROWS: usize = 1024;
/// Bytes of a slot, which has the open ops of a thread.
pub(crate) const SLOT_BYTES: usize = 4096;
/// The most open ops of a thread that are kept. Deeper ops are not kept.
pub(crate) const SLOT_ROWS: usize = (SLOT_BYTES / 8 - HEADER_WORDS) / 3;
/// Index of the header word that has the block's position in the stream of tables.
pub(crate) const STREAM_POSITION: usize = 4;
/// Words of tables in a block: all but the header and the trailer.
pub(crate) const TABLE_WORDS: usize = BLOCK_WORDS - HEADER_WORDS - 1;
const ROW_WORDS: usize = 3 * BLOCK_ROWS;

/// The log of a thread and its open ops, the outermost first. `None` if the slot is free.
pub(super) fn open_ops(bytes: &[u8; SLOT_BYTES]) -> Option<(u32, Vec<PackedRow>)> {
    let (words, _) = bytes.as_chunks::<8>();
    let word = |at: usize| u64::from_le_bytes(words[at]);
    if word(header::SEQUENCE) == 0 {
        return None;
    }
    let depth = usize::try_from(word(header::LEN)).ok()?.min(SLOT_ROWS);
    let rows = (0..depth).map(|row| [0, 1, 2].map(|at| word(HEADER_WORDS + 3 * row + at)));
    Some((u32::try_from(word(header::OWNER)).ok()?, rows.collect()))
}

/// The content of a block of the ring.
#[derive(Debug)]
pub(crate) enum RingBlock {
    Rows {
        sequence: u64,
        log: u32,
        rows: Vec<PackedRow>,
        extras: Vec<u64>,
    },
    Tables {
        position: u64,
        words: Vec<u64>,
    },
}

impl RingBlock {
    /// Reads a block. `None` if it is free, or was used again while it was read.
    pub(crate) fn parse(bytes: &[u8; BLOCK_BYTES]) -> Option<RingBlock> {
        let (chunks, _) = bytes.as_chunks::<8>();
        let words: &[[u8; 8]; BLOCK_WORDS] = chunks.first_chunk()?;
        let word = |at: usize| u64::from_le_bytes(words[at]);
        let sequence = word(header::SEQUENCE);
        if sequence == 0 || word(BLOCK_WORDS - 1) != sequence {
            return None;
        }
        let len = usize::try_from(word(header::LEN)).ok()?;
        let all = |from: usize, len: usize| (from..from + len).map(word).collect::<Vec<u64>>();
        if word(header::OWNER) == TABLES {
            return (len <= TABLE_WORDS).then(|| RingBlock::Tables {
                position: word(STREAM_POSITION),
                words: all(HEADER_WORDS, len),
            });
        }
        let extras = usize::try_from(word(header::EXTRA_WORDS)).ok()?;
        let extras_at = HEADER_WORDS + ROW_WORDS;
        if len > BLOCK_ROWS || extras > BLOCK_WORDS - 1 - extras_at {
            return None;
        }
        Some(RingBlock::Rows {
            sequence,
            log: u32::try_from(word(header::OWNER)).ok()?,
            rows: (0..len)
                .map(|row| [0, 1, 2].map(|at| word(HEADER_WORDS + 3 * row + at)))
                .collect(),
            extras: all(extras_at, extras),
        })
    }
}

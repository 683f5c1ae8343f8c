//! The header of a file: the layout of the file, and counts that change while it is recorded.

use super::tail_record::checksum;
use crate::model::{TraceError, TraceErrorKind};

/// The first bytes of a file. The first byte is not valid text, so the file cannot be mistaken for JSON.
pub(crate) const MAGIC: [u8; 8] = *b"\x89OPTRACE";
const VERSION: u32 = 1;
pub(crate) const HEADER_BYTES: usize = 4096;
/// The most blocks of a ring: 32 GiB.
const MOST_BLOCKS: u64 = 1 << 20;
const MOST_SLOTS: u64 = 1 << 16;

/// Indexes of the header's words that do not change.
mod fixed {
    pub(super) const VERSION: usize = 1;
    pub(super) const BLOCK_BYTES: usize = 2;
    pub(super) const BLOCKS: usize = 3;
    pub(super) const SLOT_BYTES: usize = 4;
    pub(super) const SLOTS: usize = 5;
    pub(super) const BASE_TICKS: usize = 6;
    pub(super) const RATE: usize = 7;
    pub(super) const START_UNIX_NS: usize = 8;
    pub(super) const PID: usize = 9;
    pub(super) const CHECKSUM: usize = 10;
}

/// Indexes of the header's words that change while recording.
pub(crate) mod live {
    /// [`RECORDING`](super::RECORDING), [`FINISHED`](super::FINISHED) or [`COPIED`](super::COPIED).
    pub(crate) const STATE: usize = 16;
    /// The position after the last complete record of the tail.
    pub(crate) const TAIL_END: usize = 17;
    /// The latest time that the process wrote here, in ticks.
    pub(crate) const NOW: usize = 18;
    /// Ops that were not recorded because there was no room.
    pub(crate) const DROPPED: usize = 19;
    pub(crate) const SAMPLED_OUT: usize = 20;
    pub(crate) const FILTERED_OUT: usize = 21;
    /// Ops that newer ones have replaced, in a recording that keeps only the last ops.
    pub(crate) const REPLACED: usize = 22;
    /// Number of words, including the fixed words.
    pub(crate) const WORDS: usize = 23;
}

pub(crate) const RECORDING: u64 = 1;
pub(crate) const FINISHED: u64 = 2;
/// The file is a copy of a part of a recording that continued.
pub(crate) const COPIED: u64 = 3;

/// The part of the header that does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) block_bytes: u64,
    pub(crate) blocks: u64,
    pub(crate) slot_bytes: u64,
    pub(crate) slots: u64,
    /// The clock when the recording began.
    pub(crate) base_ticks: u64,
    /// Nanoseconds in 2^32 ticks.
    pub(crate) rate: u64,
    pub(crate) start_unix_ns: u64,
    pub(crate) pid: u64,
}

impl FileHeader {
    /// The same header for a file without a ring.
    pub(crate) fn without_ring(self) -> FileHeader {
        FileHeader {
            blocks: 0,
            slots: 0,
            ..self
        }
    }

    /// The position of the first thread slot.
    pub(crate) fn slots_at() -> u64 {
        HEADER_BYTES as u64
    }

    /// The position of the first block.
    pub(crate) fn ring_at(&self) -> u64 {
        Self::slots_at() + self.slots * self.slot_bytes
    }

    /// The position of the first record.
    pub(crate) fn tail_at(&self) -> u64 {
        self.ring_at() + self.blocks * self.block_bytes
    }

    /// All words of the header, with these live words.
    pub(crate) fn words(&self, state: u64, tail_end: u64) -> [u64; live::WORDS] {
        let mut words = [0; live::WORDS];
        words[0] = u64::from_le_bytes(MAGIC);
        words[fixed::VERSION] = u64::from(VERSION);
        words[fixed::BLOCK_BYTES] = self.block_bytes;
        words[fixed::BLOCKS] = self.blocks;
        words[fixed::SLOT_BYTES] = self.slot_bytes;
        words[fixed::SLOTS] = self.slots;
        words[fixed::BASE_TICKS] = self.base_ticks;
        words[fixed::RATE] = self.rate;
        words[fixed::START_UNIX_NS] = self.start_unix_ns;
        words[fixed::PID] = self.pid;
        words[fixed::CHECKSUM] = u64::from(checksum_of(&words));
        words[live::STATE] = state;
        words[live::TAIL_END] = tail_end;
        words[live::NOW] = self.base_ticks;
        words
    }

    /// Reads the first bytes of a file, which begin with [`MAGIC`]: the header and its live words.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(FileHeader, [u64; live::WORDS]), TraceError> {
        let (chunks, _) = bytes.as_chunks::<8>();
        let Some(bytes) = chunks
            .first_chunk::<{ live::WORDS }>()
            .filter(|_| bytes.len() >= HEADER_BYTES)
        else {
            return Err(TraceError::new(
                TraceErrorKind::Truncated,
                format!(
                    "the recording is truncated: it ends at byte {} inside its header of {HEADER_BYTES} bytes",
                    bytes.len()
                ),
            ));
        };
        let words = bytes.map(u64::from_le_bytes);
        let version = words[fixed::VERSION];
        if words[fixed::CHECKSUM] != u64::from(checksum_of(&words)) {
            return Err(damaged(
                "its checksum differs; nothing else in the file can be found without it",
            ));
        }
        if version > u64::from(VERSION) {
            return Err(TraceError::new(
                TraceErrorKind::NewerVersion,
                format!(
                    "this is version {version} of the recording format and this program reads version {VERSION}; \
                     use a newer `optrace`"
                ),
            ));
        }
        let header = FileHeader {
            block_bytes: words[fixed::BLOCK_BYTES],
            blocks: words[fixed::BLOCKS],
            slot_bytes: words[fixed::SLOT_BYTES],
            slots: words[fixed::SLOTS],
            base_ticks: words[fixed::BASE_TICKS],
            rate: words[fixed::RATE],
            start_unix_ns: words[fixed::START_UNIX_NS],
            pid: words[fixed::PID],
        };
        let is_possible = header.blocks <= MOST_BLOCKS
            && header.slots <= MOST_SLOTS
            && header.block_bytes == super::ring_block::BLOCK_BYTES as u64
            && header.slot_bytes == super::ring_block::SLOT_BYTES as u64;
        if !is_possible {
            return Err(damaged("its sizes are impossible"));
        }
        Ok((header, words))
    }
}

fn checksum_of(words: &[u64; live::WORDS]) -> u32 {
    let bytes: Vec<u8> = words[..fixed::CHECKSUM]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    checksum(&bytes)
}

fn damaged(reason: &str) -> TraceError {
    TraceError::new(
        TraceErrorKind::Damaged,
        format!("the recording is damaged in its header, bytes 0 to {HEADER_BYTES}: {reason}"),
    )
}

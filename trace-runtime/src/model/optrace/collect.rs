//! Reads a file from its first byte to its last, and keeps the undamaged parts.

use super::header::{FINISHED, FileHeader, HEADER_BYTES, live};
use super::input::Input;
use super::restore::Restored;
use super::ring_block::{BLOCK_BYTES, RingBlock, SLOT_BYTES, open_ops};
use super::tables;
use super::tail_record::{RECORD_HEADER_BYTES, RecordContent, RecordHeader, words_of};
use crate::model::chunk::PackedRow;
use crate::model::{TraceError, TraceStore};
use std::collections::BTreeMap;
use std::io::Read;

/// Reads a recording: one that was finished, one whose process was killed, or one that is being written.
///
/// Missing and damaged parts are left out and listed in the metadata. Fails only if the header cannot be read.
pub(crate) fn read(source: impl Read) -> Result<TraceStore, TraceError> {
    read_with(source, Vec::<std::io::Empty>::new())
}

/// Reads a recording with files that have parts of its rows.
pub(super) fn read_with(
    source: impl Read,
    parts: Vec<impl Read>,
) -> Result<TraceStore, TraceError> {
    let mut input = Input::new(source);
    let (header, live) = FileHeader::parse(look(&mut input, HEADER_BYTES)?)?;
    input.take(HEADER_BYTES);
    let mut file = File {
        restored: Restored::default(),
        ring: BTreeMap::new(),
        faults: Faults::default(),
        is_finished: live[live::STATE] == FINISHED,
        tail_end: live[live::TAIL_END],
    };
    for _ in 0..header.slots {
        let bytes = look(&mut input, SLOT_BYTES)?;
        let len = bytes.len();
        if let Some((log, rows)) = bytes.first_chunk().and_then(open_ops)
            && !file.is_finished
        {
            file.restored.add_open(log, rows);
        }
        input.take(len);
    }
    for _ in 0..header.blocks {
        let bytes = look(&mut input, BLOCK_BYTES)?;
        let len = bytes.len();
        match bytes.first_chunk() {
            Some(block) if !file.is_finished => file.ring_block(RingBlock::parse(block)),
            _ => {}
        }
        input.take(len);
    }
    file.tail(&mut input, header.tail_at())?;
    let main_end = file.tail_end;
    for part in parts {
        let mut input = Input::new(part);
        let (header, live) = FileHeader::parse(look(&mut input, HEADER_BYTES)?)?;
        input.take(HEADER_BYTES);
        file.tail_end = live[live::TAIL_END];
        file.tail(&mut input, header.tail_at())?;
    }
    file.tail_end = main_end;
    file.finish(header, &live)
}

fn look<R: Read>(input: &mut Input<R>, len: usize) -> Result<&[u8], TraceError> {
    input.look(len).map_err(TraceError::reading)
}

/// The parts of a file that have been read so far.
struct File {
    restored: Restored,
    /// Chunks of the ring by their sequence number. If a chunk is also in the tail, the tail is used.
    ring: BTreeMap<u64, (u32, Vec<PackedRow>, Vec<u64>)>,
    faults: Faults,
    is_finished: bool,
    /// The records up to here were complete when the header was read.
    tail_end: u64,
}

/// The faults of a file.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// The position at which the file ends, if that is too early.
    pub(super) truncated_at: Option<u64>,
    /// The first position of each damaged part, and the first position after it.
    pub(super) damaged: Vec<(u64, u64)>,
    /// Ops in records that are damaged or cut off.
    pub(super) lost_ops: u64,
}

impl File {
    fn ring_block(&mut self, block: Option<RingBlock>) {
        match block {
            Some(RingBlock::Rows {
                sequence,
                log,
                rows,
                extras,
            }) => {
                self.ring.insert(sequence, (log, rows, extras));
            }
            Some(RingBlock::Tables { position, words }) => self.tables(position, &words),
            None => {}
        }
    }

    fn tables(&mut self, position: u64, words: &[u64]) {
        for entry in tables::decode(words) {
            self.restored.add_entry(position, entry);
        }
    }

    /// Reads records to the end of the file. An incomplete record is a fault only if the header counts it; otherwise it
    /// was being written when the file was read.
    fn tail<R: Read>(&mut self, input: &mut Input<R>, tail_at: u64) -> Result<(), TraceError> {
        let mut damaged_from = None;
        loop {
            let position = input.position();
            let bytes = look(input, RECORD_HEADER_BYTES)?;
            let left = bytes.len();
            if left == 0 {
                break;
            }
            let Some(head) = bytes.first_chunk() else {
                input.take(left);
                break;
            };
            let Some(header) = RecordHeader::parse(head) else {
                // Searches for the next record, which begins at a multiple of eight.
                damaged_from.get_or_insert(position);
                input.take(8);
                continue;
            };
            self.damaged(damaged_from.take(), position);
            let whole = RECORD_HEADER_BYTES + header.payload_bytes;
            let bytes = look(input, whole)?;
            let len = bytes.len();
            let payload = &bytes[RECORD_HEADER_BYTES..];
            let is_whole = len == whole;
            if is_whole && header.fits(payload) {
                self.record(header.content, payload, position);
            } else if position < self.tail_end {
                self.faults.lost_ops += header.rows();
                if is_whole {
                    self.faults
                        .damaged
                        .push((position, position + whole as u64));
                }
            }
            input.take(len);
        }
        let end = input.position();
        // Bytes after the last published record belong to a record that was being written.
        if let Some(from) = damaged_from.filter(|from| *from < self.tail_end) {
            self.damaged(Some(from), end.min(self.tail_end));
        }
        if end < self.tail_end.max(tail_at) {
            self.faults.truncated_at = Some(end);
        }
        Ok(())
    }

    fn damaged(&mut self, from: Option<u64>, to: u64) {
        if let Some(from) = from {
            self.faults.damaged.push((from, to));
        }
    }

    fn record(&mut self, content: RecordContent, payload: &[u8], position: u64) {
        match content {
            RecordContent::Tables { position } => self.tables(position, &words_of(payload)),
            RecordContent::Rows {
                sequence,
                log,
                rows,
                extra_words,
            } => {
                if let Some((rows, extras)) = RecordHeader::unpack(rows, extra_words, payload) {
                    self.ring.remove(&sequence);
                    self.restored.add_rows(log, rows, &extras);
                } else {
                    self.faults.lost_ops += u64::from(rows);
                    let end = position + (RECORD_HEADER_BYTES + payload.len()) as u64;
                    self.faults.damaged.push((position, end));
                }
            }
        }
    }

    fn finish(
        mut self,
        header: FileHeader,
        live: &[u64; live::WORDS],
    ) -> Result<TraceStore, TraceError> {
        for (_, (log, rows, extras)) in std::mem::take(&mut self.ring) {
            self.restored.add_rows(log, rows, &extras);
        }
        self.restored.finish(header, live, &self.faults)
    }
}

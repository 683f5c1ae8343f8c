//! Rows of a trace: one thread writes them, any thread reads what is published.
//!
//! A row is three words, so an entry costs 24 bytes if its signature repeats. The words are atomics and the length is
//! published after them, so a chunk can be read without a lock while it is being written; on the machines we care about
//! these are plain loads and stores.

use super::block::{Block, HEADER_WORDS, TABLES, header};
use crate::Outcome;
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Bits of a row's slot in its key, below the number of its chunk. They limit the rows of a chunk.
pub const SLOT_BITS: u32 = 12;
pub const MAX_ROWS: usize = 1 << SLOT_BITS;

/// The row has no parent, or its parent is in its extra.
pub const NO_PARENT: u32 = u32::MAX;

const DURATION_BITS: u32 = 36;
/// Stored in place of a duration that does not fit into a row: the real duration is in the row's extra.
pub const LONG_DURATION: u64 = (1 << DURATION_BITS) - 1;
const SIGNATURE_BITS: u32 = 24;
/// The largest number of a signature. Numbers start at 0.
pub const MAX_SIGNATURES: u32 = (1 << SIGNATURE_BITS) - 1;

/// One execution, packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Ticks.
    pub start: u64,
    /// Ticks; [`LONG_DURATION`] when the extra has it.
    pub duration: u64,
    pub signature: u32,
    pub outcome: Outcome,
    /// There is an extra for this row.
    pub extra: bool,
    /// Position in the order in which ops began: among the ops of the thread while recording, among all ops once the
    /// trace is assembled.
    pub step: u32,
    /// The parent's `step`, or [`NO_PARENT`].
    pub parent: u32,
}

/// A row as it is stored: its start, its [facts](facts) and its [`Steps`].
pub type PackedRow = [u64; 3];

/// An op's step and its parent's, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps(pub u64);

impl Steps {
    #[inline]
    pub fn new(step: u32, parent: u32) -> Steps {
        Steps(u64::from(step) | u64::from(parent) << 32)
    }

    #[inline]
    pub fn step(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub fn parent(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Duration, signature and outcome of a row in one word. The duration is below [`LONG_DURATION`].
#[inline]
pub fn facts(duration: u64, signature: u32, outcome: Outcome) -> u64 {
    duration
        | u64::from(signature) << DURATION_BITS
        | u64::from(outcome.code()) << (DURATION_BITS + SIGNATURE_BITS)
}

/// The [facts] of a row that has an extra.
pub fn facts_with_extra(duration: u64, signature: u32, outcome: Outcome) -> u64 {
    facts(duration.min(LONG_DURATION), signature, outcome) | 1 << 63
}

impl Row {
    pub fn pack(self) -> PackedRow {
        let facts = if self.extra {
            facts_with_extra(self.duration, self.signature, self.outcome)
        } else {
            facts(
                self.duration.min(LONG_DURATION),
                self.signature,
                self.outcome,
            )
        };
        [self.start, facts, Steps::new(self.step, self.parent).0]
    }

    #[inline]
    pub fn unpack(words: PackedRow) -> Row {
        let words = RowWords(words);
        Row {
            start: words.start(),
            duration: words.duration(),
            signature: words.signature(),
            outcome: words.outcome(),
            extra: words.has_extra(),
            step: words.step(),
            parent: words.parent(),
        }
    }
}

/// A row as it is stored, for readers that need only some of its fields: unpacking all of them takes three times as
/// many instructions as finding the row.
#[derive(Debug, Clone, Copy)]
pub struct RowWords(pub PackedRow);

/// The fields of a [`Row`].
impl RowWords {
    #[inline]
    pub fn start(self) -> u64 {
        self.0[0]
    }

    #[inline]
    pub fn duration(self) -> u64 {
        self.0[1] & LONG_DURATION
    }

    #[inline]
    pub fn signature(self) -> u32 {
        (self.0[1] >> DURATION_BITS) as u32 & MAX_SIGNATURES
    }

    #[inline]
    pub fn outcome(self) -> Outcome {
        Outcome::from_code((self.0[1] >> (DURATION_BITS + SIGNATURE_BITS)) as u8 & 7)
    }

    #[inline]
    pub fn has_extra(self) -> bool {
        self.0[1] >> 63 != 0
    }

    #[inline]
    pub fn step(self) -> u32 {
        Steps(self.0[2]).step()
    }

    #[inline]
    pub fn parent(self) -> u32 {
        Steps(self.0[2]).parent()
    }
}

/// Rows that one thread appends, in a block of memory.
#[derive(Debug)]
pub struct Chunk {
    /// Rows after the length may belong to an earlier chunk. They are never read.
    block: Block,
    /// The place of the block in its region.
    place: u32,
}

impl Chunk {
    /// A chunk on the heap.
    pub fn with_rows(rows: usize) -> Chunk {
        let block = Block::on_heap(rows);
        block.header()[header::LEN].store(0, Ordering::Relaxed);
        Chunk { block, place: 0 }
    }

    /// Begins a chunk in a block of a region that no other thread appends to. A reader may still be reading the
    /// previous chunk of the block; [`copy_block`] detects the change.
    pub fn begin(block: Block, place: u32, sequence: u64, owner: u64) -> Chunk {
        begin_block(&block, sequence, owner);
        Chunk { block, place }
    }

    /// The place of its block in its region.
    pub fn place(&self) -> u32 {
        self.place
    }

    pub(crate) fn is_in_region(&self) -> bool {
        self.block.is_in_region()
    }

    /// Bytes that a chunk with `rows` rows takes.
    pub const fn bytes(rows: usize) -> usize {
        size_of::<Chunk>() + (HEADER_WORDS + rows * 3) * size_of::<AtomicU64>()
    }

    pub fn capacity(&self) -> usize {
        self.block.rows().len()
    }

    /// Appends a row; false if the chunk is full. Only the thread that owns the chunk calls this.
    pub fn push(&self, row: Row) -> bool {
        self.push_packed(row.pack())
    }

    #[inline]
    pub fn push_packed(&self, [start, facts, steps]: PackedRow) -> bool {
        let published = &self.block.header()[header::LEN];
        let len = published.load(Ordering::Relaxed);
        let Some(slot) = self.block.rows().get(len as usize) else {
            return false;
        };
        slot[0].store(start, Ordering::Relaxed);
        slot[1].store(facts, Ordering::Relaxed);
        slot[2].store(steps, Ordering::Relaxed);
        published.store(len + 1, Ordering::Release);
        true
    }

    /// Appends the words of an extra, before its row; false if there is no room for them.
    pub(crate) fn push_extra(&self, words: &[u64]) -> bool {
        let published = &self.block.header()[header::EXTRA_WORDS];
        let len = published.load(Ordering::Relaxed) as usize;
        // The last word of a region's block is its trailer.
        let room = self.extra_capacity();
        let Some(slots) = self.block.rest()[..room].get(len..len + words.len()) else {
            return false;
        };
        for (slot, word) in slots.iter().zip(words) {
            slot.store(*word, Ordering::Relaxed);
        }
        published.store((len + words.len()) as u64, Ordering::Release);
        true
    }

    /// The most words of extras that the chunk can hold.
    pub(crate) fn extra_capacity(&self) -> usize {
        self.block.rest().len().saturating_sub(1)
    }

    /// True if the chunk has no room for another row.
    pub(crate) fn is_full(&self) -> bool {
        let len = self.block.header()[header::LEN].load(Ordering::Relaxed);
        len as usize >= self.block.rows().len()
    }

    /// Number of published rows. A published row does not change while recording.
    pub fn len(&self) -> usize {
        self.block.header()[header::LEN].load(Ordering::Acquire) as usize
    }

    /// A row that is published.
    #[inline]
    pub fn row(&self, slot: usize) -> Option<Row> {
        self.packed(slot).map(Row::unpack)
    }

    /// The words of a row that is published.
    #[inline]
    pub fn packed(&self, slot: usize) -> Option<PackedRow> {
        let words = self.block.rows().get(slot)?;
        Some([0, 1, 2].map(|word| words[word].load(Ordering::Relaxed)))
    }

    /// Changes the step and the parent of a row. No thread may append to the chunk any more.
    pub fn renumber(&self, slot: usize, step: u32, parent: u32) {
        if let Some(words) = self.block.rows().get(slot) {
            words[2].store(Steps::new(step, parent).0, Ordering::Relaxed);
        }
    }

    /// Copies these rows into a new chunk.
    pub fn copy(&self, slots: std::ops::Range<usize>) -> Chunk {
        let copy = Chunk::with_rows(slots.len());
        for slot in slots {
            if let Some(row) = self.packed(slot) {
                copy.push_packed(row);
            }
        }
        copy
    }
}

/// Empties a block for a chunk with another sequence number. The trailer changes first and the sequence number
/// last, so a reader that finds both equal has read nothing of the new chunk.
pub fn begin_block(block: &Block, sequence: u64, owner: u64) {
    let words = block.header();
    if let Some(trailer) = block.rest().last() {
        trailer.store(sequence, Ordering::Relaxed);
    }
    fence(Ordering::Release);
    words[header::LEN].store(0, Ordering::Relaxed);
    words[header::EXTRA_WORDS].store(0, Ordering::Relaxed);
    words[header::OWNER].store(owner, Ordering::Relaxed);
    words[header::SEQUENCE].store(sequence, Ordering::Release);
}

/// The content of a block of a region at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockCopy {
    pub sequence: u64,
    pub owner: u64,
    pub rows: Vec<PackedRow>,
    pub extras: Vec<u64>,
}

/// Copies a chunk of a region, while its thread may append to it. `None` if the block is free, or was used for another
/// chunk during the copy.
pub fn copy_block(block: &Block) -> Option<BlockCopy> {
    let words = block.header();
    let sequence = words[header::SEQUENCE].load(Ordering::Acquire);
    let owner = words[header::OWNER].load(Ordering::Relaxed);
    if sequence == 0 || owner == TABLES {
        return None;
    }
    // Rows are loaded before extras, so that a row that is seen always has its extra.
    let rows = words[header::LEN].load(Ordering::Acquire) as usize;
    let extras = words[header::EXTRA_WORDS].load(Ordering::Acquire) as usize;
    let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
    let copy = BlockCopy {
        sequence,
        owner,
        rows: block
            .rows()
            .iter()
            .take(rows)
            .map(|[start, facts, steps]| [load(start), load(facts), load(steps)])
            .collect(),
        extras: block.rest().iter().take(extras).map(load).collect(),
    };
    is_unchanged(block, sequence).then_some(copy)
}

/// True if everything that was read of a block belongs to the chunk with this sequence number.
pub fn is_unchanged(block: &Block, sequence: u64) -> bool {
    fence(Ordering::Acquire);
    let trailer = block.rest().last();
    trailer.is_some_and(|trailer| trailer.load(Ordering::Relaxed) == sequence)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_back_and_a_full_chunk_refuses_more() {
        let chunk = Chunk::with_rows(2);
        let row = Row {
            start: u64::MAX,
            duration: LONG_DURATION - 1,
            signature: MAX_SIGNATURES,
            outcome: Outcome::Unfinished,
            extra: true,
            step: 7,
            parent: NO_PARENT,
        };
        let plain = Row {
            extra: false,
            outcome: Outcome::Ok,
            duration: u64::MAX,
            ..row
        };
        assert!(chunk.push(row) && chunk.push(plain));
        assert!(!chunk.push(row));
        assert_eq!(chunk.row(0), Some(row));
        assert_eq!(
            chunk.row(1),
            Some(Row {
                duration: LONG_DURATION,
                ..plain
            })
        );
        chunk.renumber(1, 3, 4);
        assert_eq!(chunk.row(1).map(|row| (row.step, row.parent)), Some((3, 4)));
        assert_eq!(chunk.copy(1..2).len(), 1);
    }

    #[test]
    fn rows_that_are_used_again_begin_empty() {
        for _ in 0..3 {
            let chunks: Vec<Chunk> = (0..20).map(|_| Chunk::with_rows(MAX_ROWS)).collect();
            for chunk in &chunks {
                assert_eq!((chunk.len(), chunk.capacity()), (0, MAX_ROWS));
                while chunk.push_packed([1, 2, 3]) {}
                assert_eq!(chunk.len(), MAX_ROWS);
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn a_published_row_is_whole() {
        loom::model(|| {
            let chunk = Arc::new(Chunk::with_rows(2));
            let writer = {
                let chunk = chunk.clone();
                loom::thread::spawn(move || {
                    for step in 1..=2 {
                        chunk.push(Row {
                            start: u64::from(step),
                            duration: u64::from(step),
                            signature: step,
                            outcome: Outcome::Error,
                            extra: false,
                            step,
                            parent: step,
                        });
                    }
                })
            };
            for slot in 0..chunk.len() {
                let row = chunk.row(slot).expect("published");
                let step = slot as u32 + 1;
                assert_eq!(
                    (row.start, row.duration),
                    (u64::from(step), u64::from(step))
                );
                assert_eq!((row.signature, row.step, row.parent), (step, step, step));
            }
            writer.join().unwrap();
        });
    }

    #[derive(Debug)]
    struct Words(Vec<AtomicU64>);

    impl super::super::block::Region for Words {
        fn words(&self) -> &[AtomicU64] {
            &self.0
        }
    }

    /// One chunk fills a block, then another one uses the same block. A reader at any moment finds rows of only one of
    /// the two.
    #[test]
    fn a_block_that_is_used_again_is_never_read_as_a_mix() {
        loom::model(|| {
            let words = (0..HEADER_WORDS + 3 + 2).map(|_| AtomicU64::new(0));
            let region: std::sync::Arc<dyn super::super::block::Region> =
                std::sync::Arc::new(Words(words.collect()));
            let block = {
                let region = region.clone();
                move || Block::in_region(&region, 0..HEADER_WORDS + 5, 1).expect("fits")
            };
            let reader = block();
            let writer = loom::thread::spawn(move || {
                for sequence in 1..=2 {
                    let chunk = Chunk::begin(block(), 0, sequence, sequence);
                    assert!(chunk.push_extra(&[sequence]));
                    assert!(chunk.push_packed([sequence; 3]));
                    assert!(!chunk.push_packed([9; 3]));
                }
            });
            if let Some(copy) = copy_block(&reader) {
                assert_eq!(copy.owner, copy.sequence);
                for row in &copy.rows {
                    assert_eq!(row, &[copy.sequence; 3]);
                    assert_eq!(copy.extras, [copy.sequence]);
                }
            }
            writer.join().unwrap();
        });
    }
}

//! Rows of a trace: one thread writes them, any thread reads what is published.
//!
//! A row is three words, so an entry costs 24 bytes where its signature repeats. The words are
//! atomics and the length is published after them, which makes reading a chunk that is still being
//! written safe without a lock and without `unsafe`; on the machines we care about these are plain
//! loads and stores.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::Outcome;

/// Rows in the largest chunk; a row's key is its chunk's number above these bits.
pub const SLOT_BITS: u32 = 12;
pub const MAX_ROWS: usize = 1 << SLOT_BITS;

/// No parent, or one that only the row's extra knows.
pub const NO_PARENT: u32 = u32::MAX;

const DURATION_BITS: u32 = 36;
/// A duration that does not fit its bits: the row's extra has it.
pub const LONG_DURATION: u64 = (1 << DURATION_BITS) - 1;
const SIGNATURE_BITS: u32 = 24;
/// The largest number of a signature: a trace has at most one more than this.
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
    /// Counts the ops of a thread while recording, those of the trace once assembled.
    pub step: u32,
    /// In the same count, or [`NO_PARENT`].
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

/// The same for a row that has an extra.
pub fn facts_with_extra(duration: u64, signature: u32, outcome: Outcome) -> u64 {
    facts(duration.min(LONG_DURATION), signature, outcome) | 1 << 63
}

impl Row {
    fn pack(self) -> PackedRow {
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
    fn unpack([start, facts, steps]: [u64; 3]) -> Row {
        Row {
            start,
            duration: facts & LONG_DURATION,
            signature: (facts >> DURATION_BITS) as u32 & MAX_SIGNATURES,
            outcome: Outcome::from_code((facts >> (DURATION_BITS + SIGNATURE_BITS)) as u8 & 7),
            extra: facts >> 63 != 0,
            step: Steps(steps).step(),
            parent: Steps(steps).parent(),
        }
    }
}

#[derive(Debug)]
pub struct Chunk {
    len: AtomicU32,
    /// Rows past the length may be those of an earlier chunk. They are never read.
    rows: Rows,
}

type Rows = Box<[[AtomicU64; 3]]>;

/// Rows of chunks that are gone. The first write to a page costs as much as half an op, and programs that make one
/// short recording mostly make many.
#[cfg(not(loom))]
static SPARE: std::sync::Mutex<Vec<Rows>> = std::sync::Mutex::new(Vec::new());
/// Some 1.5 MiB.
#[cfg(not(loom))]
const MOST_SPARE: usize = 16;

#[cfg(not(loom))]
fn spare() -> std::sync::MutexGuard<'static, Vec<Rows>> {
    SPARE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(not(loom))]
impl Drop for Chunk {
    fn drop(&mut self) {
        if self.rows.len() == MAX_ROWS {
            let mut spare = spare();
            if spare.len() < MOST_SPARE {
                spare.push(std::mem::take(&mut self.rows));
            }
        }
    }
}

impl Chunk {
    pub fn with_rows(rows: usize) -> Chunk {
        let rows = rows.min(MAX_ROWS);
        #[cfg(not(loom))]
        let spare = if rows == MAX_ROWS {
            spare().pop()
        } else {
            None
        };
        #[cfg(loom)]
        let spare = None;
        Chunk {
            len: AtomicU32::new(0),
            rows: spare.unwrap_or_else(|| (0..rows).map(|_| [0; 3].map(AtomicU64::new)).collect()),
        }
    }

    /// Bytes that a chunk of so many rows takes.
    pub const fn bytes(rows: usize) -> usize {
        size_of::<Chunk>() + rows * size_of::<[AtomicU64; 3]>()
    }

    pub fn capacity(&self) -> usize {
        self.rows.len()
    }

    /// Appends a row; false if the chunk is full. Only the thread that owns the chunk calls this.
    pub fn push(&self, row: Row) -> bool {
        self.push_packed(row.pack())
    }

    #[inline]
    pub fn push_packed(&self, [start, facts, steps]: PackedRow) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let Some(slot) = self.rows.get(len as usize) else {
            return false;
        };
        slot[0].store(start, Ordering::Relaxed);
        slot[1].store(facts, Ordering::Relaxed);
        slot[2].store(steps, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Release);
        true
    }

    /// Whether the thread that owns the chunk can append nothing more.
    pub(crate) fn is_full(&self) -> bool {
        self.len.load(Ordering::Relaxed) as usize == self.rows.len()
    }

    /// How many rows are published; they never change while recording.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire) as usize
    }

    /// A row that is published.
    #[inline]
    pub fn row(&self, slot: usize) -> Option<Row> {
        let words = self.rows.get(slot)?;
        Some(Row::unpack([
            words[0].load(Ordering::Relaxed),
            words[1].load(Ordering::Relaxed),
            words[2].load(Ordering::Relaxed),
        ]))
    }

    /// Changes the numbers of a row. No thread may append any more.
    pub fn renumber(&self, slot: usize, step: u32, parent: u32) {
        if let Some(words) = self.rows.get(slot) {
            words[2].store(Steps::new(step, parent).0, Ordering::Relaxed);
        }
    }

    /// A chunk of its own with these rows.
    pub fn copy(&self, slots: std::ops::Range<usize>) -> Chunk {
        let copy = Chunk::with_rows(slots.len());
        for slot in slots {
            if let Some(row) = self.row(slot) {
                copy.push(row);
            }
        }
        copy
    }
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
    fn rows_that_are_used_again_begin_empty_and_few_are_kept() {
        let row = Row {
            start: 1,
            duration: 2,
            signature: 3,
            outcome: Outcome::Ok,
            extra: false,
            step: 4,
            parent: 5,
        };
        for _ in 0..3 {
            let chunks: Vec<Chunk> = (0..2 * MOST_SPARE)
                .map(|_| Chunk::with_rows(MAX_ROWS))
                .collect();
            for chunk in &chunks {
                assert_eq!((chunk.len(), chunk.capacity()), (0, MAX_ROWS));
                while chunk.push(row) {}
                assert_eq!(chunk.len(), MAX_ROWS);
            }
        }
        assert!(spare().len() <= MOST_SPARE);
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
}

//! Several threads write, one moves their chunks out of a ring, and one reads at any moment: each row that was appended
//! is found once, or was counted as dropped.
//!
//! The ring here has the steps of the one in trace-runtime, in their order, around the real chunks and blocks.

use super::block::{Block, HEADER_WORDS, Region, header};
use super::chunk::{BlockCopy, Chunk, copy_block};
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use std::collections::VecDeque;

/// A header, one row, one word of extras and the trailer.
const WORDS: usize = HEADER_WORDS + 3 + 2;

#[derive(Debug)]
struct Words(Vec<AtomicU64>);

impl Region for Words {
    fn words(&self) -> &[AtomicU64] {
        &self.0
    }
}

/// Blocks of one row each.
struct Ring {
    region: std::sync::Arc<dyn Region>,
    free: Mutex<Vec<u32>>,
    sealed: Mutex<VecDeque<u32>>,
    next_sequence: AtomicU64,
    dropped: AtomicUsize,
    /// The chunks that were moved out.
    tail: Mutex<Vec<BlockCopy>>,
}

impl Ring {
    fn new(blocks: u32) -> Ring {
        let words = (0..WORDS * blocks as usize).map(|_| AtomicU64::new(0));
        Ring {
            region: std::sync::Arc::new(Words(words.collect())),
            free: Mutex::new((0..blocks).collect()),
            sealed: Mutex::new(VecDeque::new()),
            next_sequence: AtomicU64::new(1),
            dropped: AtomicUsize::new(0),
            tail: Mutex::new(Vec::new()),
        }
    }

    fn block(&self, place: u32) -> Block {
        let first = place as usize * WORDS;
        Block::in_region(&self.region, first..first + WORDS, 1).expect("fits")
    }

    /// Appends a row with this value, in a new chunk.
    fn append(&self, log: u64, value: u64) {
        let Some(place) = self.free.lock().unwrap().pop() else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let sequence = self.next_sequence.fetch_add(1, Ordering::Relaxed);
        let chunk = Chunk::begin(self.block(place), place, sequence, log);
        assert!(chunk.push_extra(&[value]));
        assert!(chunk.push_packed([value; 3]));
        assert!(!chunk.push_packed([0; 3]), "it is full");
        self.sealed.lock().unwrap().push_back(place);
    }

    /// Moves the chunks that are sealed now to the tail, and frees their blocks.
    fn move_sealed(&self) {
        let sealed: Vec<u32> = self.sealed.lock().unwrap().drain(..).collect();
        for place in sealed {
            let block = self.block(place);
            let copy = copy_block(&block).expect("a sealed chunk does not change");
            self.tail.lock().unwrap().push(copy);
            block.header()[header::SEQUENCE].store(0, Ordering::Release);
            self.free.lock().unwrap().push(place);
        }
    }

    /// The values in the tail.
    fn moved(&self) -> Vec<u64> {
        let tail = self.tail.lock().unwrap();
        tail.iter().flat_map(|copy| values_of(copy)).collect()
    }
}

/// The values of a copy. Checks that each row and its extra are of one chunk.
fn values_of(copy: &BlockCopy) -> Vec<u64> {
    copy.rows
        .iter()
        .map(|row| {
            assert_eq!(row, &[row[0]; 3], "a row is whole");
            assert_eq!(copy.extras, [row[0]], "the extra is that of the row");
            assert_eq!(
                row[0] / 10,
                copy.owner,
                "the row is of the thread that owns the chunk"
            );
            row[0]
        })
        .collect()
}

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Writer number `log` appends two rows.
fn write_two(ring: &Arc<Ring>, log: u64) -> loom::thread::JoinHandle<()> {
    let ring = ring.clone();
    loom::thread::spawn(move || {
        for op in 0..2 {
            ring.append(log, 10 * log + op);
        }
    })
}

fn assert_nothing_is_lost(ring: &Ring, ended: usize) {
    let mut moved = ring.moved();
    let count = moved.len();
    moved.sort_unstable();
    moved.dedup();
    assert_eq!(moved.len(), count, "no row is there twice");
    assert_eq!(count + ring.dropped.load(Ordering::Relaxed), ended);
}

#[test]
fn two_writers_and_a_mover_lose_nothing_while_blocks_are_used_again() {
    explore(3, || {
        let ring = Arc::new(Ring::new(2));
        let writers = [write_two(&ring, 1), write_two(&ring, 2)];
        ring.move_sealed();
        ring.move_sealed();
        for writer in writers {
            writer.join().unwrap();
        }
        // The end of the recording: no thread writes any more.
        ring.move_sealed();
        assert_nothing_is_lost(&ring, 4);
    });
}

#[test]
fn a_reader_finds_whole_chunks_and_rows_that_disappear_are_in_the_tail() {
    explore(2, || {
        let ring = Arc::new(Ring::new(1));
        let writer = write_two(&ring, 1);
        let mover = {
            let ring = ring.clone();
            loom::thread::spawn(move || ring.move_sealed())
        };
        // The ring first and then the tail, as a reader of the file does.
        let in_ring = copy_block(&ring.block(0));
        let in_ring = in_ring.as_ref().map(values_of).unwrap_or_default();
        let moved = ring.moved();
        for value in in_ring.iter().chain(&moved) {
            assert!([10, 11].contains(value));
        }
        writer.join().unwrap();
        mover.join().unwrap();
        ring.move_sealed();
        for value in in_ring.iter().chain(&moved) {
            assert!(ring.moved().contains(value), "what was read once stays");
        }
        assert_nothing_is_lost(&ring, 2);
    });
}

#[test]
fn a_finish_that_does_not_wait_finds_rows_that_are_published() {
    explore(3, || {
        let ring = Arc::new(Ring::new(3));
        let ended = Arc::new(AtomicUsize::new(0));
        let writer = {
            let (ring, ended) = (ring.clone(), ended.clone());
            loom::thread::spawn(move || {
                for op in 0..2 {
                    ring.append(1, 10 + op);
                    ended.fetch_add(1, Ordering::Release);
                }
            })
        };
        // Ops that have ended before the finish are found, sealed or not, while the thread continues.
        let before = ended.load(Ordering::Acquire);
        let found = (0..3).filter_map(|place| copy_block(&ring.block(place)));
        let found: Vec<u64> = found.flat_map(|copy| values_of(&copy)).collect();
        assert!(found.len() >= before, "{found:?} of {before}");
        writer.join().unwrap();
    });
}

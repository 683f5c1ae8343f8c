//! The cost of an allocation and of a free under a global allocator: `scripts/heap-cost.sh` runs a program for each.

use std::alloc::{Layout, alloc, dealloc};
use std::hint::black_box;
use std::time::Instant;

/// Number of blocks that are live while others are allocated and freed.
const LIVE: usize = 1 << 14;
const BATCH: usize = 1 << 12;

/// Allocates and frees in batches, in the op or session of the caller. Prints the nanoseconds of an allocation and of a
/// free in the median batch.
///
/// The sizes are those of small tensors and their shapes: 16 to 1,024 bytes.
pub fn run(name: &str) {
    run_with(name, allocate, free);
}

/// The same with other functions around those that allocate and free a batch.
#[allow(clippy::missing_panics_doc, reason = "there is always a batch")]
pub fn run_with(
    name: &str,
    allocate: impl Fn(&mut Vec<Block>, usize),
    free: impl Fn(&mut Vec<Block>),
) {
    let batches = std::env::args()
        .nth(1)
        .map_or(64, |count| count.parse().expect("a number of batches"));
    let mut live: Vec<Block> = (0..LIVE).map(|index| Block::new(size(index))).collect();
    let mut held = Vec::with_capacity(BATCH);
    let (mut allocations, mut frees) = (Vec::new(), Vec::new());
    for batch in 0..batches {
        allocations.push(timed(|| allocate(&mut held, batch)));
        // Each new block replaces an older one at another place, which is freed.
        for (index, block) in held.iter_mut().enumerate() {
            let other = (index * 7919 + batch * 104_729) % LIVE;
            std::mem::swap(block, &mut live[other]);
        }
        frees.push(timed(|| free(&mut held)));
    }
    free(&mut live);
    println!("{name}\t{:.2}\t{:.2}", median(allocations), median(frees));
}

/// A block that is freed by [`free`], not by a destructor.
#[derive(Debug)]
pub struct Block(*mut u8, Layout);

impl Block {
    #[allow(
        unsafe_code,
        reason = "allocates directly, without a container around it"
    )]
    fn new(bytes: usize) -> Block {
        let layout = Layout::from_size_align(bytes, 8).expect("a small layout");
        // SAFETY: the size is not zero.
        let block = unsafe { alloc(layout) };
        assert!(!block.is_null());
        Block(block, layout)
    }
}

fn size(index: usize) -> usize {
    16 << (index % 7)
}

/// Allocates a batch.
#[inline(never)]
pub fn allocate(held: &mut Vec<Block>, batch: usize) {
    for index in 0..BATCH {
        held.push(Block::new(size(index + batch)));
    }
}

/// Frees a batch.
#[inline(never)]
pub fn free(held: &mut Vec<Block>) {
    for Block(block, layout) in held.drain(..) {
        // SAFETY: allocated by `Block::new` with this layout, and freed once.
        #[allow(unsafe_code, reason = "as above")]
        unsafe {
            dealloc(black_box(block), layout);
        }
    }
}

/// Nanoseconds per block of a batch.
fn timed(batch: impl FnOnce()) -> f64 {
    let start = Instant::now();
    batch();
    start.elapsed().as_nanos() as f64 / BATCH as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

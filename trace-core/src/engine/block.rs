//! The memory of a chunk: words on the heap, or in a region that trace-runtime maps.
//!
//! Uses `unsafe`; ARCHITECTURE.md lists the other files that do.

#[cfg(loom)]
use loom::sync::atomic::AtomicU64;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::atomic::AtomicU64;

use super::chunk::MAX_ROWS;

/// Words before the rows of a block: see [`header`](self::header).
pub const HEADER_WORDS: usize = 8;

/// The words of a block's header.
pub mod header {
    /// The number of the chunk that is in the block, from 1; 0 while the block is free.
    pub const SEQUENCE: usize = 0;
    /// Rows, or words of tables, that are published.
    pub const LEN: usize = 1;
    /// The number of the thread's log; [`TABLES`](super::TABLES) for a block of tables.
    pub const OWNER: usize = 2;
    /// Words of extras that are published, after the rows.
    pub const EXTRA_WORDS: usize = 3;
}

/// The owner of a block that has tables instead of rows.
pub const TABLES: u64 = u64::MAX;

/// Memory that is divided into blocks. `words` must return the same words at every call.
pub trait Region: fmt::Debug + Send + Sync {
    fn words(&self) -> &[AtomicU64];
}

/// A header, rows and, in a region, words for extras.
pub struct Block {
    header: NonNull<[AtomicU64; HEADER_WORDS]>,
    rows: NonNull<[[AtomicU64; 3]]>,
    rest: NonNull<[AtomicU64]>,
    owner: Owner,
}

#[allow(dead_code, reason = "held for as long as the pointers are used")]
enum Owner {
    Heap(HeapWords),
    Region(Arc<dyn Region>),
}

impl Block {
    /// A block on the heap. Its memory may be reused, so the rows can have old values; those are never read.
    pub(crate) fn on_heap(rows: usize) -> Block {
        let rows = rows.min(MAX_ROWS);
        let words = HeapWords::new(HEADER_WORDS + 3 * rows);
        #[allow(unsafe_code)]
        // SAFETY: `HeapWords` frees the words when it is dropped, and it is moved into the block.
        let (header, rows, rest) = parts(unsafe { words.words.as_ref() }, rows);
        Block {
            header,
            rows,
            rest,
            owner: Owner::Heap(words),
        }
    }

    /// A block with `rows` rows, at these words of a region. `None` if there are too few words.
    pub fn in_region(
        region: &Arc<dyn Region>,
        words: std::ops::Range<usize>,
        rows: usize,
    ) -> Option<Block> {
        if words.len() < HEADER_WORDS + 3 * rows || rows > MAX_ROWS {
            return None;
        }
        let (header, rows, rest) = parts(region.words().get(words)?, rows);
        Some(Block {
            header,
            rows,
            rest,
            owner: Owner::Region(region.clone()),
        })
    }

    #[inline]
    #[allow(unsafe_code)]
    pub fn header(&self) -> &[AtomicU64; HEADER_WORDS] {
        // SAFETY: the three pointers were made from references to words of `owner`. Words of a region cannot move or be
        // freed while the block has its `Arc`, because that takes a `&mut` of the region. Words on the heap are freed
        // when the block is dropped, and the result does not outlive the block. All words are atomic and are never
        // accessed in another way, so only shared references to them exist.
        unsafe { self.header.as_ref() }
    }

    #[inline]
    #[allow(unsafe_code)]
    pub fn rows(&self) -> &[[AtomicU64; 3]] {
        // SAFETY: as in `header`.
        unsafe { self.rows.as_ref() }
    }

    /// The words after the rows.
    #[allow(unsafe_code)]
    pub fn rest(&self) -> &[AtomicU64] {
        // SAFETY: as in `header`.
        unsafe { self.rest.as_ref() }
    }

    pub(crate) fn is_in_region(&self) -> bool {
        matches!(self.owner, Owner::Region(_))
    }
}

type Parts = (
    NonNull<[AtomicU64; HEADER_WORDS]>,
    NonNull<[[AtomicU64; 3]]>,
    NonNull<[AtomicU64]>,
);

/// Splits at least `HEADER_WORDS + 3 * rows` words.
fn parts(words: &[AtomicU64], rows: usize) -> Parts {
    let (header, after) = words
        .split_first_chunk::<HEADER_WORDS>()
        .expect("a block has a header");
    let (of_rows, rest) = after.split_at(3 * rows);
    (
        NonNull::from(header),
        NonNull::from(of_rows.as_chunks::<3>().0),
        NonNull::from(rest),
    )
}

// SAFETY: a block owns its words or a share of a region that is `Send` and `Sync`, and returns only shared references
// to atomics.
#[allow(unsafe_code)]
unsafe impl Send for Block {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Block {}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("rows", &self.rows().len())
            .field("is_in_region", &self.is_in_region())
            .finish_non_exhaustive()
    }
}

/// Words on the heap that were zero when they were allocated, or those of an earlier block of the largest size.
struct HeapWords {
    words: NonNull<[AtomicU64]>,
    /// From [`Pages`].
    is_mapped: bool,
}

#[cfg(all(unix, not(loom), not(miri)))]
const MOST_WORDS: usize = HEADER_WORDS + 3 * MAX_ROWS;

/// Memory of the largest blocks, which hold all but the first rows of a thread.
#[cfg(all(unix, not(loom), not(miri)))]
type Largest = super::pages::Pages<{ MOST_WORDS * size_of::<u64>() }>;

/// Bytes of blocks that are in use and that no allocator counts.
pub fn mapped_bytes() -> usize {
    #[cfg(all(unix, not(loom), not(miri)))]
    return Largest::in_use();
    #[cfg(not(all(unix, not(loom), not(miri))))]
    0
}

/// Requests memory for the first largest block, so that no op waits for it.
pub(crate) fn prepare() {
    #[cfg(all(unix, not(loom), not(miri)))]
    Largest::prepare();
}

/// While this exists, no other thread has the lock of the blocks' memory. A process that is forked meanwhile can use it.
pub(crate) struct HeldMemory {
    #[cfg(all(unix, not(loom), not(miri)))]
    _pages: super::pages::Held,
}

pub(crate) fn hold_memory() -> HeldMemory {
    HeldMemory {
        #[cfg(all(unix, not(loom), not(miri)))]
        _pages: super::pages::hold(),
    }
}

impl HeapWords {
    fn new(len: usize) -> HeapWords {
        #[cfg(all(unix, not(loom), not(miri)))]
        if len == MOST_WORDS
            && let Some(block) = Largest::take()
        {
            return HeapWords {
                words: NonNull::slice_from_raw_parts(block.cast(), len),
                is_mapped: true,
            };
        }
        HeapWords {
            words: NonNull::from(Box::leak(zeroed(len))),
            is_mapped: false,
        }
    }
}

#[cfg(not(loom))]
#[allow(unsafe_code)]
fn zeroed(len: usize) -> Box<[AtomicU64]> {
    let zeros = Box::into_raw(vec![0u64; len].into_boxed_slice());
    // SAFETY: `AtomicU64` has the size, the alignment and the bit validity of `u64`, so the slice has the layout that
    // it was allocated with.
    unsafe { Box::from_raw(zeros as *mut [AtomicU64]) }
}

#[cfg(loom)]
fn zeroed(len: usize) -> Box<[AtomicU64]> {
    (0..len).map(|_| AtomicU64::new(0)).collect()
}

impl Drop for HeapWords {
    fn drop(&mut self) {
        if self.is_mapped {
            #[cfg(all(unix, not(loom), not(miri)))]
            Largest::give_back(self.words.cast());
            return;
        }
        #[allow(unsafe_code)]
        // SAFETY: the words came from a box, and this is their only owner.
        drop(unsafe { Box::from_raw(self.words.as_ptr()) });
    }
}

// SAFETY: it owns its words, and they are atomics.
#[allow(unsafe_code)]
unsafe impl Send for HeapWords {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_block_needs_all_its_words() {
        #[derive(Debug)]
        struct Words(Vec<AtomicU64>);
        impl Region for Words {
            fn words(&self) -> &[AtomicU64] {
                &self.0
            }
        }
        let words = (0..40).map(AtomicU64::new).collect();
        let region: Arc<dyn Region> = Arc::new(Words(words));
        let block = Block::in_region(&region, 2..40, 9).expect("fits");
        let value = |word: &AtomicU64| word.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(value(&block.header()[0]), 2);
        assert_eq!(value(&block.rows()[1][0]), 13);
        assert_eq!((block.rows().len(), block.rest().len()), (9, 3));
        assert!(Block::in_region(&region, 2..36, 9).is_none());
        assert!(Block::in_region(&region, 10..50, 9).is_none());
    }
}

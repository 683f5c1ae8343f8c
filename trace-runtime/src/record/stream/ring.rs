//! The ring of blocks that threads record into.

use super::mapping::Mapping;
use super::table_stream::TableStream;
use crate::model::optrace::header::{FileHeader, HEADER_BYTES, live};
use crate::model::optrace::ring_block::{
    BLOCK_BYTES, BLOCK_ROWS, BLOCK_WORDS, SLOT_BYTES, SLOT_ROWS,
};
use crate::model::optrace::tables;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use trace_core::__engine::block::{Block, Region, header};
use trace_core::__engine::chunk::{BlockCopy, Chunk, copy_block};
use trace_core::__engine::storage::{Storage, TableEntry};

/// What happens when all blocks have rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenFull {
    /// Ops are dropped until the tail has been written.
    Drop,
    /// The oldest rows are replaced.
    ReplaceOldest,
}

/// Blocks of a mapping: free, being written by a thread, or sealed. A thread takes a block only when its last one is
/// full; the lock is held for a few instructions.
#[derive(Debug)]
pub(super) struct Ring {
    mapping: Arc<Mapping>,
    region: Arc<dyn Region>,
    file_header: FileHeader,
    when_full: WhenFull,
    places: Mutex<BlockLists>,
    /// A copy of the number of free blocks that can be read without the lock.
    free: AtomicUsize,
    next_sequence: AtomicU64,
    tables: Mutex<TableStream>,
    /// The thread that writes the tail.
    writer: OnceLock<Thread>,
    /// True once the session is over: nothing more is recorded.
    is_closed: AtomicBool,
}

#[derive(Debug)]
struct BlockLists {
    /// The block on top was freed last, so its pages are probably in the cache.
    free: Vec<u32>,
    /// In the order in which they were sealed.
    sealed: VecDeque<u32>,
    /// Unused slots; a thread writes its open ops to a slot.
    free_slots: Vec<u32>,
}

/// Number of blocks that are reserved for tables, so that new tables find room.
const FOR_TABLES: usize = 2;

impl Ring {
    /// A ring in a mapping of the size that the header describes. Writes the header to it.
    pub(super) fn new(
        mapping: Mapping,
        file_header: FileHeader,
        when_full: WhenFull,
        tables: TableStream,
    ) -> Ring {
        let mapping = Arc::new(mapping);
        let words = file_header.words(
            crate::model::optrace::header::RECORDING,
            file_header.tail_at(),
        );
        for (word, value) in mapping.words().iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        let blocks = file_header.blocks as u32;
        Ring {
            region: mapping.clone(),
            mapping,
            file_header,
            when_full,
            places: Mutex::new(BlockLists {
                free: (0..blocks).rev().collect(),
                sealed: VecDeque::new(),
                free_slots: (0..file_header.slots as u32).rev().collect(),
            }),
            free: AtomicUsize::new(blocks as usize),
            next_sequence: AtomicU64::new(1),
            tables: Mutex::new(tables),
            writer: OnceLock::new(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Bytes of a mapping for a ring of `bytes` bytes and its header.
    pub(super) fn layout(ring_bytes: usize, file_header: FileHeader) -> (usize, FileHeader) {
        let blocks = ring_bytes.div_ceil(BLOCK_BYTES).max(4 * FOR_TABLES) as u64;
        let file_header = FileHeader {
            blocks,
            ..file_header
        };
        (file_header.tail_at() as usize, file_header)
    }

    pub(super) fn file_header(&self) -> FileHeader {
        self.file_header
    }

    pub(super) fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// Blocks that are not free.
    pub(super) fn used(&self) -> u32 {
        self.blocks()
            .saturating_sub(self.free.load(Ordering::Relaxed) as u32)
    }

    pub(super) fn blocks(&self) -> u32 {
        self.file_header.blocks as u32
    }

    /// Lets the system fill in the pages of some blocks.
    pub(super) fn populate(&self, blocks: std::ops::Range<u32>) {
        let from = HEADER_BYTES + self.slots_bytes() + blocks.start as usize * BLOCK_BYTES;
        self.mapping.populate(from, blocks.len() * BLOCK_BYTES);
    }

    fn slots_bytes(&self) -> usize {
        (self.file_header.slots * self.file_header.slot_bytes) as usize
    }

    /// Sets the thread that writes sealed blocks. It is woken when a quarter of the blocks are sealed.
    pub(super) fn set_writer(&self, thread: Thread) {
        let _ = self.writer.set(thread);
    }

    /// A word of the file's header that changes.
    pub(super) fn live(&self, word: usize) -> &AtomicU64 {
        &self.mapping.words()[word]
    }

    /// The words of a file's header from [`live::NOW`] on, as they are now.
    pub(super) fn copy_counts(&self, words: &mut [u64; live::WORDS]) {
        let from = &self.mapping.words()[live::NOW..live::WORDS];
        for (word, live) in words[live::NOW..].iter_mut().zip(from) {
            *word = live.load(Ordering::Relaxed);
        }
    }

    /// Stops recording into the ring.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    pub(super) fn block(&self, place: u32) -> Option<Block> {
        let first = self.file_header.ring_at() as usize / 8 + place as usize * BLOCK_WORDS;
        Block::in_region(&self.region, first..first + BLOCK_WORDS, BLOCK_ROWS)
    }

    pub(super) fn sequence(&self) -> u64 {
        self.next_sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes all sealed blocks, in the order in which they were sealed.
    pub(super) fn take_sealed(&self) -> Vec<u32> {
        self.lock().sealed.drain(..).collect()
    }

    /// Returns sealed blocks that could not be written.
    pub(super) fn return_sealed(&self, places: &[u32]) {
        let mut state = self.lock();
        for &place in places.iter().rev() {
            state.sealed.push_front(place);
        }
    }

    pub(super) fn free(&self, places: &[u32]) {
        let mut state = self.lock();
        for &place in places {
            if let Some(block) = self.block(place) {
                // Without this, a reader of the file would assume that the rows belong to a chunk that is not in the
                // tail.
                block.header()[header::SEQUENCE].store(0, Ordering::Release);
            }
            state.free.push(place);
        }
        self.free.store(state.free.len(), Ordering::Relaxed);
    }

    /// A free block for tables. It may be one of the blocks that are reserved for tables.
    pub(super) fn take_for_tables(&self) -> Option<u32> {
        self.take(0)
    }

    fn take(&self, leave: usize) -> Option<u32> {
        if self.free.load(Ordering::Relaxed) <= leave {
            return None;
        }
        let mut state = self.lock();
        if state.free.len() <= leave {
            return None;
        }
        let place = state.free.pop();
        self.free.store(state.free.len(), Ordering::Relaxed);
        place
    }

    /// The block whose rows are the oldest.
    fn take_oldest(&self) -> Option<u32> {
        let place = self.lock().sealed.pop_front()?;
        let rows = self.block(place)?.header()[header::LEN].load(Ordering::Relaxed);
        self.live(live::REPLACED).fetch_add(rows, Ordering::Relaxed);
        Some(place)
    }

    /// Copies of all chunks that are in the ring, sealed or not, in the order in which they began.
    pub(super) fn chunks(&self) -> Vec<BlockCopy> {
        let mut copies: Vec<BlockCopy> = (0..self.blocks())
            .filter_map(|place| copy_block(&self.block(place)?))
            .filter(|copy| !copy.rows.is_empty())
            .collect();
        copies.sort_by_key(|copy| copy.sequence);
        copies
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, TableStream> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the words of a table entry; false if there is no room.
    pub(super) fn publish_words(&self, words: &[u64]) -> bool {
        !self.is_closed() && self.tables().push(words, self)
    }

    fn slot(&self, place: u32) -> Option<Block> {
        let first = (HEADER_BYTES + place as usize * SLOT_BYTES) / 8;
        Block::in_region(&self.region, first..first + SLOT_BYTES / 8, SLOT_ROWS)
    }

    fn lock(&self) -> MutexGuard<'_, BlockLists> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for Ring {
    fn chunk(&self, log: u32) -> Option<Chunk> {
        if self.is_closed() {
            return None;
        }
        let place = match (self.take(FOR_TABLES), self.when_full) {
            (Some(place), _) => place,
            (None, WhenFull::ReplaceOldest) => self.take_oldest()?,
            (None, WhenFull::Drop) => return None,
        };
        let block = self.block(place)?;
        Some(Chunk::begin(block, place, self.sequence(), u64::from(log)))
    }

    fn seal(&self, chunk: &Chunk) {
        if self.is_closed() {
            return;
        }
        if chunk.len() == 0 {
            return self.free(&[chunk.place()]);
        }
        let mut state = self.lock();
        state.sealed.push_back(chunk.place());
        let waiting = state.sealed.len();
        drop(state);
        // Only at this number, not above it: the writer takes all sealed blocks, so waking it once is enough.
        if waiting == self.blocks() as usize / 4
            && let Some(writer) = self.writer.get()
        {
            writer.unpark();
        }
    }

    fn publish(&self, entry: TableEntry<'_>) -> bool {
        self.publish_words(&tables::encode(entry))
    }

    fn open_ops(&self, log: u32) -> Option<(Block, u32)> {
        if self.is_closed() {
            return None;
        }
        let place = self.lock().free_slots.pop()?;
        let slot = self.slot(place)?;
        slot.header()[header::LEN].store(0, Ordering::Relaxed);
        slot.header()[header::OWNER].store(u64::from(log), Ordering::Relaxed);
        slot.header()[header::SEQUENCE].store(1, Ordering::Release);
        Some((slot, place))
    }

    fn close_open_ops(&self, place: u32) {
        if let Some(slot) = self.slot(place).filter(|_| !self.is_closed()) {
            slot.header()[header::SEQUENCE].store(0, Ordering::Release);
            self.lock().free_slots.push(place);
        }
    }

    fn count_dropped(&self) {
        self.live(live::DROPPED).fetch_add(1, Ordering::Relaxed);
    }
}

//! The chunk that a thread appends to.
//!
//! Uses `unsafe`, because the place of the next row is one pointer: with the chunk, its block and the index of the row
//! checked each time, appending takes twice as many instructions.

use super::block::header;
use super::chunk::{Chunk, PackedRow};
use super::storage::Storage;
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// The chunk that a thread appends to, which goes back to its storage when it is full or the thread is done.
#[derive(Debug)]
pub(crate) struct Current {
    /// The place of the next row. Equal to `end` if there is no room for one, or no chunk.
    next: Cell<*const [AtomicU64; 3]>,
    end: *const [AtomicU64; 3],
    /// The number of rows that are published. Valid if there is a chunk.
    published: *const AtomicU64,
    chunk: Option<Arc<Chunk>>,
    storage: Option<Arc<dyn Storage>>,
}

impl Current {
    /// No chunk: the first op requests one.
    pub(crate) const fn none() -> Current {
        Current {
            next: Cell::new(ptr::null()),
            end: ptr::null(),
            published: ptr::null(),
            chunk: None,
            storage: None,
        }
    }

    /// The same, of a session with this storage.
    pub(crate) fn of(storage: Option<Arc<dyn Storage>>) -> Current {
        let mut current = Current::none();
        current.storage = storage;
        current
    }

    /// Appends a row; false if there is no room for it.
    #[inline]
    #[allow(unsafe_code, reason = "see below")]
    pub(crate) fn push(&self, [start, facts, steps]: PackedRow) -> bool {
        let next = self.next.get();
        if next == self.end {
            return false;
        }
        // SAFETY: `next` is from the first row of the chunk's block up to `end`, the end of its rows, and it is not `end`.
        // `published` is a word of the block's header. The block's words neither move nor are they freed while it exists,
        // and `chunk` keeps it. They are atomic, so other threads may read them.
        let (slot, published) = unsafe { (&*next, &*self.published) };
        slot[0].store(start, Ordering::Relaxed);
        slot[1].store(facts, Ordering::Relaxed);
        slot[2].store(steps, Ordering::Relaxed);
        // Only this thread changes it.
        let len = published.load(Ordering::Relaxed);
        published.store(len + 1, Ordering::Release);
        self.next.set(next.wrapping_add(1));
        true
    }

    pub(crate) fn is_full(&self) -> bool {
        self.next.get() == self.end
    }

    /// Continues in an empty chunk, or in none. Returns the one before.
    pub(crate) fn replace(&mut self, chunk: Option<Arc<Chunk>>) -> Option<Arc<Chunk>> {
        let full = std::mem::replace(&mut self.chunk, chunk);
        let (rows, published) = match &self.chunk {
            Some(chunk) => {
                let block = chunk.block();
                let published = &raw const block.header()[header::LEN];
                (block.rows().as_ptr_range(), published)
            }
            None => (ptr::null()..ptr::null(), ptr::null()),
        };
        self.next.set(rows.start);
        (self.end, self.published) = (rows.end, published);
        full
    }

    pub(crate) fn has_storage(&self) -> bool {
        self.storage.is_some()
    }

    /// The most words of extras that the chunk can hold.
    pub(crate) fn extra_capacity(&self) -> usize {
        self.chunk
            .as_ref()
            .map_or(0, |chunk| chunk.extra_capacity())
    }

    /// Appends the words of an extra, before its row; false if there is no room for them.
    pub(crate) fn push_extra(&self, words: &[u64]) -> bool {
        self.chunk
            .as_ref()
            .is_some_and(|chunk| chunk.push_extra(words))
    }

    /// Continues in a chunk of the storage; false if it has no room now.
    pub(crate) fn renew(&mut self, log: u32) -> bool {
        self.seal();
        let chunk = self.storage.as_ref().and_then(|storage| storage.chunk(log));
        let has_room = chunk.is_some();
        self.replace(chunk.map(Arc::new));
        has_room
    }

    /// Returns the chunk to the storage; its block may belong to another thread afterwards.
    fn seal(&mut self) {
        if let Some(chunk) = self.replace(None)
            && let Some(storage) = &self.storage
        {
            storage.seal(&chunk);
        }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.seal();
    }
}

// SAFETY: the pointers are to words of its chunk, which are atomics.
#[allow(unsafe_code, reason = "see above")]
unsafe impl Send for Current {}

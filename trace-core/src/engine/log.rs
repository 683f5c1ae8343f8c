//! The log of one thread in one session, which the session can read while the thread writes.

use super::chunk::Chunk;
use super::failures::Failures;
use super::filter::Filter;
use super::rows::{RawExtra, Thread, ThreadRows};
use super::signatures::Signatures;
use super::storage::{Storage, TableEntry};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The data that the threads of one session share.
#[derive(Debug)]
pub struct Shared {
    pub signatures: Signatures,
    pub failures: Failures,
    logs: Mutex<Vec<Arc<ThreadLog>>>,
    next_uid: AtomicU32,
    /// Async ops that have begun and not ended.
    pub open_tasks: AtomicU64,
    pub(crate) room: Room,
    limit: usize,
    pub rank: Option<u32>,
    /// Records one in `sample` executions of each op.
    pub sample: u32,
    pub(crate) filter: Filter,
    /// Device memory that libraries reported.
    pub memory: super::memory::ReportedMemory,
    /// The storage of rows and tables, if they are not on the heap.
    pub(crate) storage: Option<Arc<dyn Storage>>,
    /// Allocations are charged to the ops of this session.
    #[cfg(feature = "alloc")]
    pub records_heap: std::sync::atomic::AtomicBool,
}

impl Shared {
    pub fn new(limit: usize, rank: Option<u32>, sample: u32) -> Shared {
        Shared {
            signatures: Signatures::default(),
            failures: Failures::default(),
            logs: Mutex::new(Vec::new()),
            next_uid: AtomicU32::new(0),
            open_tasks: AtomicU64::new(0),
            room: Room(AtomicUsize::new(limit)),
            limit,
            rank,
            sample,
            filter: Filter::new(),
            memory: super::memory::ReportedMemory::default(),
            storage: None,
            #[cfg(feature = "alloc")]
            records_heap: std::sync::atomic::AtomicBool::new(false),
        }
    }

    pub fn with_filter(mut self, filter: Filter) -> Shared {
        self.filter = filter;
        self
    }

    /// Keeps rows and tables in this storage instead of on the heap.
    pub fn with_storage(mut self, storage: Arc<dyn Storage>) -> Shared {
        self.signatures = Signatures::in_storage(storage.clone());
        self.storage = Some(storage);
        self
    }

    /// The same settings, with nothing recorded yet and on the heap.
    pub fn fresh(&self) -> Shared {
        Shared::new(self.limit, self.rank, self.sample).with_filter(self.filter.clone())
    }

    /// A log for one more thread.
    pub fn add_log(&self, thread: Option<u64>, name: Option<String>) -> Arc<ThreadLog> {
        // A thread needs its log even if the limit is reached, to count the ops that it drops.
        let text = name.as_ref().map_or(0, String::len);
        self.room.take_what_is_left_of(LOG_BYTES + text);
        let log = Arc::new(ThreadLog {
            uid: self.next_uid.fetch_add(1, Ordering::Relaxed),
            thread: Thread {
                id: thread,
                rank: self.rank,
                name,
            },
            chunks: Mutex::new(Vec::new()),
            extras: Mutex::new(Vec::new()),
            dropped: AtomicU64::new(0),
            sampled_out: AtomicU64::new(0),
            filtered_out: AtomicU64::new(0),
        });
        if let Some(storage) = &self.storage {
            // If this fails, the rows can still be read, but their thread has no name.
            storage.publish(TableEntry::Thread {
                log: log.uid,
                thread: &log.thread,
            });
        }
        self.logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(log.clone());
        log
    }

    pub fn logs(&self) -> Vec<Arc<ThreadLog>> {
        self.logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Moves the logs out of the session.
    pub fn take_logs(&self) -> Vec<Arc<ThreadLog>> {
        std::mem::take(&mut *self.logs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Bytes that a session may still allocate: for rows, signatures, names and extras.
#[derive(Debug)]
pub struct Room(AtomicUsize);

impl Room {
    /// Takes `bytes`, or returns false if fewer are left.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| {
                room.checked_sub(bytes)
            })
            .is_ok()
    }

    /// Takes `bytes`, or all that are left.
    fn take_what_is_left_of(&self, bytes: usize) {
        let take = |room: usize| Some(room.saturating_sub(bytes));
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
    }
}

/// Bytes of a thread's log without its rows. The list of logs may be half empty.
const LOG_BYTES: usize = size_of::<ThreadLog>() + 64;

/// The rows and extras of one thread, and the counts of ops that have none.
#[derive(Debug)]
pub struct ThreadLog {
    pub uid: u32,
    thread: Thread,
    chunks: Mutex<Vec<Arc<Chunk>>>,
    extras: Mutex<Vec<RawExtra>>,
    pub dropped: AtomicU64,
    pub sampled_out: AtomicU64,
    /// Executions that were shorter than the filter's minimum.
    pub filtered_out: AtomicU64,
}

impl ThreadLog {
    pub fn add_chunk(&self, chunk: Arc<Chunk>) {
        self.lock_chunks().push(chunk);
    }

    pub fn add_extra(&self, extra: RawExtra) {
        self.lock_extras().push(extra);
    }

    /// Moves out everything published so far: the log is empty afterwards.
    pub fn take(&self) -> ThreadRows {
        let chunks = std::mem::take(&mut *self.lock_chunks());
        let chunks = chunks
            .into_iter()
            .map(|chunk| (chunk.len(), chunk))
            .collect::<Vec<_>>();
        let extras = std::mem::take(&mut *self.lock_extras());
        self.rows(
            chunks
                .into_iter()
                .map(|(len, chunk)| (chunk, len))
                .collect(),
            extras,
        )
    }

    /// A copy of everything published so far.
    pub fn copy(&self) -> ThreadRows {
        self.since(0)
    }

    /// A copy of the rows after the first `covered`.
    pub fn since(&self, covered: usize) -> ThreadRows {
        let mut skip = covered;
        let mut copies = Vec::new();
        // The lock is held only while the list is copied, so the thread does not wait for the copy of the rows.
        let chunks = self.lock_chunks().clone();
        for chunk in chunks {
            let len = chunk.len();
            if skip < len {
                copies.push((Arc::new(chunk.copy(skip..len)), len - skip));
            }
            skip = skip.saturating_sub(len);
        }
        let extras = self.lock_extras().clone();
        self.rows(copies, extras)
    }

    fn rows(&self, chunks: Vec<(Arc<Chunk>, usize)>, extras: Vec<RawExtra>) -> ThreadRows {
        ThreadRows {
            thread: self.thread.clone(),
            uid: self.uid,
            chunks,
            extras,
        }
    }

    fn lock_chunks(&self) -> MutexGuard<'_, Vec<Arc<Chunk>>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_extras(&self) -> MutexGuard<'_, Vec<RawExtra>> {
        self.extras.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

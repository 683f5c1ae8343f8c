//! What one thread has recorded for one session, where the session can reach it.

use super::chunk::Chunk;
use super::rows::{RawExtra, Thread, ThreadRows};
use super::signatures::Signatures;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the threads of one session share.
#[derive(Debug)]
pub struct Shared {
    pub signatures: Signatures,
    logs: Mutex<Vec<Arc<ThreadLog>>>,
    next_uid: AtomicU32,
    /// Bytes that may still be allocated for rows.
    room: AtomicUsize,
    limit: usize,
    pub rank: Option<u32>,
    /// Records one execution in so many of each op.
    pub sample: u32,
}

impl Shared {
    pub fn new(limit: usize, rank: Option<u32>, sample: u32) -> Shared {
        Shared {
            signatures: Signatures::default(),
            logs: Mutex::new(Vec::new()),
            next_uid: AtomicU32::new(0),
            room: AtomicUsize::new(limit),
            limit,
            rank,
            sample,
        }
    }

    /// The same settings, with nothing recorded yet.
    pub fn fresh(&self) -> Shared {
        Shared::new(self.limit, self.rank, self.sample)
    }

    /// A log for one more thread.
    pub fn add_log(&self, thread: Option<u64>, name: Option<String>) -> Arc<ThreadLog> {
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
        });
        self.logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(log.clone());
        log
    }

    /// Takes room for a chunk of `rows`, or says that there is none left.
    pub fn take_room(&self, rows: usize) -> bool {
        let bytes = Chunk::bytes(rows);
        self.room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| {
                room.checked_sub(bytes)
            })
            .is_ok()
    }

    pub fn logs(&self) -> Vec<Arc<ThreadLog>> {
        self.logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Leaves the session without logs: what was recorded is the caller's.
    pub fn take_logs(&self) -> Vec<Arc<ThreadLog>> {
        std::mem::take(&mut *self.logs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What one thread has recorded.
#[derive(Debug)]
pub struct ThreadLog {
    pub uid: u32,
    thread: Thread,
    chunks: Mutex<Vec<Arc<Chunk>>>,
    extras: Mutex<Vec<RawExtra>>,
    pub dropped: AtomicU64,
    pub sampled_out: AtomicU64,
}

impl ThreadLog {
    pub fn add_chunk(&self, chunk: Arc<Chunk>) {
        self.lock_chunks().push(chunk);
    }

    pub fn add_extra(&self, extra: RawExtra) {
        self.lock_extras().push(extra);
    }

    /// Everything published so far, handed over: the log is empty afterwards.
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

    /// A copy of the rows past the first so many.
    pub fn since(&self, covered: usize) -> ThreadRows {
        let mut skip = covered;
        let mut copies = Vec::new();
        for chunk in self.lock_chunks().iter() {
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

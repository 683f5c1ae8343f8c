//! The log of changes: when memory was allocated and freed, how much, and in which context.
//!
//! A thread logs a change once its live memory has changed by a threshold since its last entry in the log. The
//! threshold is a share of the session's peak, so the curve has the same precision for small and large programs. It
//! also grows with the number of changes, so that the log stays small.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A change of the live memory of one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Ticks of the session's clock.
    pub at: u64,
    /// The context that the memory is charged to.
    pub context: u16,
    /// Below zero if more was freed than allocated.
    pub bytes: i64,
}

/// The smallest change that is logged, in bytes.
const FINEST: u64 = 4 << 10;
/// The threshold is the session's peak, shifted right by this many bits: 0.2 %.
const SHARE_BITS: u32 = 9;
/// After the first `COARSER_AFTER` changes, the threshold doubles with each further `COARSER_AFTER`.
const COARSER_AFTER: u64 = 1 << 17;

/// The changes of all threads of a session.
#[derive(Debug)]
pub(super) struct Changes {
    log: Mutex<Vec<Change>>,
    live: AtomicI64,
    peak: AtomicI64,
    threshold: AtomicU64,
}

impl Changes {
    pub(super) fn new() -> Changes {
        Changes {
            log: Mutex::new(Vec::new()),
            live: AtomicI64::new(0),
            peak: AtomicI64::new(0),
            threshold: AtomicU64::new(FINEST),
        }
    }

    /// A thread logs its changes when its live memory has changed by this many bytes.
    pub(super) fn threshold(&self) -> u64 {
        self.threshold.load(Ordering::Relaxed)
    }

    pub(super) fn log(&self, changes: impl Iterator<Item = Change>) {
        let mut sum = 0;
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        for change in changes.filter(|change| change.bytes != 0) {
            sum += change.bytes;
            log.push(change);
        }
        let count = log.len() as u64;
        drop(log);
        let live = self.live.fetch_add(sum, Ordering::Relaxed) + sum;
        let peak = self.peak.fetch_max(live, Ordering::Relaxed).max(live);
        let share = peak.unsigned_abs() >> SHARE_BITS;
        let doublings = (count / COARSER_AFTER).min(20);
        let threshold = share.max(FINEST).saturating_mul(1 << doublings);
        self.threshold.store(threshold, Ordering::Relaxed);
    }

    /// Moves the changes out, in the order of their times.
    pub(super) fn take(&self) -> Vec<Change> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = std::mem::take(&mut *log);
        changes.sort_by_key(|change| change.at);
        changes
    }
}

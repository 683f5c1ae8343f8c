//! Memory that the recorder and this module allocate. That is rare, and may happen before a thread has a slot. It is
//! not part of the changes that are logged.

use super::contexts::TRACER;
use super::counters::Counts;
use super::owner::{Owner, tag_of};
use super::{ON, shadow};
use std::sync::atomic::{AtomicU64, Ordering};

static ALLOCATED: AtomicU64 = AtomicU64::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);
static FREES: AtomicU64 = AtomicU64::new(0);

#[cold]
#[inline(never)]
pub(super) fn allocated(address: usize, bytes: u64) {
    let number = ON.load(Ordering::Relaxed);
    if number == 0 {
        return;
    }
    if let Some(word) = shadow::word_for(address) {
        Owner::new(tag_of(number), 0, 0, TRACER).store(word);
        ALLOCATED.fetch_add(bytes, Ordering::Relaxed);
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

#[cold]
#[inline(never)]
pub(super) fn freed(owner: Owner, bytes: u64) {
    let number = ON.load(Ordering::Relaxed);
    if number != 0 && owner.tag() == tag_of(number) {
        FREED.fetch_add(bytes, Ordering::Relaxed);
        FREES.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) fn reset() {
    for counter in [&ALLOCATED, &ALLOCATIONS, &FREED, &FREES] {
        counter.store(0, Ordering::Relaxed);
    }
}

pub(super) fn add_to(counts: &mut Counts) {
    counts.allocated += ALLOCATED.load(Ordering::Relaxed);
    counts.allocations += ALLOCATIONS.load(Ordering::Relaxed);
    counts.freed += FREED.load(Ordering::Relaxed);
    counts.frees += FREES.load(Ordering::Relaxed);
}

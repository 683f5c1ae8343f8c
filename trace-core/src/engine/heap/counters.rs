//! The counters of one thread for each context.

use super::contexts::MAX_CONTEXTS;
use super::sampling::{PARTS, Weight};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Figures of one context, added up over all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Bytes allocated while the op was innermost.
    pub allocated: u64,
    /// The number of allocations in `allocated`. A reallocation is a free and an allocation.
    pub allocations: u64,
    /// The part of `allocated` that was freed before the recording ended, in any op.
    pub freed: u64,
    /// The number of frees in `freed`.
    pub frees: u64,
    /// Executions of the op that have ended and in which memory was allocated or freed.
    pub calls: u64,
    /// Bytes allocated inside the executions in `calls`, also by ops inside them.
    pub inside: u64,
    /// The number of allocations in `inside`.
    pub inside_allocations: u64,
    /// The part of `inside` that was freed before the execution that allocated it ended.
    pub temporary: u64,
    /// The highest live memory inside one execution: bytes allocated since it began, minus those that its thread freed.
    pub peak: u64,
}

impl Counts {
    /// Converts the counts of a sampled recording from [`PARTS`] to blocks.
    pub(super) fn in_blocks(&mut self) {
        for count in [
            &mut self.allocations,
            &mut self.frees,
            &mut self.inside_allocations,
        ] {
            *count = (*count + PARTS / 2) / PARTS;
        }
    }
}

/// Written by one thread, read by any. The counters that change with every block are in the first cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct ContextCounters {
    allocated: AtomicU64,
    allocations: AtomicU64,
    freed: AtomicU64,
    frees: AtomicU64,
    /// 1 if the context is in the list of contexts that changed since the log was last written.
    is_listed: AtomicU64,
    /// Allocated minus freed bytes when the context was last logged.
    logged: AtomicU64,
    calls: AtomicU64,
    inside: AtomicU64,
    inside_allocations: AtomicU64,
    temporary: AtomicU64,
    peak: AtomicU64,
}

/// Only the thread that owns the counters calls it, so a load and a store are enough.
#[inline]
fn add(counter: &AtomicU64, value: u64) {
    let sum = counter.load(Ordering::Relaxed).wrapping_add(value);
    counter.store(sum, Ordering::Relaxed);
}

impl ContextCounters {
    pub(super) const fn new() -> ContextCounters {
        ContextCounters {
            allocated: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            frees: AtomicU64::new(0),
            is_listed: AtomicU64::new(0),
            logged: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            inside: AtomicU64::new(0),
            inside_allocations: AtomicU64::new(0),
            temporary: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(super) fn count_allocation(&self, block: Weight) {
        add(&self.allocated, block.bytes);
        add(&self.allocations, block.blocks);
    }

    #[inline]
    pub(super) fn count_free(&self, block: Weight) {
        add(&self.freed, block.bytes);
        add(&self.frees, block.blocks);
    }

    /// Bytes and blocks allocated so far.
    pub(super) fn allocated(&self) -> (u64, u64) {
        (
            self.allocated.load(Ordering::Relaxed),
            self.allocations.load(Ordering::Relaxed),
        )
    }

    pub(super) fn count_call(&self) {
        add(&self.calls, 1);
    }

    /// Counts the memory that was allocated inside an execution of the op, or inside one poll of it.
    pub(super) fn count_inside(&self, inside: u64, allocations: u64, temporary: u64, peak: u64) {
        add(&self.inside, inside);
        add(&self.inside_allocations, allocations);
        add(&self.temporary, temporary);
        if peak > self.peak.load(Ordering::Relaxed) {
            self.peak.store(peak, Ordering::Relaxed);
        }
    }

    /// True for the first change since [`change_to_log`](Self::change_to_log).
    #[inline]
    pub(super) fn list(&self) -> bool {
        let is_first = self.is_listed.load(Ordering::Relaxed) == 0;
        if is_first {
            self.is_listed.store(1, Ordering::Relaxed);
        }
        is_first
    }

    /// The change of the thread's live memory (allocated minus freed bytes) since the last call.
    pub(super) fn change_to_log(&self) -> i64 {
        self.is_listed.store(0, Ordering::Relaxed);
        let live = self
            .allocated
            .load(Ordering::Relaxed)
            .wrapping_sub(self.freed.load(Ordering::Relaxed));
        let logged = self.logged.load(Ordering::Relaxed);
        self.logged.store(live, Ordering::Relaxed);
        live.wrapping_sub(logged) as i64
    }

    fn add_to(&self, counts: &mut Counts) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        counts.allocated += load(&self.allocated);
        counts.allocations += load(&self.allocations);
        counts.freed += load(&self.freed);
        counts.frees += load(&self.frees);
        counts.calls += load(&self.calls);
        counts.inside += load(&self.inside);
        counts.inside_allocations += load(&self.inside_allocations);
        counts.temporary += load(&self.temporary);
        counts.peak = counts.peak.max(load(&self.peak));
    }

    fn reset(&self) {
        let all = [
            &self.allocated,
            &self.allocations,
            &self.freed,
            &self.frees,
            &self.calls,
            &self.inside,
            &self.inside_allocations,
            &self.temporary,
            &self.peak,
            &self.logged,
            &self.is_listed,
        ];
        for counter in all {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

const SEGMENT: usize = 256;

/// The counters of one thread, by context.
#[derive(Debug)]
pub(super) struct Counters {
    segments: [OnceLock<Box<[ContextCounters]>>; MAX_CONTEXTS / SEGMENT],
}

impl Counters {
    pub(super) fn new() -> Counters {
        Counters {
            segments: [const { OnceLock::new() }; MAX_CONTEXTS / SEGMENT],
        }
    }

    /// `None` if the thread has none for this context yet.
    #[inline]
    pub(super) fn get(&self, context: u16) -> Option<&ContextCounters> {
        let context = usize::from(context);
        let segment = self.segments[context / SEGMENT].get()?;
        segment.get(context % SEGMENT)
    }

    /// Allocates if the thread has no counters for this context yet.
    pub(super) fn add(&self, context: u16) {
        self.segments[usize::from(context) / SEGMENT]
            .get_or_init(|| (0..SEGMENT).map(|_| ContextCounters::new()).collect());
    }

    pub(super) fn add_to(&self, counts: &mut [Counts]) {
        for (segment, counts) in self.segments.iter().zip(counts.chunks_mut(SEGMENT)) {
            for (counters, counts) in segment.get().into_iter().flatten().zip(counts) {
                counters.add_to(counts);
            }
        }
    }

    /// Adds the counters of all contexts to one.
    pub(super) fn add_up(&self, sum: &mut Counts) {
        for counters in self.segments.iter().filter_map(OnceLock::get).flatten() {
            counters.add_to(sum);
        }
    }

    pub(super) fn reset(&self) {
        for counters in self.segments.iter().filter_map(OnceLock::get).flatten() {
            counters.reset();
        }
    }
}

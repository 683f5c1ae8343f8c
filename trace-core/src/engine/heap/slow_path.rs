//! The cases that the short path does not handle: a thread that joins, ops that have begun or ended, other owners,
//! sampled blocks.

use super::contexts::{OUTSIDE, TRACER};
use super::owner::Owner;
use super::sampling::{self, Weight};
use super::session::with_shared_slot;
use super::thread::{Block, ThreadHeap};
use super::{ON, shadow, tracer};
use crate::engine::state::{self, ThisThread};
use std::sync::atomic::Ordering;

impl ThreadHeap {
    /// Updates this module's list of open ops from the thread's recorder. False if the recorder is in use.
    fn look_at_ops(&self) -> bool {
        let _busy = self.busy();
        let mark = state::with_any(|recorder| {
            recorder.enter_heap();
            recorder.mark()
        });
        if let Some(mark) = mark {
            self.mark.set(mark);
        }
        mark.is_some()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn allocated_slowly(&self, address: usize, bytes: u64) {
        if self.is_busy.get() || state::is_recorder_in_use() {
            return tracer::allocated(address, bytes);
        }
        self.join_if_new();
        if self.seen.get() == 0 {
            return;
        }
        let Some(slot) = self.slot.get() else {
            return self.allocated_without_slot(address, Weight::exact(bytes));
        };
        self.look_at_ops();
        let Some(word) = shadow::word_for(address) else {
            slot.unrecorded.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.owner.get().store(word);
        self.count_allocation(Weight::exact(bytes));
    }

    /// Records a block if there is a sample point in it. Memory that the tracer allocates is not recorded.
    #[cold]
    #[inline(never)]
    pub(super) fn sample(&self, address: usize, bytes: u64) {
        if self.is_busy.get() {
            // If the point was in the tracer's memory, the program's next block must not be sampled because of it.
            if self.until_sample.get() < 0 {
                self.draw_gap();
            }
            return;
        }
        if self.seen.get() != ON.load(Ordering::Relaxed) {
            self.join();
            let left = self.until_sample.get().wrapping_sub(bytes as i64);
            self.until_sample.set(left);
        }
        if self.seen.get() == 0 || self.until_sample.get() >= 0 {
            return;
        }
        self.draw_gap();
        let block = Weight::new(bytes, self.sampled_every.get());
        if state::is_recorder_in_use() {
            return;
        }
        let Some(slot) = self.slot.get() else {
            return self.allocated_without_slot(address, block);
        };
        self.look_at_ops();
        let Some(word) = shadow::word_for(address) else {
            slot.unrecorded.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.owner.get().store(word);
        sampling::add_sampled(address);
        self.count_allocation(block);
    }

    /// Records a free that the short path cannot: the block was allocated in another op or on another thread, or ops
    /// have begun or ended since.
    #[inline(never)]
    pub(super) fn freed_slowly(&self, block: Block, bytes: u64) {
        let owner = block.owner;
        if owner.context() == TRACER {
            return tracer::freed(owner, bytes);
        }
        if self.is_busy.get() {
            return;
        }
        self.join_if_new();
        if self.seen.get() == 0 || owner.tag() != self.tag() {
            return;
        }
        let weight = Weight::new(bytes, self.sampled_every.get());
        if self.sampled_every.get() > 0 {
            sampling::remove_sampled(block.address);
        }
        let Some(slot) = self.slot.get() else {
            return self.freed_without_slot(owner, weight);
        };
        if ThisThread::new().local().mark() != Some(self.mark.get()) {
            self.look_at_ops();
        }
        if owner == self.owner.get() {
            return self.count_free_of_innermost(weight);
        }
        let context = owner.context();
        let Some(counters) = self.counters_of(slot, context) else {
            return;
        };
        counters.count_free(weight);
        if owner.slot() == slot.index {
            self.freed_inside(owner.op(), weight.bytes);
        }
        self.list(counters, context);
        self.count_less(weight);
    }

    /// A block that was allocated in an op of this thread is temporary for that op and those around it, if it is open.
    #[inline]
    fn freed_inside(&self, op: u32, bytes: u64) {
        if op >= self.innermost.get().number {
            let temporary = self.temporary.get().wrapping_add(bytes);
            self.temporary.set(temporary);
        } else if op >= self.outermost.get()
            && let Ok(mut outer) = self.outer.try_borrow_mut()
            && let Some(around) = outer.iter_mut().rev().find(|around| around.number <= op)
        {
            around.temporary = around.temporary.wrapping_add(bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn allocated_without_slot(&self, address: usize, block: Weight) {
        if !self.shares_slot.get() {
            return;
        }
        let _busy = self.busy();
        with_shared_slot(|slot| {
            if let Some(word) = shadow::word_for(address) {
                Owner::new(self.tag(), 0, 0, OUTSIDE).store(word);
                if self.sampled_every.get() > 0 {
                    sampling::add_sampled(address);
                }
                if let Some(counters) = slot.counters.get(OUTSIDE) {
                    counters.count_allocation(block);
                }
            }
        });
    }

    #[cold]
    #[inline(never)]
    fn freed_without_slot(&self, owner: Owner, block: Weight) {
        let _busy = self.busy();
        with_shared_slot(|slot| {
            slot.counters.add(owner.context());
            if let Some(counters) = slot.counters.get(owner.context()) {
                counters.count_free(block);
            }
        });
    }
}

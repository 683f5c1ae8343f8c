//! What [`TracedAlloc`](crate::TracedAlloc) calls at each allocation and free.
//!
//! Most calls take a short path: the thread has joined the recording, its recorder is not in use, and no op has begun or
//! ended since the last one. Then the owner of a new block and the counters are known, and all that the path touches is
//! two cache lines of the thread, one of the counters, and the block's word. The short path of a free calls nothing, so
//! that it can end with a tail call of the inner allocator and saves no registers: everything else is in functions that are
//! called instead.

use super::SAMPLED;
use super::owner::Owner;
use super::sampling::{self, Weight};
use super::shadow;
use super::thread::{ThreadHeap, here};
use crate::engine::state::ThisThread;

/// True if the thread takes part in the recording with this value of [`ON`](super::ON) and records every block.
#[inline]
pub(crate) fn is_ready(on: u32) -> bool {
    here(&ThisThread::new()).ready.get() == on
}

/// Records a new block of a thread that [is ready](is_ready).
#[allow(clippy::inline_always, reason = "into the one function that allocates")]
#[inline(always)]
pub(crate) fn allocated(address: usize, bytes: usize) {
    let thread = ThisThread::new();
    let heap = here(&thread);
    if heap.has_same_ops(&thread)
        && let Some(word) = shadow::usual_word(address)
    {
        heap.owner.get().store(word);
        heap.count_allocation(Weight::exact(bytes as u64));
    } else {
        heap.allocated_slowly(address, bytes as u64);
    }
}

/// Records a new block of any thread.
pub(crate) fn allocated_unusually(on: u32, address: usize, bytes: usize) {
    let thread = ThisThread::new();
    let heap = here(&thread);
    if on & SAMPLED == 0 {
        heap.allocated_slowly(address, bytes as u64);
    } else {
        heap.sample(address, bytes as u64);
    }
}

/// True if a block that is about to be allocated has no sample point in it, so it is not recorded.
#[inline]
pub(crate) fn passes_by(on: u32, bytes: usize) -> bool {
    on & SAMPLED != 0 && here(&ThisThread::new()).passes_by(on, bytes as u64)
}

/// True if a block was certainly not recorded, because it has not been sampled.
#[inline]
pub(crate) fn was_passed_by(on: u32, address: usize) -> bool {
    on & SAMPLED != 0 && !sampling::may_be_sampled(address)
}

/// What is left to do for a block that is being freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Free {
    /// Nothing: it is counted, or was not recorded.
    Done,
    /// It is counted, and the changes have to be logged.
    ToLog,
    /// Everything.
    ToRecord,
}

/// Records that a block is about to be freed: afterwards its address may belong to another block. The caller then calls
/// [`finish_free`] unless all is done.
#[allow(clippy::inline_always, reason = "into the one function that frees")]
#[inline(always)]
pub(crate) fn free(on: u32, address: usize, bytes: usize) -> Free {
    let thread = ThisThread::new();
    let heap = here(&thread);
    if heap.ready.get() != on {
        return if was_passed_by(on, address) {
            Free::Done
        } else {
            Free::ToRecord
        };
    }
    let Some(word) = shadow::usual_word(address) else {
        return Free::ToRecord;
    };
    let owner = Owner::load(word);
    if owner == Owner::NONE {
        return Free::Done;
    }
    if !heap.has_same_ops(&thread) {
        return Free::ToRecord;
    }
    let block = Weight::exact(bytes as u64);
    if owner == heap.owner.get() {
        heap.count_free_of_innermost(block);
    } else {
        let Some(counters) = heap.freed_contexts.get(owner) else {
            return Free::ToRecord;
        };
        if heap.is_of_open_op(owner) {
            if owner.op() < heap.owner.get().op() {
                return Free::ToRecord;
            }
            heap.count_temporary(block);
        }
        counters.count_free(block);
    }
    Owner::NONE.store(word);
    if heap.count_less(block) {
        Free::ToLog
    } else {
        Free::Done
    }
}

/// Does what [`free`] has left to do.
pub(crate) fn finish_free(left: Free, address: usize, bytes: usize) {
    match left {
        Free::Done => {}
        Free::ToLog => here(&ThisThread::new()).log_changes_now(),
        Free::ToRecord => {
            if let Some(block) = take(address) {
                freed(block, bytes);
            }
        }
    }
}

/// A block that was recorded as allocated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(super) owner: Owner,
    pub(super) address: usize,
}

/// Removes the record of a block before it is freed or moved: afterwards its address may belong to another block.
/// `None` if it was not recorded.
pub(crate) fn take(address: usize) -> Option<Block> {
    let owner = Owner::take(shadow::word_of(address)?)?;
    Some(Block { owner, address })
}

/// Undoes [`take`]: the block was not moved.
pub(crate) fn restore(block: Block) {
    if let Some(word) = shadow::word_of(block.address) {
        block.owner.store(word);
    }
}

/// Records the free of a block that was taken.
pub(crate) fn freed(block: Block, bytes: usize) {
    here(&ThisThread::new()).freed_slowly(block, bytes as u64);
}

impl ThreadHeap {
    /// True if no op has begun or ended since the thread's ops were last read, and its recorder is not in use.
    #[inline]
    fn has_same_ops(&self, thread: &ThisThread) -> bool {
        thread.local().mark() == Some(self.mark.get())
    }

    /// True if the owner is an op of this thread that is open, or one inside it.
    #[inline]
    fn is_of_open_op(&self, owner: Owner) -> bool {
        owner.op() >= self.outermost.get() && owner.slot() == self.owner.get().slot()
    }

    /// Counts a block towards the next sample point. False if the point is in the block, or the thread has not joined
    /// yet.
    #[inline]
    fn passes_by(&self, on: u32, bytes: u64) -> bool {
        let left = self.until_sample.get().wrapping_sub(bytes as i64);
        self.until_sample.set(left);
        left >= 0 && self.passing.get() == on
    }
}

//! The work of one thread at each allocation and free.
//!
//! Most allocations take a short path: the thread has joined the recording, its recorder is not in use, and no op has
//! begun or ended since the last one. Then the owner of the block and the counters are known, and all that the path
//! touches is one cache line of the thread, one of the counters, and the block's word.

use super::changes::Change;
use super::counters::ContextCounters;
use super::open_ops::{NO_OP, OpenOp, Recent};
use super::owner::{Owner, tag_of};
use super::sampling::{self, Random, Weight};
use super::session::{Slot, is_recorded, sampled_every, slot_for};
use super::{ON, SAMPLED, shadow};
use crate::engine::recorder::Mark;
use crate::engine::state::{self, ThisThread};
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering;

thread_local! {
    /// Has no destructor, because registering one allocates; [`EXIT`] has the destructor.
    static HEAP: ThreadHeap = const { ThreadHeap::new() };
    static EXIT: Exit = const { Exit };
}

/// Gives the thread's slot back when the thread ends.
struct Exit;

impl Drop for Exit {
    fn drop(&mut self) {
        HEAP.with(|heap| {
            let _busy = heap.busy();
            heap.is_over.set(true);
            heap.leave_session();
            if let Ok(mut outer) = heap.outer.try_borrow_mut() {
                drop(std::mem::take(&mut **outer));
            }
        });
    }
}

/// The heap as one thread sees it. The first cache line is all that the short path of an allocation uses.
#[repr(C, align(64))]
pub(super) struct ThreadHeap {
    /// The value of [`ON`] for which the short path may be taken; 0 if it may not be taken. Always 0 in a sampled
    /// recording.
    ready: Cell<u32>,
    /// The mark of the recorder's open ops when `owner` was chosen.
    pub(super) mark: Cell<Mark>,
    /// The owner of blocks that are allocated now.
    pub(super) owner: Cell<Owner>,
    /// The counters of the innermost op, which is always in `listed`.
    pub(super) counters: Cell<&'static ContextCounters>,
    /// Bytes that the thread allocated, minus those that it freed.
    pub(super) net: Cell<i64>,
    /// The highest `net` since the innermost op began.
    pub(super) highest: Cell<i64>,
    /// Changes are logged when `net` is above `log_above` or below `log_below`.
    log_above: Cell<i64>,
    log_below: Cell<i64>,
    /// Bytes that were allocated inside the innermost op and freed.
    pub(super) temporary: Cell<u64>,
    /// Bytes up to the next sample point, in a sampled recording.
    pub(super) until_sample: Cell<i64>,
    pub(super) sampled_every: Cell<u64>,
    /// The value of [`ON`] for which blocks without a sample point are skipped; 0 if no block may be skipped.
    passing: Cell<u32>,
    random: Cell<Random>,
    /// The value of [`ON`] when it joined.
    pub(super) seen: Cell<u32>,
    /// True while this module allocates: such blocks are charged to the tracer.
    pub(super) is_busy: Cell<bool>,
    /// True once the thread has ended. Destructors of other thread-locals may still run.
    is_over: Cell<bool>,
    /// True if the thread has no slot and uses the one that such threads share.
    pub(super) shares_slot: Cell<bool>,
    pub(super) slot: Cell<Option<&'static Slot>>,
    pub(super) innermost: Cell<OpenOp>,
    /// The ops around the innermost one.
    pub(super) outer: RefCell<ManuallyDrop<Vec<OpenOp>>>,
    /// The number in the slot of the outermost op in `outer`. Blocks of earlier ops are not temporary for any open op.
    pub(super) outermost: Cell<u32>,
    /// Contexts that changed since the changes were logged.
    listed: [Cell<u16>; MAX_LISTED],
    listed_len: Cell<usize>,
    pub(super) recent: Recent,
}

const MAX_LISTED: usize = 32;

/// Counters that are never used: those of a thread without a slot.
static NO_COUNTERS: ContextCounters = ContextCounters::new();

/// This thread's heap. `LocalKey::with` would pass it to a closure, which is not inlined; the variables that the
/// closure captures would go through memory, which costs about thirty of the sixty instructions of an allocation.
#[inline]
#[allow(unsafe_code, reason = "see below")]
fn here(_on: &ThisThread) -> &ThreadHeap {
    let heap: *const ThreadHeap = HEAP.with(std::ptr::from_ref);
    // SAFETY: `HEAP` has no destructor, so its memory is valid as long as the thread runs. The reference does not
    // outlive the argument, which is on the thread's stack, and does not leave the thread: neither of them is `Send`.
    // All fields are cells, so there is never a `&mut` to them.
    unsafe { &*heap }
}

/// Records a new block. `on` is the value of [`ON`], which is not 0.
#[allow(clippy::inline_always, reason = "into the one function that allocates")]
#[inline(always)]
pub(crate) fn allocated(on: u32, address: usize, bytes: usize) {
    let thread = ThisThread::new();
    let heap = here(&thread);
    if heap.is_current(on, &thread)
        && let Some(word) = shadow::usual_word(address)
    {
        heap.owner.get().store(word);
        heap.count_allocation(Weight::exact(bytes as u64));
    } else if on & SAMPLED != 0 {
        heap.sample(address, bytes as u64);
    } else {
        heap.allocated_slowly(address, bytes as u64);
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

/// A block that was recorded as allocated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(super) owner: Owner,
    pub(super) address: usize,
}

/// Removes the record of a block before it is freed or moved: afterwards its address may belong to another block.
/// `None` if it was not recorded.
#[inline]
pub(crate) fn take(address: usize) -> Option<Block> {
    let Some(word) = shadow::usual_word(address) else {
        return take_unusual(address);
    };
    let owner = Owner::take(word)?;
    Some(Block { owner, address })
}

#[cold]
#[inline(never)]
fn take_unusual(address: usize) -> Option<Block> {
    let owner = Owner::take(shadow::word_of(address)?)?;
    Some(Block { owner, address })
}

/// Undoes [`take`]: the block was not moved.
pub(crate) fn restore(block: Block) {
    if let Some(word) = shadow::word_of(block.address) {
        block.owner.store(word);
    }
}

/// Records the free of a block.
#[allow(clippy::inline_always, reason = "into the one function that frees")]
#[inline(always)]
pub(crate) fn freed(on: u32, block: Block, bytes: usize) {
    let thread = ThisThread::new();
    let heap = here(&thread);
    if block.owner == heap.owner.get() && heap.is_current(on, &thread) {
        heap.count_free_of_innermost(Weight::exact(bytes as u64));
    } else {
        heap.freed_slowly(block, bytes as u64);
    }
}

/// Runs `f` on this thread's heap. `None` if the thread does not take part in a recording of the heap.
pub(super) fn with_slot<R>(f: impl FnOnce(&ThreadHeap, &'static Slot) -> R) -> Option<R> {
    HEAP.with(|heap| {
        let was_busy = heap.is_busy.get();
        let _busy = heap.busy();
        // Not inside another call that reads the recorder's ops: that call continues with the slot that it has.
        if !was_busy {
            heap.join_if_new();
        }
        heap.slot.get().map(|slot| f(heap, slot))
    })
}

/// Runs `f`. Memory that it allocates on this thread is charged to the tracer.
pub(super) fn as_tracer<R>(f: impl FnOnce() -> R) -> R {
    HEAP.with(|heap| {
        let _busy = heap.busy();
        f()
    })
}

/// True if the program's allocator calls this module. A recording must be on, and include this thread.
pub(super) fn is_installed() -> bool {
    HEAP.with(|heap| {
        heap.join_if_new();
        let figures = || (heap.net.get(), heap.until_sample.get());
        let before = figures();
        let probe = std::hint::black_box(Box::new([0u8; 64]));
        let is_installed = figures() != before;
        drop(probe);
        is_installed
    })
}

/// Ends the use of this module when dropped.
pub(super) struct Busy<'a>(&'a ThreadHeap, bool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.is_busy.set(self.1);
        self.0.choose_path();
    }
}

impl ThreadHeap {
    const fn new() -> ThreadHeap {
        ThreadHeap {
            ready: Cell::new(0),
            mark: Cell::new(Mark::NEVER),
            owner: Cell::new(Owner::NONE),
            counters: Cell::new(&NO_COUNTERS),
            net: Cell::new(0),
            highest: Cell::new(0),
            log_above: Cell::new(0),
            log_below: Cell::new(0),
            temporary: Cell::new(0),
            until_sample: Cell::new(0),
            sampled_every: Cell::new(0),
            passing: Cell::new(0),
            random: Cell::new(Random::new(0)),
            seen: Cell::new(0),
            is_busy: Cell::new(false),
            is_over: Cell::new(false),
            shares_slot: Cell::new(false),
            slot: Cell::new(None),
            innermost: Cell::new(NO_OP),
            outer: RefCell::new(ManuallyDrop::new(Vec::new())),
            outermost: Cell::new(u32::MAX),
            listed: [const { Cell::new(0) }; MAX_LISTED],
            listed_len: Cell::new(0),
            recent: Recent::new(),
        }
    }

    pub(super) fn busy(&self) -> Busy<'_> {
        self.ready.set(0);
        self.passing.set(0);
        Busy(self, self.is_busy.replace(true))
    }

    fn choose_path(&self) {
        if !self.is_busy.get() && self.slot.get().is_some() {
            let path = if self.sampled_every.get() == 0 {
                &self.ready
            } else {
                &self.passing
            };
            path.set(self.seen.get());
        }
    }

    /// True if the short path may be taken while [`ON`] has this value.
    #[inline]
    fn is_current(&self, on: u32, thread: &ThisThread) -> bool {
        self.ready.get() == on && thread.local().mark() == Some(self.mark.get())
    }

    pub(super) fn join_if_new(&self) {
        if self.seen.get() != ON.load(Ordering::Relaxed) {
            self.join();
        }
    }

    /// Joins the recording that is on now.
    #[cold]
    #[inline(never)]
    pub(super) fn join(&self) {
        let _busy = self.busy();
        let number = ON.load(Ordering::Acquire);
        self.leave_session();
        self.seen.set(number);
        // Registers the destructor that releases the slot.
        let has_ended = self.is_over.get() || EXIT.try_with(|_| ()).is_err();
        if number == 0 {
            return;
        }
        let thread = state::thread_number();
        let slot = if has_ended { None } else { slot_for(thread) };
        self.shares_slot.set(slot.is_none() && is_recorded(thread));
        self.sampled_every.set(sampled_every());
        self.random
            .set(Random::new(u64::from(number) << 32 ^ thread));
        self.draw_gap();
        self.slot.set(slot);
        if let Some(slot) = slot {
            self.charge_to(slot, NO_OP);
        }
    }

    fn leave_session(&self) {
        if let Some(slot) = self.slot.take() {
            self.log_changes(slot);
            slot.release();
        }
        for figure in [&self.net, &self.highest, &self.log_above, &self.log_below] {
            figure.set(0);
        }
        self.temporary.set(0);
        self.listed_len.set(0);
        self.mark.set(Mark::NEVER);
        self.owner.set(Owner::NONE);
        self.counters.set(&NO_COUNTERS);
        self.innermost.set(NO_OP);
        self.outermost.set(u32::MAX);
        self.recent.clear();
        if let Ok(mut outer) = self.outer.try_borrow_mut() {
            outer.clear();
        }
    }

    pub(super) fn tag(&self) -> u64 {
        tag_of(self.seen.get())
    }

    #[inline]
    pub(super) fn count_allocation(&self, block: Weight) {
        self.counters.get().count_allocation(block);
        let net = self.net.get().wrapping_add(block.bytes as i64);
        self.net.set(net);
        if net > self.highest.get() {
            self.highest.set(net);
        }
        if net > self.log_above.get() {
            self.log_changes_now();
        }
    }

    #[inline]
    pub(super) fn count_free_of_innermost(&self, block: Weight) {
        self.counters.get().count_free(block);
        let temporary = self.temporary.get().wrapping_add(block.bytes);
        self.temporary.set(temporary);
        self.count_less(block);
    }

    #[inline]
    pub(super) fn count_less(&self, block: Weight) {
        let net = self.net.get().wrapping_sub(block.bytes as i64);
        self.net.set(net);
        if net < self.log_below.get() {
            self.log_changes_now();
        }
    }

    /// Counts a block towards the next sample point. False if the point is in the block, or the thread has not joined
    /// yet.
    #[inline]
    fn passes_by(&self, on: u32, bytes: u64) -> bool {
        let left = self.until_sample.get().wrapping_sub(bytes as i64);
        self.until_sample.set(left);
        left >= 0 && self.passing.get() == on
    }

    pub(super) fn draw_gap(&self) {
        let mut random = self.random.get();
        self.until_sample.set(random.gap(self.sampled_every.get()));
        self.random.set(random);
    }

    #[inline]
    pub(super) fn counters_of(
        &self,
        slot: &'static Slot,
        context: u16,
    ) -> Option<&'static ContextCounters> {
        slot.counters.get(context).or_else(|| {
            let _busy = self.busy();
            slot.counters.add(context);
            slot.counters.get(context)
        })
    }

    /// Remembers that a context has changed.
    #[inline]
    pub(super) fn list(&self, counters: &ContextCounters, context: u16) {
        if !counters.list() {
            return;
        }
        let len = self.listed_len.get();
        if let Some(listed) = self.listed.get(len) {
            listed.set(context);
            self.listed_len.set(len + 1);
        }
        if len + 1 >= MAX_LISTED {
            self.log_changes_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn log_changes_now(&self) {
        if let Some(slot) = self.slot.get() {
            self.log_changes(slot);
        }
    }

    fn log_changes(&self, slot: &Slot) {
        let _busy = self.busy();
        let len = self.listed_len.replace(0);
        let net = self.net.get();
        let Some(session) = slot
            .session()
            .filter(|session| session.number == self.seen.get())
        else {
            // The recording is over.
            self.log_above.set(i64::MAX);
            self.log_below.set(i64::MIN);
            return;
        };
        let at = session.clock.clone().now();
        session
            .changes
            .log(self.listed.iter().take(len).filter_map(|listed| {
                let context = listed.get();
                let bytes = slot.counters.get(context)?.change_to_log();
                Some(Change { at, context, bytes })
            }));
        let threshold = session.changes.threshold() as i64;
        self.log_above.set(net.saturating_add(threshold));
        self.log_below.set(net.saturating_sub(threshold));
        let innermost = self.innermost.get().context;
        self.list(self.counters.get(), innermost);
    }
}

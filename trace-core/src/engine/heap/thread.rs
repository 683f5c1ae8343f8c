//! One thread's side: its open ops, and what happens at each allocation and free.

use super::changes::Change;
use super::contexts::{Context, OTHER, OUTSIDE, TRACER};
use super::counters::ContextCounters;
use super::session::{Slot, is_recorded, slot_for, with_shared_slot};
use super::tracer;
use super::{ON, shadow};
use crate::engine::state;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// Without a destructor, which would be registered by an allocation: [`EXIT`] has it.
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

/// The heap as one thread sees it.
struct ThreadHeap {
    /// The value of [`ON`] when it joined.
    seen: Cell<u32>,
    /// This module is allocating: such blocks are the tracer's.
    is_busy: Cell<bool>,
    /// The thread has ended; destructors of other thread-locals may still run.
    is_over: Cell<bool>,
    slot: Cell<Option<&'static Slot>>,
    /// The thread is recorded without a slot of its own.
    shares_slot: Cell<bool>,
    /// Bytes that the thread allocated less those that it freed.
    net: Cell<i64>,
    innermost: Cell<OpenOp>,
    /// The ops around the innermost one.
    outer: RefCell<ManuallyDrop<Vec<OpenOp>>>,
    /// `net` when the thread last logged its changes.
    logged: Cell<i64>,
    /// The changes are logged when `net` has moved by so much.
    threshold: Cell<u64>,
    /// Contexts that changed since then.
    listed: [Cell<u16>; MAX_LISTED],
    listed_len: Cell<usize>,
    /// The last contexts that were looked up.
    recent: [Cell<(Context, u16)>; RECENT],
}

const MAX_LISTED: usize = 32;
const RECENT: usize = 64;

/// An op that is open, or what is outside of all ops.
#[derive(Debug, Clone, Copy)]
struct OpenOp {
    context: u16,
    /// The recorder's step, to find the op when it ends.
    step: u32,
    /// Counts the ops of the slot.
    number: u32,
    net_before: i64,
    net_highest: i64,
    inside: u64,
    inside_allocations: u64,
    temporary: u64,
}

/// The step of an op of another thread or task.
const ADOPTED: u32 = u32::MAX - 1;

const NO_OP: OpenOp = OpenOp {
    context: OUTSIDE,
    step: u32::MAX,
    number: 0,
    net_before: 0,
    net_highest: 0,
    inside: 0,
    inside_allocations: 0,
    temporary: 0,
};

/// The owner of a block, in one word that is never 0: the recording's tag (4 bits), slot (12), context (16), and the
/// number of the op in its slot (32).
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner(u64);

pub(super) const FIRST_TAG: u64 = 1;

/// Distinguishes recordings in the owners of blocks: 1 to 15, then 1 again.
pub(super) fn tag_of(recording: u32) -> u64 {
    u64::from(recording % 15) + FIRST_TAG
}

impl Owner {
    pub(super) fn new(tag: u64, slot: u16, context: u16, op: u32) -> Owner {
        Owner(tag << 60 | u64::from(slot) << 48 | u64::from(context) << 32 | u64::from(op))
    }

    pub(super) fn tag(self) -> u64 {
        self.0 >> 60
    }

    fn slot(self) -> u16 {
        (self.0 >> 48) as u16 & 0xFFF
    }

    pub(super) fn context(self) -> u16 {
        (self.0 >> 32) as u16
    }

    fn op(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(super) fn store(self, word: &AtomicU64) {
        word.store(self.0, Ordering::Relaxed);
    }
}

/// A block that was recorded as allocated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    owner: Owner,
    address: usize,
}

/// Records a new block.
#[inline]
pub(crate) fn allocated(address: usize, bytes: usize) {
    HEAP.with(|heap| heap.allocated(address, bytes as u64));
}

/// Forgets a block that is about to be freed or moved, while its address is still its own. None if it was not recorded.
#[inline]
pub(crate) fn take(address: usize) -> Option<Block> {
    let word = shadow::word_of(address)?;
    let owner = Owner(word.load(Ordering::Relaxed));
    if owner.0 == 0 {
        return None;
    }
    word.store(0, Ordering::Relaxed);
    Some(Block { owner, address })
}

/// Takes [`take`] back: the block was not moved.
pub(crate) fn restore(block: Block) {
    if let Some(word) = shadow::word_of(block.address) {
        block.owner.store(word);
    }
}

/// Records the free of a block.
#[inline]
pub(crate) fn freed(block: Block, bytes: usize) {
    HEAP.with(|heap| heap.freed(block.owner, bytes as u64));
}

/// Begins an op of this thread inside of the innermost one.
pub(crate) fn enter(step: u32, signature: u32) {
    HEAP.with(|heap| heap.enter(step, signature));
}

/// Ends an op that [`enter`] began, and those inside of it that are open.
pub(crate) fn leave(step: u32) {
    HEAP.with(|heap| heap.leave(step));
}

/// The context of the innermost op of this thread, for [`adopt`] on another one.
pub(crate) fn context() -> u16 {
    HEAP.with(|heap| heap.innermost.get().context)
}

/// The context of an op inside of the innermost one, without beginning it.
pub(crate) fn context_of(signature: u32) -> u16 {
    HEAP.with(|heap| {
        let _busy = heap.busy();
        let parent = heap.innermost.get().context;
        let slot = heap.slot.get();
        slot.map_or(OUTSIDE, |slot| {
            heap.number_of(slot, Context { parent, signature })
        })
    })
}

/// Charges what this thread allocates to a context that began elsewhere, until [`give_back`]. Returns what to give
/// that.
pub(crate) fn adopt(context: u16) -> usize {
    HEAP.with(|heap| heap.adopt(context))
}

/// Ends [`adopt`].
pub(crate) fn give_back(depth: usize) {
    HEAP.with(|heap| {
        let is_open = heap
            .outer
            .try_borrow()
            .is_ok_and(|outer| outer.len() > depth);
        if is_open {
            heap.leave_until(|_, around| around <= depth);
        }
    });
}

/// Counts an execution of an op that ran in pieces, between [`adopt`] and [`give_back`].
pub(crate) fn count_call(context: u16) {
    HEAP.with(|heap| {
        let counters = heap
            .slot
            .get()
            .and_then(|slot| heap.counters(slot, context));
        if let Some(counters) = counters {
            counters.count_call();
        }
    });
}

/// Runs `f`; what it allocates on this thread is the tracer's.
pub(super) fn as_tracer<R>(f: impl FnOnce() -> R) -> R {
    HEAP.with(|heap| {
        let _busy = heap.busy();
        f()
    })
}

/// Whether the program's allocator calls this module. A recording must be on, and include this thread.
pub(super) fn is_installed() -> bool {
    HEAP.with(|heap| {
        heap.join_if_new();
        let before = heap.net.get();
        let probe = std::hint::black_box(Box::new([0u8; 64]));
        let is_installed = heap.net.get() != before;
        drop(probe);
        is_installed
    })
}

/// Resets the flag when dropped.
struct Busy<'a>(&'a Cell<bool>, bool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

impl ThreadHeap {
    const fn new() -> ThreadHeap {
        ThreadHeap {
            seen: Cell::new(0),
            is_busy: Cell::new(false),
            is_over: Cell::new(false),
            slot: Cell::new(None),
            shares_slot: Cell::new(false),
            net: Cell::new(0),
            innermost: Cell::new(NO_OP),
            outer: RefCell::new(ManuallyDrop::new(Vec::new())),
            logged: Cell::new(0),
            threshold: Cell::new(0),
            listed: [const { Cell::new(0) }; MAX_LISTED],
            listed_len: Cell::new(0),
            recent: [const {
                Cell::new((
                    Context {
                        parent: 0,
                        signature: u32::MAX,
                    },
                    0,
                ))
            }; RECENT],
        }
    }

    fn busy(&self) -> Busy<'_> {
        Busy(&self.is_busy, self.is_busy.replace(true))
    }

    #[inline]
    fn join_if_new(&self) {
        if self.seen.get() != ON.load(Ordering::Relaxed) {
            self.join();
        }
    }

    /// Joins the current recording.
    #[cold]
    #[inline(never)]
    fn join(&self) {
        if self.is_busy.get() {
            return;
        }
        let _busy = self.busy();
        let number = ON.load(Ordering::Acquire);
        self.leave_session();
        self.seen.set(number);
        // Registers the destructor that gives the slot back.
        let has_ended = self.is_over.get() || EXIT.try_with(|_| ()).is_err();
        if number != 0 {
            let thread = state::thread_number();
            let slot = if has_ended { None } else { slot_for(thread) };
            self.shares_slot.set(slot.is_none() && is_recorded(thread));
            self.slot.set(slot);
        }
    }

    fn leave_session(&self) {
        if let Some(slot) = self.slot.take() {
            self.log_changes(slot);
            slot.release();
        }
        self.net.set(0);
        self.logged.set(0);
        self.threshold.set(0);
        self.listed_len.set(0);
        self.innermost.set(NO_OP);
        for recent in &self.recent {
            recent.set((
                Context {
                    parent: 0,
                    signature: u32::MAX,
                },
                0,
            ));
        }
        if let Ok(mut outer) = self.outer.try_borrow_mut() {
            outer.clear();
        }
    }

    fn tag(&self) -> u64 {
        tag_of(self.seen.get())
    }

    #[inline]
    fn allocated(&self, address: usize, bytes: u64) {
        if self.is_busy.get() || state::is_recorder_in_use() {
            return tracer::allocated(address, bytes);
        }
        self.join_if_new();
        if self.seen.get() == 0 {
            return;
        }
        let Some(slot) = self.slot.get() else {
            return self.allocated_without_slot(address, bytes);
        };
        let mut op = self.innermost.get();
        let context = op.context;
        let Some(word) = shadow::word_for(address) else {
            slot.unrecorded.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let owner = Owner::new(self.tag(), slot.index, context, op.number);
        owner.store(word);
        let Some(counters) = self.counters(slot, context) else {
            return;
        };
        counters.count_allocation(bytes);
        let net = self.net.get() + bytes as i64;
        self.net.set(net);
        op.inside += bytes;
        op.inside_allocations += 1;
        op.net_highest = op.net_highest.max(net);
        self.innermost.set(op);
        self.note_change(slot, counters, context);
    }

    #[inline]
    fn freed(&self, owner: Owner, bytes: u64) {
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
        let Some(slot) = self.slot.get() else {
            return self.freed_without_slot(owner, bytes);
        };
        let context = owner.context();
        let Some(counters) = self.counters(slot, context) else {
            return;
        };
        counters.count_free(bytes);
        self.net.set(self.net.get() - bytes as i64);
        if owner.slot() == slot.index {
            let mut op = self.innermost.get();
            if owner.op() >= op.number {
                op.temporary += bytes;
                self.innermost.set(op);
            } else {
                self.freed_in_outer(owner.op(), bytes);
            }
        }
        self.note_change(slot, counters, context);
    }

    /// A block is freed that was allocated before the innermost op began: it is temporary for the op around it in
    /// which it was allocated, if that is still open.
    #[cold]
    fn freed_in_outer(&self, op: u32, bytes: u64) {
        if let Ok(mut outer) = self.outer.try_borrow_mut() {
            let around = outer.iter_mut().rev().find(|around| around.number <= op);
            if let Some(around) = around {
                around.temporary += bytes;
            }
        }
    }

    #[inline]
    fn counters(&self, slot: &'static Slot, context: u16) -> Option<&'static ContextCounters> {
        slot.counters
            .get(context)
            .or_else(|| self.add_counters(slot, context))
    }

    #[cold]
    #[inline(never)]
    fn add_counters(&self, slot: &'static Slot, context: u16) -> Option<&'static ContextCounters> {
        let _busy = self.busy();
        slot.counters.add(context);
        slot.counters.get(context)
    }

    #[inline]
    fn note_change(&self, slot: &Slot, counters: &ContextCounters, context: u16) {
        if counters.list() {
            let len = self.listed_len.get();
            if let Some(listed) = self.listed.get(len) {
                listed.set(context);
                self.listed_len.set(len + 1);
            }
        }
        let moved = self.net.get().abs_diff(self.logged.get());
        if moved > self.threshold.get() || self.listed_len.get() == MAX_LISTED {
            self.log_changes(slot);
        }
    }

    #[cold]
    #[inline(never)]
    fn log_changes(&self, slot: &Slot) {
        let _busy = self.busy();
        let len = self.listed_len.replace(0);
        self.logged.set(self.net.get());
        let Some(session) = slot
            .session()
            .filter(|session| session.number == self.seen.get())
        else {
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
        self.threshold.set(session.changes.threshold());
    }

    fn enter(&self, step: u32, signature: u32) {
        self.join_if_new();
        if let Some(slot) = self.slot.get() {
            let _busy = self.busy();
            let parent = self.innermost.get().context;
            let context = self.number_of(slot, Context { parent, signature });
            self.open(slot, step, context);
        }
    }

    fn adopt(&self, context: u16) -> usize {
        self.join_if_new();
        let depth = self.outer.try_borrow().map_or(0, |outer| outer.len());
        if let Some(slot) = self.slot.get() {
            let _busy = self.busy();
            self.open(slot, ADOPTED, context);
        }
        depth
    }

    fn open(&self, slot: &Slot, step: u32, context: u16) {
        let number = slot.next_op.load(Ordering::Relaxed);
        slot.next_op
            .store(number.wrapping_add(1).max(1), Ordering::Relaxed);
        if let Ok(mut outer) = self.outer.try_borrow_mut() {
            outer.push(self.innermost.get());
            let net = self.net.get();
            self.innermost.set(OpenOp {
                context,
                step,
                number,
                net_before: net,
                net_highest: net,
                ..NO_OP
            });
        }
    }

    fn number_of(&self, slot: &Slot, context: Context) -> u16 {
        let hash = context.signature.wrapping_mul(31) ^ u32::from(context.parent);
        let recent = &self.recent[hash as usize % RECENT];
        let (known, number) = recent.get();
        if known == context {
            return number;
        }
        let number = slot
            .session()
            .map_or(OTHER, |session| session.contexts.number(context));
        recent.set((context, number));
        number
    }

    fn leave(&self, step: u32) {
        let is_open = |op: &OpenOp| op.step == step;
        let is_outer = || {
            let outer = self.outer.try_borrow();
            outer.is_ok_and(|outer| outer.iter().any(is_open))
        };
        if is_open(&self.innermost.get()) || is_outer() {
            self.leave_until(|op, _| is_open(op));
        }
    }

    /// Ends ops, the innermost first, until one for which `is_last` is true: it gets the op and how many are around it.
    fn leave_until(&self, is_last: impl Fn(&OpenOp, usize) -> bool) {
        let Some(slot) = self.slot.get() else {
            return;
        };
        let _busy = self.busy();
        let Ok(mut outer) = self.outer.try_borrow_mut() else {
            return;
        };
        while let Some(mut around) = outer.pop() {
            let op = self.innermost.get();
            let peak = op.net_highest.abs_diff(op.net_before);
            if let Some(counters) = self.counters(slot, op.context) {
                counters.count_inside(op.inside, op.inside_allocations, op.temporary, peak);
                if op.step != ADOPTED {
                    counters.count_call();
                }
            }
            around.inside += op.inside;
            around.inside_allocations += op.inside_allocations;
            around.temporary += op.temporary;
            around.net_highest = around.net_highest.max(op.net_highest);
            self.innermost.set(around);
            if is_last(&op, outer.len()) {
                break;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn allocated_without_slot(&self, address: usize, bytes: u64) {
        if !self.shares_slot.get() {
            return;
        }
        let _busy = self.busy();
        with_shared_slot(|slot| {
            if let Some(word) = shadow::word_for(address) {
                Owner::new(self.tag(), 0, OUTSIDE, 0).store(word);
                if let Some(counters) = slot.counters.get(OUTSIDE) {
                    counters.count_allocation(bytes);
                }
            }
        });
    }

    #[cold]
    #[inline(never)]
    fn freed_without_slot(&self, owner: Owner, bytes: u64) {
        let _busy = self.busy();
        with_shared_slot(|slot| {
            slot.counters.add(owner.context());
            if let Some(counters) = slot.counters.get(owner.context()) {
                counters.count_free(bytes);
            }
        });
    }
}

//! The ops that a thread's memory is charged to.
//!
//! The recorder does not report ops when they begin: most allocate nothing. The first allocation or free inside an op
//! [enters](enter) it and the ops around it, and marks it, so that the recorder [leaves](leave) it when it ends.

use super::contexts::{Context, OTHER, OUTSIDE};
use super::owner::Owner;
use super::session::Slot;
use super::thread::{ThreadHeap, with_slot};
use crate::engine::recorder::OpId;
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// An open op, or the time outside all ops.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenOp {
    pub(super) context: u16,
    /// True if leaving it ends an execution. False for an op of another thread or task, and outside ops.
    is_execution: bool,
    /// The recorder's op, and its place among the open ops.
    id: OpId,
    index: u32,
    /// Position among the ops of the slot.
    pub(super) number: u32,
    net_before: i64,
    highest: i64,
    inside: u64,
    inside_blocks: u64,
    pub(super) temporary: u64,
    /// The counters of the context when the op became the innermost.
    allocated_before: u64,
    blocks_before: u64,
}

pub(super) const NO_OP: OpenOp = OpenOp {
    context: OUTSIDE,
    is_execution: false,
    id: 0,
    index: 0,
    number: 0,
    net_before: 0,
    highest: 0,
    inside: 0,
    inside_blocks: 0,
    temporary: 0,
    allocated_before: 0,
    blocks_before: 0,
};

/// An op of the recorder that memory is charged to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Entered {
    /// The signature of the op and its inputs; `None` if there was no memory for it.
    Op(Option<u32>),
    /// The context of an op of another thread or task.
    Adopted(u16),
}

/// Enters an op of the recorder. `index` is its place among the open ops.
pub(crate) fn enter(index: usize, id: OpId, op: Entered) {
    with_slot(|heap, slot| {
        let (context, is_execution) = match op {
            Entered::Op(Some(signature)) => {
                let parent = heap.innermost.get().context;
                let context = Context { parent, signature };
                (heap.recent.number(slot, context), true)
            }
            Entered::Op(None) => (OTHER, true),
            Entered::Adopted(context) => (context, false),
        };
        let number = slot.next_op.load(Ordering::Relaxed);
        slot.next_op
            .store(number.wrapping_add(1).max(1), Ordering::Relaxed);
        let net = heap.net.get();
        let op = OpenOp {
            context,
            is_execution,
            id,
            index: index as u32,
            number,
            net_before: net,
            highest: net,
            ..NO_OP
        };
        heap.enter(slot, op);
    });
}

/// Leaves the op at this place among the recorder's open ops, and those inside it, if they were entered.
pub(crate) fn leave(index: usize) {
    with_slot(
        |heap, slot| {
            while heap.innermost.get().index as usize >= index.max(1) && heap.leave(slot) {}
        },
    );
}

/// Leaves the ops that are not open any more. Returns the place of the innermost one that is.
pub(crate) fn leave_ended(is_open: impl Fn(usize, OpId) -> bool) -> usize {
    let innermost = with_slot(|heap, slot| {
        loop {
            let OpenOp { index, id, .. } = heap.innermost.get();
            if index == 0 || is_open(index as usize, id) || !heap.leave(slot) {
                return index as usize;
            }
        }
    });
    innermost.unwrap_or(usize::MAX)
}

/// The context of the innermost op of this thread, to be adopted on another one.
pub(crate) fn context() -> u16 {
    with_slot(|heap, _| heap.innermost.get().context).unwrap_or(OUTSIDE)
}

/// The context of an op inside the innermost one, without entering it.
pub(crate) fn context_of(signature: u32) -> u16 {
    let context = with_slot(|heap, slot| {
        let parent = heap.innermost.get().context;
        heap.recent.number(slot, Context { parent, signature })
    });
    context.unwrap_or(OUTSIDE)
}

/// Counts an execution of an async op. Its polls only adopted its context, so none of them was counted.
pub(crate) fn count_call(context: u16) {
    with_slot(|heap, slot| {
        if let Some(counters) = heap.counters_of(slot, context) {
            counters.count_call();
        }
    });
}

impl ThreadHeap {
    fn enter(&self, slot: &'static Slot, op: OpenOp) {
        let Ok(mut outer) = self.outer.try_borrow_mut() else {
            return;
        };
        if outer.is_empty() {
            self.outermost.set(op.number);
        }
        outer.push(self.settled());
        drop(outer);
        self.charge_to(slot, op);
    }

    /// Leaves the innermost op; false if there is none.
    fn leave(&self, slot: &'static Slot) -> bool {
        let Ok(mut outer) = self.outer.try_borrow_mut() else {
            return false;
        };
        let Some(mut around) = outer.pop() else {
            return false;
        };
        let is_last = outer.is_empty();
        drop(outer);
        let op = self.settled();
        let counters = self.counters.get();
        let peak = op.highest.abs_diff(op.net_before);
        counters.count_inside(op.inside, op.inside_blocks, op.temporary, peak);
        if op.is_execution {
            counters.count_call();
        }
        if is_last {
            self.outermost.set(u32::MAX);
        }
        around.inside += op.inside;
        around.inside_blocks += op.inside_blocks;
        around.temporary += op.temporary;
        around.highest = around.highest.max(op.highest);
        self.charge_to(slot, around);
        true
    }

    /// The innermost op, with the allocations since it became the innermost.
    fn settled(&self) -> OpenOp {
        let mut op = self.innermost.get();
        let (allocated, blocks) = self.counters.get().allocated();
        op.inside += allocated.wrapping_sub(op.allocated_before);
        op.inside_blocks += blocks.wrapping_sub(op.blocks_before);
        op.highest = self.highest.get();
        op.temporary = self.temporary.get();
        op
    }

    /// Makes an op the innermost.
    pub(super) fn charge_to(&self, slot: &'static Slot, mut op: OpenOp) {
        let Some(counters) = self.counters_of(slot, op.context) else {
            return;
        };
        (op.allocated_before, op.blocks_before) = counters.allocated();
        self.highest.set(op.highest);
        self.temporary.set(op.temporary);
        self.owner
            .set(Owner::new(self.tag(), slot.index, op.number, op.context));
        self.innermost.set(op);
        self.counters.set(counters);
        self.list(counters, op.context);
    }
}

const RECENT: usize = 64;

/// The last contexts that a thread looked up.
pub(super) struct Recent([Cell<(Context, u16)>; RECENT]);

const NO_CONTEXT: Context = Context {
    parent: 0,
    signature: u32::MAX,
};

impl Recent {
    pub(super) const fn new() -> Recent {
        Recent([const { Cell::new((NO_CONTEXT, 0)) }; RECENT])
    }

    pub(super) fn clear(&self) {
        for recent in &self.0 {
            recent.set((NO_CONTEXT, 0));
        }
    }

    fn number(&self, slot: &Slot, context: Context) -> u16 {
        let hash = context.signature.wrapping_mul(31) ^ u32::from(context.parent);
        let recent = &self.0[hash as usize % RECENT];
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
}

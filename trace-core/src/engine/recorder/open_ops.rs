//! The ops of a thread that are open, the innermost last.

use crate::engine::chunk::{NO_PARENT, Steps};
use crate::engine::open_slot::OpenSlot;
use crate::engine::signatures::Expected;
use std::cell::Cell;

/// Identifies an op of a recorder, and the recording that it began in: generation (31 bits) and step (32 bits). Never
/// 0.
pub(crate) type OpId = u64;

/// Set in the stored id of an open op that does not end on the short path. The short path then does not find the op by
/// its id.
const UNUSUAL: u64 = 1 << 63;
/// Levels that need no further allocation.
const FIRST_LEVELS: usize = 32;

/// One op that is open.
///
/// This is everything that is stored of an op between its begin and its end, in memory of the thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenOp {
    /// Perhaps with [`UNUSUAL`].
    id: Cell<OpId>,
    /// Ticks.
    pub(crate) start: Cell<u64>,
    /// Index of the next word in the known signatures that the op's outputs are compared with.
    pub(crate) at: Cell<usize>,
    /// The signature that the op will have if its outputs are as expected.
    pub(crate) expected: Cell<Expected>,
}

impl OpenOp {
    #[inline]
    pub(crate) fn id(&self) -> OpId {
        self.id.get() & !UNUSUAL
    }

    /// Position among the ops of the thread.
    #[inline]
    pub(crate) fn step(&self) -> u32 {
        self.id.get() as u32
    }

    /// True for an op of this thread, false for the link to an op of another thread or task.
    pub(crate) fn is_op(&self) -> bool {
        self.step() != NO_PARENT
    }

    pub(crate) fn is_unusual(&self) -> bool {
        self.id.get() & UNUSUAL != 0
    }

    pub(crate) fn make_unusual(&self) {
        self.id.set(self.id.get() | UNUSUAL);
    }
}

/// The open ops. The first element is not an op: it represents the time outside all ops.
#[derive(Debug)]
pub(crate) struct OpenOps {
    /// Index of the innermost op. With 32 bits, adding to it cannot overflow an index: one comparison is enough.
    innermost: Cell<u32>,
    ops: Vec<OpenOp>,
    /// The slot in which they are published, if the recording is in a file.
    slot: Option<OpenSlot>,
}

impl OpenOps {
    pub(crate) const fn new() -> OpenOps {
        OpenOps {
            innermost: Cell::new(0),
            ops: Vec::new(),
            slot: None,
        }
    }

    /// The place for one more op, if there is one, and its index.
    #[inline]
    pub(crate) fn next(&self) -> Option<(&OpenOp, u32)> {
        let index = self.innermost.get().wrapping_add(1);
        Some((self.ops.get(index as usize)?, index))
    }

    /// Opens the op that [`next`](Self::next) returned. The caller has set its other fields.
    #[inline]
    pub(crate) fn open(&self, (op, index): (&OpenOp, u32), id: OpId) {
        op.id.set(id);
        self.innermost.set(index);
    }

    /// The innermost op and the one around it, if the innermost has this id and ends on the short path.
    #[inline]
    pub(crate) fn innermost_with(&self, id: OpId) -> Option<(&OpenOp, &OpenOp)> {
        let around = self.innermost.get().wrapping_sub(1) as usize;
        let [around, op] = self.ops.get(around..around + 2)?.first_chunk()?;
        (op.id.get() == id).then_some((op, around))
    }

    /// Removes the innermost op, which exists.
    #[inline]
    pub(crate) fn pop(&self) {
        let innermost = self.innermost.get().wrapping_sub(1);
        self.innermost.set(innermost);
        if let Some(slot) = &self.slot {
            slot.set_depth(innermost);
        }
    }

    pub(crate) fn publish_in(&mut self, slot: Option<OpenSlot>) {
        self.slot = slot;
    }

    pub(crate) fn is_published(&self) -> bool {
        self.slot.is_some()
    }

    /// Publishes the innermost op, whose start is known now. `signature` is that of its inputs, at the bits that it has
    /// in a row.
    #[inline]
    pub(crate) fn publish(&self, signature: u64) {
        if let Some(slot) = &self.slot {
            self.publish_to(slot, signature);
        }
    }

    #[inline]
    fn publish_to(&self, slot: &OpenSlot, signature: u64) {
        let depth = self.innermost.get();
        let around = (depth as usize).wrapping_sub(1);
        if let Some([around, op]) = self.ops.get(around..around + 2)
            && op.is_op()
        {
            let steps = Steps::new(op.step(), around.step());
            slot.open(depth, op.start.get(), signature, steps);
        }
    }

    /// Makes a place for one more op.
    #[cold]
    pub(crate) fn grow(&mut self) {
        let levels = (self.ops.len() * 2).max(FIRST_LEVELS);
        self.ops.resize(levels, OpenOp::default());
        self.ops[0].id.set(u64::from(NO_PARENT));
    }

    /// The index of the innermost op.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn depth(&self) -> u32 {
        self.innermost.get()
    }

    /// Number of open ops.
    pub(crate) fn len(&self) -> usize {
        self.innermost.get() as usize
    }

    /// The op at an index: the number of ops that were open after it began. Index 0 is not an op.
    pub(crate) fn get(&self, index: usize) -> Option<&OpenOp> {
        self.ops.get(index)
    }

    /// The index of the op with this id.
    pub(crate) fn find(&self, id: OpId) -> Option<usize> {
        let open = self.ops.get(..=self.len())?;
        let index = open.iter().rposition(|op| op.id() == id)?;
        (index > 0).then_some(index)
    }

    /// The step of the innermost op, or [`NO_PARENT`].
    pub(crate) fn innermost_step(&self) -> u32 {
        self.step(self.len())
    }

    pub(crate) fn step(&self, index: usize) -> u32 {
        self.ops.get(index).map_or(NO_PARENT, OpenOp::step)
    }
}

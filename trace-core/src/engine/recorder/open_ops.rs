//! The ops of a thread that are open, the innermost last.
//!
//! Every op looks at the innermost one, so that is a pointer: an index would be checked and multiplied each time. `unsafe`
//! is needed to read through it. The proof: `first` and `last` are the ends of `ops`, which changes only in
//! [`grow`](OpenOps::grow), or both point to [`NO_OPS`]; and `innermost` is always one of the elements from `first` to `last`.

use crate::engine::chunk::{NO_PARENT, Steps};
use crate::engine::expected_words::{At, AtCell};
use crate::engine::open_slot::OpenSlot;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
/// This is everything that is stored of an op between its begin and its end, in memory of the thread. Only that thread uses
/// it; the fields are atomics so that [`NO_OPS`] can be a static.
#[derive(Debug)]
pub(crate) struct OpenOp {
    /// Perhaps with [`UNUSUAL`].
    id: AtomicU64,
    /// Ticks. For a link, the heap context of the op that it is to.
    start: AtomicU64,
    /// The place of the next word that the op's outputs are compared with.
    at: AtCell,
}

/// The open ops of a recorder that has no memory for them. Never written.
static NO_OPS: OpenOp = OpenOp::outside();

impl OpenOp {
    /// The time outside all ops, in place of an op.
    const fn outside() -> OpenOp {
        OpenOp {
            id: AtomicU64::new(NO_PARENT as u64),
            start: AtomicU64::new(0),
            at: AtCell::nowhere(),
        }
    }

    #[inline]
    pub(crate) fn id(&self) -> OpId {
        self.id.load(Relaxed) & !UNUSUAL
    }

    /// Position among the ops of the thread.
    #[inline]
    pub(crate) fn step(&self) -> u32 {
        self.id.load(Relaxed) as u32
    }

    /// True if it has this id and ends on the short path.
    #[inline]
    pub(crate) fn is_usual_with(&self, id: OpId) -> bool {
        self.id.load(Relaxed) == id
    }

    #[inline]
    pub(crate) fn start(&self) -> u64 {
        self.start.load(Relaxed)
    }

    #[inline]
    pub(crate) fn set_start(&self, start: u64) {
        self.start.store(start, Relaxed);
    }

    #[inline]
    pub(crate) fn at(&self) -> At {
        self.at.get()
    }

    #[inline]
    pub(crate) fn set_at(&self, at: At) {
        self.at.set(at);
    }

    /// True for an op of this thread, false for the link to an op of another thread or task.
    pub(crate) fn is_op(&self) -> bool {
        self.step() != NO_PARENT
    }

    pub(crate) fn is_unusual(&self) -> bool {
        self.id.load(Relaxed) & UNUSUAL != 0
    }

    pub(crate) fn make_unusual(&self) {
        self.id.store(self.id.load(Relaxed) | UNUSUAL, Relaxed);
    }
}

/// The open ops. The first element is not an op: it represents the time outside all ops.
#[derive(Debug)]
pub(crate) struct OpenOps {
    innermost: Cell<NonNull<OpenOp>>,
    first: NonNull<OpenOp>,
    last: NonNull<OpenOp>,
    ops: Vec<OpenOp>,
    /// The slot in which they are published, if the recording is in a file.
    slot: Option<OpenSlot>,
}

impl OpenOps {
    #[allow(unsafe_code, reason = "see below")]
    pub(crate) const fn new() -> OpenOps {
        // SAFETY: the address of a static is not null.
        let no_ops = unsafe { NonNull::new_unchecked((&raw const NO_OPS).cast_mut()) };
        OpenOps {
            innermost: Cell::new(no_ops),
            first: no_ops,
            last: no_ops,
            ops: Vec::new(),
            slot: None,
        }
    }

    /// The innermost op, or the first element.
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn innermost(&self) -> &OpenOp {
        // SAFETY: `innermost` points to an element, which is not freed while `self` is borrowed.
        unsafe { self.innermost.get().as_ref() }
    }

    /// Opens an op, if there is a place for it. Its start is set next.
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn open(&self, id: OpId, at: At) -> Option<&OpenOp> {
        let innermost = self.innermost.get();
        if innermost == self.last {
            return None;
        }
        // SAFETY: it is not the last element, so there is one after it.
        self.innermost.set(unsafe { innermost.add(1) });
        let op = self.innermost();
        op.id.store(id, Relaxed);
        op.set_at(at);
        Some(op)
    }

    /// The innermost op, and the one around it or the first element.
    ///
    /// # Safety
    ///
    /// An op is open.
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) unsafe fn innermost_two(&self) -> (&OpenOp, &OpenOp) {
        let innermost = self.innermost.get();
        // SAFETY: `innermost` is not the first element, so there is one before it.
        unsafe { (innermost.as_ref(), innermost.sub(1).as_ref()) }
    }

    /// Removes the innermost op.
    ///
    /// # Safety
    ///
    /// An op is open.
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) unsafe fn pop_known(&self) {
        // SAFETY: `innermost` is not the first element, so there is one before it.
        self.innermost.set(unsafe { self.innermost.get().sub(1) });
        self.publish_depth();
    }

    /// Removes the innermost op, if there is one.
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn pop(&self) {
        let innermost = self.innermost.get();
        if innermost != self.first {
            // SAFETY: it is not the first element, so there is one before it.
            self.innermost.set(unsafe { innermost.sub(1) });
        }
        self.publish_depth();
    }

    #[inline]
    fn publish_depth(&self) {
        if let Some(slot) = &self.slot {
            slot.set_depth(self.len() as u32);
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
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn publish(&self, signature: u64) {
        if let Some(slot) = &self.slot
            && self.innermost.get() != self.first
        {
            // SAFETY: the innermost element is not the first one.
            let (op, around) = unsafe { self.innermost_two() };
            if op.is_op() {
                let steps = Steps::new(op.step(), around.step());
                slot.open(self.len() as u32, op.start(), signature, steps);
            }
        }
    }

    /// True if there is no place for one more op.
    pub(crate) fn is_full(&self) -> bool {
        self.innermost.get() == self.last
    }

    /// Makes a place for one more op.
    #[cold]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn grow(&mut self) {
        let len = self.len();
        let levels = (self.ops.len() * 2).max(FIRST_LEVELS);
        self.ops.resize_with(levels, OpenOp::outside);
        let first = NonNull::from(self.ops.as_mut_slice()).cast::<OpenOp>();
        // SAFETY: there are more levels than open ops.
        unsafe {
            self.innermost.set(first.add(len));
            self.first = first;
            self.last = first.add(levels - 1);
        }
    }

    /// A number that differs between the open ops.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn place(&self) -> usize {
        self.innermost.get().addr().get()
    }

    /// Number of open ops.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let bytes = self.innermost.get().addr().get() - self.first.addr().get();
        bytes / size_of::<OpenOp>()
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
        self.innermost().step()
    }

    pub(crate) fn step(&self, index: usize) -> u32 {
        self.ops.get(index).map_or(NO_PARENT, OpenOp::step)
    }
}

// SAFETY: the pointers are to elements of its own vector, or to a static of atomics.
#[allow(unsafe_code, reason = "see above")]
unsafe impl Send for OpenOps {}

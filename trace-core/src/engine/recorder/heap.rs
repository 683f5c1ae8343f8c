//! Finds the op that memory is charged to, while a session records the heap.

use super::{OpId, Recorder};
use crate::engine::heap::{self, Entered};
use std::sync::atomic::Ordering;

/// Identifies the open ops of a recorder: it changes whenever an op begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    next_id: OpId,
    depth: u32,
}

impl Mark {
    /// The mark of no recorder.
    pub(crate) const NEVER: Mark = Mark {
        next_id: OpId::MAX,
        depth: u32::MAX,
    };
}

impl Recorder {
    #[inline]
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            next_id: self.next_id.get(),
            depth: self.open.depth(),
        }
    }

    /// True if allocations are charged to the ops of this recorder.
    fn has_heap(&self) -> bool {
        self.session()
            .is_some_and(|shared| shared.records_heap.load(Ordering::Relaxed))
    }

    /// Charges the memory that the thread allocates to the ops that are open now.
    pub(crate) fn enter_heap(&mut self) {
        if self.is_its_own() {
            // Memory is charged to the ops of the session's recorder, not to those of a separate one.
            return;
        }
        if !self.has_heap() {
            return heap::leave(0);
        }
        let is_open = |index, id| {
            let op = self.open.get(index).filter(|_| index <= self.open.len());
            op.is_some_and(|op| op.id() == id)
        };
        let entered = heap::leave_ended(is_open);
        for index in entered.saturating_add(1)..=self.open.len() {
            self.enter_heap_at(index);
        }
    }

    fn enter_heap_at(&mut self, index: usize) {
        let words = self.words_of(index);
        let (Some(op), Some(target)) = (self.open.get(index), &self.target) else {
            return;
        };
        let entered = if op.is_op() {
            Entered::Op(self.sink.number_of_inputs(words, target.shared()))
        } else {
            Entered::Adopted(op.at.get() as u16)
        };
        // The op then ends on the long path, which also ends charging memory to it.
        op.make_unusual();
        heap::enter(index, op.id(), entered);
    }

    /// Ends charging memory to an open op and those inside it.
    pub(super) fn leave_heap(&self, index: usize) {
        if self.has_heap() {
            heap::leave(index);
        }
    }

    /// The context of a task that begins inside the innermost op.
    pub(crate) fn heap_context_of(&mut self, words: &[usize]) -> u16 {
        if !self.has_heap() {
            return heap::OUTSIDE;
        }
        self.enter_heap();
        let Some(target) = &self.target else {
            return heap::OUTSIDE;
        };
        let signature = self.sink.number_of_words(words, target.shared());
        signature.map_or(heap::OTHER, heap::context_of)
    }

    /// The context of the innermost op.
    pub(crate) fn heap_context(&mut self) -> u16 {
        if !self.has_heap() {
            return heap::OUTSIDE;
        }
        self.enter_heap();
        heap::context()
    }

    /// Counts a task that has ended.
    pub(crate) fn end_heap_task(&self, context: u16) {
        if self.has_heap() {
            heap::count_call(context);
        }
    }
}

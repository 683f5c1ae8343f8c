//! Which op memory is charged to, while a session records the heap.

use super::Recorder;
use crate::engine::heap;
use std::sync::atomic::Ordering;

impl Recorder {
    /// Whether allocations are charged to the ops of this recorder.
    pub(super) fn has_heap(&self) -> bool {
        self.session()
            .is_some_and(|shared| shared.records_heap.load(Ordering::Relaxed))
    }

    /// Charges what the thread allocates to an op that begins, whose inputs have been described.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_heap(&mut self, step: u32) {
        let Some(target) = &self.target else {
            return;
        };
        if let Some(signature) = self.sink.number_of_inputs(target.shared()) {
            heap::enter(step, signature);
        }
    }

    /// The context of a task that begins inside of the innermost op.
    pub(crate) fn heap_context_of(&mut self, words: &[usize]) -> u16 {
        let Some(target) = self.target.as_ref().filter(|_| self.records_heap) else {
            return heap::OUTSIDE;
        };
        let signature = self.sink.number_of_words(words, target.shared());
        signature.map_or(heap::OTHER, heap::context_of)
    }

    /// The context of the innermost op.
    pub(crate) fn heap_context(&self) -> u16 {
        if self.records_heap {
            heap::context()
        } else {
            heap::OUTSIDE
        }
    }

    /// Counts a task that has ended.
    pub(crate) fn end_heap_task(&self, context: u16) {
        if self.records_heap {
            heap::count_call(context);
        }
    }
}

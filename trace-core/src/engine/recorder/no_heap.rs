//! Replaces `heap` without the feature `alloc`: memory is not charged to ops.

use super::Recorder;

#[allow(clippy::unused_self, reason = "the signatures of the feature")]
impl Recorder {
    #[inline]
    pub(super) fn leave_heap(&self, _index: usize) {}

    #[inline]
    pub(crate) fn heap_context_of(&mut self, _words: &[usize]) -> u16 {
        0
    }

    #[inline]
    pub(crate) fn heap_context(&mut self) -> u16 {
        0
    }

    #[inline]
    pub(crate) fn end_heap_task(&self, _context: u16) {}
}

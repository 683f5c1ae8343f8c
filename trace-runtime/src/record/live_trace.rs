//! The trace that `TraceRecorder::current_trace` returns: built by the first call, extended by later ones.

use crate::model::{RecordedExecutionTrace, RecordedTraceEntry};
use std::cell::{OnceCell, RefCell};

/// The trace as it was last returned.
#[derive(Debug)]
pub(super) struct LiveTrace {
    shown: OnceCell<RecordedExecutionTrace>,
    /// The trace as last returned, if it changed since then.
    stale: RefCell<Option<RecordedExecutionTrace>>,
}

impl LiveTrace {
    pub(super) const fn new() -> LiveTrace {
        LiveTrace {
            shown: OnceCell::new(),
            stale: RefCell::new(None),
        }
    }

    /// Marks the trace as changed since the last call.
    #[inline]
    pub(super) fn invalidate(&mut self) {
        if self.shown.get().is_some() {
            self.outdate();
        }
    }

    #[cold]
    #[inline(never)]
    fn outdate(&mut self) {
        *self.stale.get_mut() = self.shown.take();
    }

    /// The trace, updated with new entries: `since` gets the number of entries so far, and returns those after them.
    pub(super) fn get(
        &self,
        since: impl FnOnce(usize) -> Vec<RecordedTraceEntry>,
    ) -> &RecordedExecutionTrace {
        self.shown.get_or_init(|| {
            let mut trace = self.stale.take().unwrap_or_default();
            for entry in since(trace.entries.len()) {
                insert(&mut trace, entry);
            }
            trace
        })
    }
}

/// Inserts an op before its children, which ended earlier. Their time is then no longer added to the total.
fn insert(trace: &mut RecordedExecutionTrace, entry: RecordedTraceEntry) {
    let at = trace
        .entries
        .partition_point(|known| known.step < entry.step);
    if at == trace.entries.len() {
        return trace.add_entry(entry);
    }
    let counted: f64 = trace.entries[at..]
        .iter()
        .filter(|child| child.parent == Some(entry.step))
        .map(|child| child.duration_us - child.suspended_us)
        .sum();
    trace.total_duration_us += entry.duration_us - entry.suspended_us - counted;
    trace.entries.insert(at, entry);
}

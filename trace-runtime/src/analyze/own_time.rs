//! The stretches of time in which each entry was the innermost of its thread.

use super::forest::Visit;
use super::nesting::{active_ns, parent_index};
use super::structure::Structure;
use crate::model::{EntryView, TraceView};
use std::collections::HashMap;

/// Calls `visit` with the index, the start and the end of every stretch in which an entry ran and no
/// entry inside of it did.
///
/// Stretches inside one root come in order, and so do the roots of a thread. Entries without a start have none. The stretches of an async op are as
/// long as it ran: see [`TaskTimes`].
pub(crate) fn own_stretches<T: TraceView + ?Sized>(
    trace: &T,
    structure: &Structure,
    mut visit: impl FnMut(usize, i64, i64),
) {
    let Structure { nesting, tasks } = structure;
    let span = |index: usize| tasks.span(index, &trace.view(index));
    if nesting.is_flat() {
        for index in 0..trace.entry_count() {
            if let Some((start, end)) = span(index) {
                visit(index, start, end);
            }
        }
        return;
    }
    // For each open entry, the start of the time that has not been given to a stretch.
    let mut open: Vec<(usize, i64, i64)> = Vec::new();
    nesting.walk(|step| match step {
        Visit::Enter(index) => {
            let Some((start, end)) = span(index) else {
                open.push((index, i64::MIN, i64::MIN));
                return;
            };
            if let Some((outer, from, outer_end)) = open.last_mut()
                && *from < *outer_end
            {
                if *from < start {
                    visit(*outer, *from, start.min(*outer_end));
                }
                *from = (*from).max(end);
            }
            open.push((index, start, end));
        }
        Visit::Leave(_) => {
            let Some((index, from, end)) = open.pop() else {
                return;
            };
            if from < end {
                visit(index, from, end);
            }
        }
    });
}

/// The own running time of async ops.
///
/// An async op occupies its thread only while it is polled. When it was suspended is not recorded, so its own
/// running time, without that of the ops inside of it, is taken from its start on: an op begins with its first poll.
#[derive(Debug, Default)]
pub(crate) struct TaskTimes {
    /// For each op that was suspended, its running time without the ops inside of it.
    own_ns: HashMap<u32, u64>,
}

impl TaskTimes {
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &T) -> TaskTimes {
        let mut own_ns: HashMap<u32, u64> = HashMap::new();
        for (index, view) in trace.views().enumerate() {
            if view.suspended_ns() > 0 {
                own_ns.insert(index as u32, active_ns(&view));
            }
        }
        if !own_ns.is_empty() {
            for (index, view) in trace.views().enumerate() {
                if let Some(parent) = parent_index(trace, index, &view)
                    && let Some(own) = own_ns.get_mut(&(parent as u32))
                {
                    *own = own.saturating_sub(active_ns(&view));
                }
            }
        }
        TaskTimes { own_ns }
    }

    /// Start and end of an entry; for an async op that was suspended, as long as it ran itself.
    pub(crate) fn span(&self, index: usize, view: &EntryView<'_>) -> Option<(i64, i64)> {
        let start = view.start_ns()?;
        match self.own_ns.get(&(index as u32)) {
            Some(&own) => Some((start, start.saturating_add_unsigned(own))),
            None => Some((start, view.end_ns()?)),
        }
    }
}

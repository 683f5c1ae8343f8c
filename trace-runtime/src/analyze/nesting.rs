//! The nesting of entries on each thread, and their self times.

use super::forest::{Forest, NONE, Visit};
use crate::model::{EntryView, TraceView};
use std::cell::OnceCell;

/// The self time of each entry, in nanoseconds: its duration without the time in which it was
/// suspended and without the direct children on its thread.
///
/// Work that an op handed to another thread is not subtracted.
pub fn self_times_ns<T: TraceView + ?Sized>(trace: &T) -> Vec<u64> {
    let nesting = Nesting::of(trace);
    let views = trace.views().enumerate();
    views
        .map(|(index, view)| nesting.self_ns(index, &view))
        .collect()
}

/// The entries inside each entry, on the same thread and rank.
///
/// If the parent is on another thread, it handed the work over: the work is not inside it and is not subtracted from
/// its self time. For a flat trace, nothing is stored.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    parent: Vec<u32>,
    children_ns: Vec<u64>,
    suspends: bool,
    /// Built at the first walk.
    forest: OnceCell<Forest>,
}

impl Nesting {
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &T) -> Nesting {
        let mut nesting = Nesting::default();
        for (index, view) in trace.views().enumerate() {
            nesting.suspends |= view.suspended_ns() > 0;
            let Some(parent) = parent_index(trace, index, &view) else {
                continue;
            };
            let above = trace.view(parent);
            if above.thread() != view.thread() || above.rank() != view.rank() {
                continue;
            }
            if nesting.parent.is_empty() {
                nesting.parent = vec![NONE; trace.entry_count()];
                nesting.children_ns = vec![0; trace.entry_count()];
            }
            nesting.parent[index] = parent as u32;
            let sum = &mut nesting.children_ns[parent];
            *sum = sum.saturating_add(active_ns(&view));
        }
        nesting
    }

    /// True if no entry is inside another.
    pub(crate) fn is_flat(&self) -> bool {
        self.parent.is_empty()
    }

    /// The index of the entry around an entry, or [`NONE`].
    pub(crate) fn parent(&self, index: usize) -> u32 {
        self.parent.get(index).copied().unwrap_or(NONE)
    }

    /// True if some entry was suspended.
    pub(crate) fn suspends(&self) -> bool {
        self.suspends
    }

    /// The self time of an entry in nanoseconds.
    pub(crate) fn self_ns(&self, index: usize, view: &EntryView<'_>) -> u64 {
        active_ns(view).saturating_sub(self.inside_ns(index))
    }

    /// The self time of an entry in microseconds; its exact duration if nothing is inside it.
    pub(crate) fn self_us(&self, index: usize, view: &EntryView<'_>) -> f64 {
        match self.inside_ns(index) {
            0 => active_us(view),
            inside => active_ns(view).saturating_sub(inside) as f64 / 1000.0,
        }
    }

    fn inside_ns(&self, index: usize) -> u64 {
        self.children_ns.get(index).copied().unwrap_or(0)
    }

    /// For each entry, true if it runs inside another entry of its group; empty for a flat trace.
    ///
    /// `group` numbers the groups from 0, with [`NONE`] for entries of no group.
    pub(crate) fn inside_own_group(&self, group: &[u32]) -> Vec<bool> {
        if self.is_flat() {
            return Vec::new();
        }
        self.forest().inside_own_group(&self.parent, group)
    }

    /// Visits every entry twice: before its children and after them. Does nothing for a flat trace.
    pub(crate) fn walk(&self, visit: impl FnMut(Visit)) {
        self.forest().walk(&self.parent, visit);
    }

    fn forest(&self) -> &Forest {
        self.forest.get_or_init(|| Forest::of(&self.parent))
    }
}

/// The index of the entry's parent, on any thread. `None` if the parent did not begin before it.
pub(crate) fn parent_index<T: TraceView + ?Sized>(
    trace: &T,
    index: usize,
    view: &EntryView<'_>,
) -> Option<usize> {
    trace
        .index_of_step(view.parent()?)
        .filter(|&parent| parent < index)
}

/// The time in which an entry held its thread, in nanoseconds.
pub(crate) fn active_ns(view: &EntryView<'_>) -> u64 {
    view.duration_ns().saturating_sub(view.suspended_ns())
}

/// The time in which an entry held its thread, in microseconds.
pub(crate) fn active_us(view: &EntryView<'_>) -> f64 {
    match view.suspended_ns() {
        0 => view.duration_us(),
        suspended => view.duration_us() - suspended as f64 / 1000.0,
    }
}

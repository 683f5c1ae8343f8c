//! The intervals in which each entry was the innermost of its thread.

use super::forest::Visit;
use super::intervals::Intervals;
use super::nesting::{active_ns, parent_index};
use super::structure::Structure;
use crate::model::{EntryView, PauseKind, TraceView};
use std::collections::HashMap;

/// An entry, the start of the time that is not in an interval yet, and its end.
type Open = (usize, i64, i64);

/// Calls `visit` with the index, the start and the end of every interval in which an entry was the innermost of its
/// thread.
///
/// The intervals inside one root are visited in order, unless there are async ops in it. The roots of a thread are
/// visited in order too. Entries without a start have no intervals. An async op that was suspended has intervals only
/// while it ran: see [`TaskTimes`].
pub(crate) fn own_stretches<T: TraceView + ?Sized>(
    trace: &T,
    structure: &Structure,
    mut visit: impl FnMut(usize, i64, i64),
) {
    let Structure { nesting, tasks } = structure;
    if nesting.is_flat() {
        for index in 0..trace.entry_count() {
            for (start, end) in tasks.stretches(index, &trace.view(index)) {
                visit(index, start, end);
            }
        }
        return;
    }
    // An outer entry is not the innermost during an interval of an entry inside it.
    let cut = |open: &mut [Open], start: i64, end: i64, visit: &mut dyn FnMut(usize, i64, i64)| {
        if let Some((outer, from, outer_end)) = open.last_mut()
            && *from < *outer_end
        {
            if *from < start {
                visit(*outer, *from, start.min(*outer_end));
            }
            *from = (*from).max(end);
        }
    };
    let mut open: Vec<Open> = Vec::new();
    nesting.walk(|step| match step {
        Visit::Enter(index) => {
            if let Some(task) = tasks.task(index) {
                for &(start, end) in task.running.as_slice() {
                    cut(&mut open, start, end, &mut visit);
                }
                for &(start, end) in task.own.as_slice() {
                    visit(index, start, end);
                }
                open.push((index, i64::MIN, i64::MIN));
                return;
            }
            let view = trace.view(index);
            let Some((start, end)) = view.start_ns().zip(view.end_ns()) else {
                open.push((index, i64::MIN, i64::MIN));
                return;
            };
            cut(&mut open, start, end, &mut visit);
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

/// The times at which async ops ran.
///
/// An async op uses its thread only while it is polled. Its [pauses](crate::model::Pause) show when it was suspended.
/// Files of older versions have suspended time without pauses; it is assumed to be at the end of the op.
#[derive(Debug, Default)]
pub(crate) struct TaskTimes {
    /// For each op that was suspended.
    by_entry: HashMap<u32, Polls>,
}

/// The times at which one async op ran.
#[derive(Debug, Default)]
struct Polls {
    /// The times at which it was polled.
    running: Intervals,
    /// The part of these times in which no op inside it ran.
    own: Intervals,
}

impl TaskTimes {
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &T) -> TaskTimes {
        let mut by_entry: HashMap<u32, Polls> = HashMap::new();
        for (index, view) in trace.views().enumerate() {
            if view.suspended_ns() > 0 && view.start_ns().is_some() {
                let running = running(&view);
                let own = running.clone();
                by_entry.insert(index as u32, Polls { running, own });
            }
        }
        if !by_entry.is_empty() {
            let mut inside: HashMap<u32, Vec<(i64, i64)>> = HashMap::new();
            for (index, view) in trace.views().enumerate() {
                let Some(parent) = parent_index(trace, index, &view) else {
                    continue;
                };
                if by_entry.contains_key(&(parent as u32)) {
                    let list = inside.entry(parent as u32).or_default();
                    match by_entry.get(&(index as u32)) {
                        Some(task) => list.extend(task.running.as_slice()),
                        None => list.extend(view.start_ns().zip(view.end_ns())),
                    }
                }
            }
            for (parent, spans) in inside {
                if let Some(task) = by_entry.get_mut(&parent) {
                    task.own = task.running.difference(&spans.into_iter().collect());
                }
            }
        }
        TaskTimes { by_entry }
    }

    /// The times at which an entry ran; for an async op that was suspended, the times at which it was the innermost.
    pub(crate) fn stretches<'a>(
        &'a self,
        index: usize,
        view: &EntryView<'_>,
    ) -> impl Iterator<Item = (i64, i64)> + use<'a> {
        let task = self.task(index);
        let whole = view.start_ns().zip(view.end_ns());
        let own = task.map_or(&[][..], |task| task.own.as_slice());
        own.iter().copied().chain(whole.filter(|_| task.is_none()))
    }

    fn task(&self, index: usize) -> Option<&Polls> {
        self.by_entry.get(&(index as u32))
    }
}

/// The times at which an async op was polled.
fn running(view: &EntryView<'_>) -> Intervals {
    let Some((start, end)) = view.start_ns().zip(view.end_ns()) else {
        return Intervals::default();
    };
    let pauses = view.pauses().iter();
    let suspended: Intervals = pauses
        .filter(|pause| pause.kind == PauseKind::Suspended)
        .map(|pause| {
            let from = start.saturating_add_unsigned(pause.start_ns);
            (from, from.saturating_add_unsigned(pause.length_ns))
        })
        .collect();
    let whole: Intervals = [(start, end)].into_iter().collect();
    let listed = whole.difference(&suspended);
    // The rest of the suspended time is assumed to be at the end of the op.
    let mut left = listed.length().saturating_sub(active_ns(view));
    let mut kept: Vec<(i64, i64)> = listed.as_slice().to_vec();
    while let Some((from, to)) = kept.pop() {
        let length = to.abs_diff(from);
        if length > left {
            kept.push((from, to.saturating_sub_unsigned(left)));
            break;
        }
        left -= length;
    }
    kept.into_iter().collect()
}

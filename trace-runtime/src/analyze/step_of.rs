//! Assigns entries to steps.

use super::device_time::is_accelerator;
use super::forest::NONE;
use super::nesting::parent_index;
use crate::model::hash::FastMap;
use crate::model::{EntryView, TraceStep, TraceView};
use std::collections::BTreeMap;

/// A step with its index in [`TraceView::steps`].
type Indexed<'a> = (usize, &'a TraceStep);

/// The steps of each rank, by start.
#[derive(Debug)]
pub(crate) struct StepsByRank<'a> {
    by_rank: BTreeMap<Option<u32>, Vec<Indexed<'a>>>,
}

impl<'a> StepsByRank<'a> {
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &'a T) -> StepsByRank<'a> {
        let mut by_rank: BTreeMap<_, Vec<(usize, &TraceStep)>> = BTreeMap::new();
        for (index, step) in trace.steps().iter().enumerate() {
            by_rank.entry(step.rank).or_default().push((index, step));
        }
        for steps in by_rank.values_mut() {
            steps.sort_by_key(|(_, step)| step.start_ns);
        }
        StepsByRank { by_rank }
    }

    /// The step of a rank at a moment. If there are several, the one that began last.
    pub(crate) fn at(&self, rank: Option<u32>, at_ns: i64) -> Option<usize> {
        let steps = self.by_rank.get(&rank)?;
        let until = steps.partition_point(|(_, step)| step.start_ns <= at_ns);
        found_in(steps, until, at_ns)
    }
}

/// The last of the first `until` steps of a rank, if it has not ended.
fn found_in(steps: &[Indexed<'_>], until: usize, at_ns: i64) -> Option<usize> {
    let (index, step) = steps.get(until.checked_sub(1)?)?;
    step.contains(at_ns).then_some(*index)
}

/// Finds the steps of many moments. Moments of one rank are mostly in order, so the search begins at the last result.
struct Cursors<'s, 'a> {
    of_rank: FastMap<Option<u32>, (&'s [Indexed<'a>], usize)>,
}

impl<'s, 'a> Cursors<'s, 'a> {
    fn new(steps: &'s StepsByRank<'a>) -> Cursors<'s, 'a> {
        let of_rank = steps.by_rank.iter();
        Cursors {
            of_rank: of_rank
                .map(|(rank, steps)| (*rank, (steps.as_slice(), 0)))
                .collect(),
        }
    }

    fn at(&mut self, rank: Option<u32>, at_ns: i64) -> Option<usize> {
        let (steps, until) = self.of_rank.get_mut(&rank)?;
        let began = |place: usize| {
            let step = steps.get(place);
            step.is_some_and(|(_, step)| step.start_ns <= at_ns)
        };
        if *until > 0 && !began(*until - 1) || began(*until + 1) {
            *until = steps.partition_point(|(_, step)| step.start_ns <= at_ns);
        } else if began(*until) {
            *until += 1;
        }
        found_in(steps, *until, at_ns)
    }
}

/// For each entry the index of its step in [`TraceView::steps`], or `None`; empty if the trace has no steps.
///
/// An entry belongs to the step of its rank in which it began. Work on a device may run later than its step: it belongs
/// to the step in which the runtime call that launched it began. If the trace does not have that call, it belongs to
/// the step of the op that launched it, and otherwise to the step in which the work began. An op that has no start or
/// began before the first step belongs to no step, even if steps begin while it runs.
pub fn step_of_entries<T: TraceView + ?Sized>(trace: &T) -> Vec<Option<usize>> {
    let steps = compact_steps(trace).into_iter();
    steps
        .map(|step| (step != NONE).then_some(step as usize))
        .collect()
}

/// [`step_of_entries`] in a quarter of the memory, with [`NONE`] for entries outside of steps.
pub(crate) fn compact_steps<T: TraceView + ?Sized>(trace: &T) -> Vec<u32> {
    if trace.steps().is_empty() {
        return Vec::new();
    }
    let steps = StepsByRank::of(trace);
    let mut cursors = Cursors::new(&steps);
    let mut at = |rank: Option<u32>, ns: i64| cursors.at(rank, ns).map_or(NONE, |step| step as u32);
    let mut launched = LaunchTimes::of(trace);
    let mut found: Vec<u32> = Vec::with_capacity(trace.entry_count());
    for (index, view) in trace.views().enumerate() {
        let step = match launched.at(index) {
            Some(call_start) => at(view.rank(), call_start),
            None => match launching_op(trace, index, &view) {
                Some(op) => found[op],
                None => view.start_ns().map_or(NONE, |start| at(view.rank(), start)),
            },
        };
        found.push(step);
    }
    found
}

/// For each step of [`TraceView::steps`], the end of the last device work that belongs to it; `i64::MIN` for a step
/// without any.
pub(crate) fn device_ends<T: TraceView + ?Sized>(trace: &T) -> Vec<i64> {
    let mut ends = vec![i64::MIN; trace.steps().len()];
    if ends.is_empty() {
        return ends;
    }
    let steps = StepsByRank::of(trace);
    let mut launched = LaunchTimes::of(trace);
    for (index, view) in trace.views().enumerate() {
        let Some(end) = view.end_ns().filter(|_| is_accelerator(&view)) else {
            continue;
        };
        let began = launched.at(index).or_else(|| {
            let op = launching_op(trace, index, &view);
            op.map_or(view.start_ns(), |op| trace.view(op).start_ns())
        });
        if let Some(step) = began.and_then(|at| steps.at(view.rank(), at)) {
            ends[step] = ends[step].max(end);
        }
    }
    ends
}

/// The start of the runtime call that launched each entry. Entries are asked for in order, so nothing is kept per entry.
struct LaunchTimes {
    /// Entry and call, by entry.
    launches: std::iter::Peekable<std::vec::IntoIter<(u32, u32)>>,
    /// By call.
    starts: Vec<i64>,
}

impl LaunchTimes {
    fn of<T: TraceView + ?Sized>(trace: &T) -> LaunchTimes {
        let starts: Vec<i64> = trace.runtime_calls().map(|call| call.start_ns).collect();
        let known = trace.launches().filter(|launch| launch.call < starts.len());
        let mut launches: Vec<(u32, u32)> = known
            .filter_map(|launch| {
                let index = trace.index_of_step(launch.step)?;
                Some((index as u32, launch.call as u32))
            })
            .collect();
        launches.sort_by_key(|launch| launch.0);
        LaunchTimes {
            launches: launches.into_iter().peekable(),
            starts,
        }
    }

    /// The start of the call that launched the entry at `index`, if it is known. If there are several, of the last one
    /// in the trace. `index` grows from call to call.
    fn at(&mut self, index: usize) -> Option<i64> {
        let mut start = None;
        while let Some((entry, call)) = self.launches.next_if(|next| next.0 as usize <= index) {
            start = (entry as usize == index).then(|| self.starts[call as usize]);
        }
        start
    }
}

/// The op that launched work on a device.
fn launching_op<T: TraceView + ?Sized>(
    trace: &T,
    index: usize,
    view: &EntryView<'_>,
) -> Option<usize> {
    if !is_accelerator(view) {
        return None;
    }
    let parent = parent_index(trace, index, view)?;
    let above = trace.view(parent);
    (above.rank() == view.rank()).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Launch, NewEntry, RecordedExecutionTrace, RuntimeCall, TraceStoreBuilder};

    #[test]
    fn a_cursor_finds_the_steps_that_a_search_finds() {
        let mut trace = RecordedExecutionTrace::new();
        // Steps with a gap, a step inside another, and two that begin at the same time.
        for (number, start, end) in [
            (0, 0, 10),
            (1, 10, 30),
            (2, 12, 20),
            (3, 40, 50),
            (4, 40, 45),
        ] {
            trace
                .steps
                .push(TraceStep::new(number, start, end).with_rank(Some(1)));
        }
        let steps = StepsByRank::of(&trace);
        let mut cursors = Cursors::new(&steps);
        let forward = -1..60;
        let jumps = (0..60).map(|at| (at * 37) % 61 - 1);
        for at in forward.chain(jumps) {
            assert_eq!(cursors.at(Some(1), at), steps.at(Some(1), at), "{at}");
            assert_eq!(cursors.at(None, at), None);
        }
    }

    #[test]
    fn of_several_launches_of_an_entry_the_last_one_counts() {
        let mut builder = TraceStoreBuilder::new();
        let host = builder.thread(Some(1), None, None);
        for start in 0..4 {
            builder
                .push(&NewEntry::new("gemm", host, start, 1))
                .unwrap();
        }
        for start_ns in [10, 20, 30] {
            builder.push_call(host, &RuntimeCall::new("launch", start_ns, 1));
        }
        for (step, call) in [(3, 0), (1, 2), (3, 1), (1, 7)] {
            builder.push_launch(Launch::new(step, call));
        }
        let mut launched = LaunchTimes::of(&builder.finish());
        // An entry that is not asked for is passed over.
        let starts = [0, 1, 3].map(|index| launched.at(index));
        assert_eq!(starts, [None, Some(30), Some(20)]);
    }
}

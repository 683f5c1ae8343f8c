//! A part of a trace, as a separate trace.

use crate::analyze::StepsByRank;
use crate::model::view::sealed;
use crate::model::{EntryView, Launch, MemoryEvent, RuntimeCall, TraceStep, TraceView, Views};
use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

/// A range of the entries of a trace, one rank, or some steps. Steps, parents and times are those of the whole trace,
/// so that parts can be compared.
pub(super) struct TracePart<'a> {
    trace: &'a dyn TraceView,
    picked: Picked,
    rest: Rest<'a>,
    /// The numbers that its runtime calls have in the whole trace, in ascending order.
    calls: Vec<u32>,
    steps: Vec<TraceStep>,
}

/// The memory events and runtime calls that belong to a part.
#[derive(Debug)]
enum Rest<'a> {
    Time(Range<i64>),
    Rank(Option<u32>),
    /// The numbers of the chosen steps. Each rank runs a step at a different time.
    #[cfg_attr(not(feature = "html"), expect(dead_code, reason = "made for a page"))]
    Steps(RangeInclusive<u64>, StepsByRank<'a>, &'a [TraceStep]),
}

#[derive(Debug)]
enum Picked {
    Stretch(Range<usize>),
    /// Indices in ascending order.
    Listed(Vec<u32>),
}

impl Rest<'_> {
    fn contains(&self, at_ns: i64, rank: Option<u32>) -> bool {
        match self {
            Rest::Time(range) => range.contains(&at_ns),
            Rest::Rank(own) => *own == rank,
            Rest::Steps(numbers, by_rank, all) => by_rank
                .at(rank, at_ns)
                .is_some_and(|index| numbers.contains(&all[index].number)),
        }
    }

    /// True if a step is in this part. A step that a cut divides is in both parts.
    fn has_step(&self, step: &TraceStep) -> bool {
        match self {
            Rest::Time(time) => {
                step.start_ns < time.end
                    && (step.end_ns > time.start || time.contains(&step.start_ns))
            }
            Rest::Rank(own) => *own == step.rank,
            Rest::Steps(numbers, ..) => numbers.contains(&step.number),
        }
    }
}

impl<'a> TracePart<'a> {
    fn new(trace: &'a dyn TraceView, picked: Picked, rest: Rest<'a>) -> Self {
        let calls = (0..)
            .zip(trace.runtime_calls())
            .filter(|(_, call)| rest.contains(call.start_ns, call.rank))
            .map(|(number, _)| number)
            .collect();
        let steps = trace.steps().iter().filter(|step| rest.has_step(step));
        TracePart {
            trace,
            picked,
            steps: steps.copied().collect(),
            rest,
            calls,
        }
    }

    /// The number of a call in this part, for its number in the whole trace.
    fn call(&self, number: usize) -> Option<usize> {
        self.calls.binary_search(&u32::try_from(number).ok()?).ok()
    }

    pub(super) fn stretch(trace: &'a dyn TraceView, range: Range<usize>) -> Self {
        let start_of = |index: usize| trace.view(index).start_ns();
        let from = (range.start > 0).then(|| start_of(range.start)).flatten();
        let until = (range.end < trace.entry_count())
            .then(|| start_of(range.end))
            .flatten();
        let time = from.unwrap_or(i64::MIN)..until.unwrap_or(i64::MAX);
        TracePart::new(trace, Picked::Stretch(range), Rest::Time(time))
    }

    /// A rank, with the indices of its entries in ascending order.
    pub(super) fn rank(trace: &'a dyn TraceView, rank: Option<u32>, entries: Vec<u32>) -> Self {
        TracePart::new(trace, Picked::Listed(entries), Rest::Rank(rank))
    }
}

#[cfg(feature = "html")]
impl<'a> TracePart<'a> {
    /// The entries of the steps with these numbers, as
    /// [`restrict_to_steps`](crate::analyze::restrict_to_steps) chooses them. `step_of` is that of the whole trace.
    pub(super) fn steps(
        trace: &'a dyn TraceView,
        numbers: RangeInclusive<u64>,
        step_of: &[Option<usize>],
    ) -> Self {
        let all = trace.steps();
        let own =
            |step: &Option<usize>| step.is_some_and(|index| numbers.contains(&all[index].number));
        let listed = (0u32..).zip(step_of).filter(|(_, step)| own(step));
        let listed = listed.map(|(index, _)| index).collect();
        let rest = Rest::Steps(numbers, StepsByRank::of(trace), all);
        TracePart::new(trace, Picked::Listed(listed), rest)
    }
}

impl sealed::Sealed for TracePart<'_> {}

impl TraceView for TracePart<'_> {
    fn entry_count(&self) -> usize {
        match &self.picked {
            Picked::Stretch(range) => range.len(),
            Picked::Listed(list) => list.len(),
        }
    }

    fn view(&self, index: usize) -> EntryView<'_> {
        self.trace.view(match &self.picked {
            Picked::Stretch(range) => range.start + index,
            Picked::Listed(list) => list[index] as usize,
        })
    }

    fn views(&self) -> Views<'_> {
        match &self.picked {
            Picked::Stretch(range) => {
                Views::other(range.clone().map(|index| self.trace.view(index)))
            }
            Picked::Listed(list) => {
                Views::other(list.iter().map(|&index| self.trace.view(index as usize)))
            }
        }
    }

    fn index_of_step(&self, step: usize) -> Option<usize> {
        let index = self.trace.index_of_step(step)?;
        match &self.picked {
            Picked::Stretch(range) => range.contains(&index).then(|| index - range.start),
            Picked::Listed(list) => list.binary_search(&u32::try_from(index).ok()?).ok(),
        }
    }

    fn total_duration_us(&self) -> f64 {
        let nested = |view: &EntryView<'_>| {
            let parent = view.parent().and_then(|step| self.index_of_step(step));
            parent.is_some_and(|parent| {
                let above = self.view(parent);
                (above.thread(), above.rank()) == (view.thread(), view.rank())
            })
        };
        self.views()
            .filter(|view| !nested(view))
            .map(|view| view.duration_us() - view.suspended_ns() as f64 / 1000.0)
            .sum()
    }

    fn metadata(&self) -> &HashMap<String, String> {
        self.trace.metadata()
    }

    fn thread_name(&self, rank: Option<u32>, thread: u64) -> Option<&str> {
        self.trace.thread_name(rank, thread)
    }

    fn memory_events(&self) -> Box<dyn Iterator<Item = MemoryEvent<'_>> + '_> {
        let events = self.trace.memory_events();
        Box::new(events.filter(|event| self.rest.contains(event.at_ns, event.rank)))
    }

    fn runtime_calls(&self) -> Box<dyn Iterator<Item = RuntimeCall<'_>> + '_> {
        let calls = (0usize..).zip(self.trace.runtime_calls());
        let own = calls.filter(|&(number, _)| self.call(number).is_some());
        Box::new(own.map(|(_, call)| RuntimeCall {
            event: call.event.and_then(|event| self.call(event)),
            ..call
        }))
    }

    fn launches(&self) -> Box<dyn Iterator<Item = Launch> + '_> {
        Box::new(self.trace.launches().filter_map(|launch| {
            self.index_of_step(launch.step)?;
            let call = self.call(launch.call)?;
            Some(Launch { call, ..launch })
        }))
    }

    fn steps(&self) -> &[TraceStep] {
        &self.steps
    }
}

//! Merges the traces of the ranks of one job, after their clocks have been aligned.

use super::builder::TraceStoreBuilder;
use super::error::{TraceError, TraceErrorKind};
use super::memory::MemoryEvent;
use super::merge_source::Source;
use super::runtime_call::{Launch, RuntimeCall};
use super::store::TraceStore;
use super::trace_step::TraceStep;
use super::view::TraceView;
use super::wire::metadata::{MERGE_CLOCK, START_UNIX_NS, counts_missing, of_rank};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

/// If wall clocks differ by more, the traces are from different runs or the clocks are wrong.
const FURTHEST_APART_NS: u64 = 24 * 3600 * 1_000_000_000;

/// The conversion of the clocks of all ranks to one clock.
#[derive(Debug)]
pub(crate) struct ClockAlignment {
    /// The conversion for each trace.
    pub(crate) clocks: Vec<ClockMap>,
    /// The method by which it was found, for the metadata.
    pub(crate) how: String,
    /// The start of the merged trace by the wall clock, if it is known.
    pub(crate) start_unix_ns: Option<i64>,
    /// Facts about the clock of each trace, for the metadata of its ranks.
    pub(crate) facts: Vec<Vec<(&'static str, String)>>,
}

/// Converts the times of one trace to times of the merged trace.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ClockMap {
    /// Nanoseconds to add.
    pub(crate) offset_ns: i64,
    /// Nanoseconds to add for each nanosecond after [`from_ns`](Self::from_ns).
    pub(crate) drift: f64,
    /// The moment at which the offset is exact.
    pub(crate) from_ns: i64,
}

impl ClockMap {
    /// The conversion of a clock that differs only by an offset.
    pub(crate) fn offset(offset_ns: i64) -> ClockMap {
        ClockMap {
            offset_ns,
            ..ClockMap::default()
        }
    }

    /// Converts a time of the trace to the common clock. The order of times is kept.
    pub(crate) fn at(&self, ns: i64) -> i64 {
        let shifted = ns.saturating_add(self.offset_ns);
        if self.drift == 0.0 {
            return shifted;
        }
        let since = ns.saturating_sub(self.from_ns) as f64;
        shifted.saturating_add((since * self.drift).round() as i64)
    }
}

/// One trace of several ranks, with the given clocks.
pub(crate) fn merged(
    traces: &[TraceStore],
    alignment: &ClockAlignment,
) -> Result<TraceStore, TraceError> {
    let ranks = ranks_of(traces)?;
    let clocks = &alignment.clocks;
    let mut builder = TraceStoreBuilder::new();
    let mut total = 0.0;
    for (trace, rank) in traces.iter().zip(&ranks) {
        total += trace.total_duration_us();
        for thread in &trace.threads {
            let name = thread.name.as_deref();
            builder.thread(thread.id, thread.rank.or(*rank), name);
        }
    }
    let steps = push_entries(&mut builder, traces, &ranks, clocks)?;
    push_memory(&mut builder, traces, &ranks, clocks, &steps);
    push_calls(&mut builder, traces, &ranks, clocks, &steps);
    for (index, trace) in traces.iter().enumerate() {
        for step in trace.steps() {
            let at = |ns: i64| clocks[index].at(ns);
            builder.step(
                TraceStep::new(step.number, at(step.start_ns), at(step.end_ns))
                    .with_rank(step.rank.or(ranks[index]))
                    .with_thread(step.thread),
            );
        }
    }
    builder.metadata = merged_facts(traces, &ranks);
    builder.metadata(MERGE_CLOCK, &*alignment.how);
    if let Some(start) = alignment.start_unix_ns {
        builder.metadata(START_UNIX_NS, start.to_string());
    }
    for (index, facts) in alignment.facts.iter().enumerate() {
        let rank = rank_of_trace(traces, &ranks, index);
        for (key, value) in facts {
            builder.metadata(of_rank(rank, key), value);
        }
    }
    builder.total_us = Some(total);
    Ok(builder.finish())
}

/// The ranks of each trace.
pub(crate) fn ranks_of_each(traces: &[TraceStore]) -> Result<Vec<BTreeSet<u32>>, TraceError> {
    let unnamed = ranks_of(traces)?;
    let named = |trace: &TraceStore| -> BTreeSet<u32> {
        trace
            .threads
            .iter()
            .filter_map(|thread| thread.rank)
            .collect()
    };
    Ok(traces
        .iter()
        .zip(unnamed)
        .map(|(trace, unnamed)| named(trace).into_iter().chain(unnamed).collect())
        .collect())
}

/// For each trace the rank of its entries without one; `None` if all have one.
fn ranks_of(traces: &[TraceStore]) -> Result<Vec<Option<u32>>, TraceError> {
    let mut taken: BTreeMap<u32, usize> = BTreeMap::new();
    let mut take = |rank: u32, index: usize| match taken.insert(rank, index) {
        Some(other) if other != index => Err(TraceError::new(
            TraceErrorKind::InvalidInput,
            format!(
                "traces {} and {} are both of rank {rank}; name each rank's trace once",
                other + 1,
                index + 1
            ),
        )),
        _ => Ok(()),
    };
    let mut unnamed = Vec::new();
    for (index, trace) in traces.iter().enumerate() {
        let ranks: BTreeSet<_> = trace.threads.iter().map(|thread| thread.rank).collect();
        for &rank in ranks.iter().flatten() {
            take(rank, index)?;
        }
        unnamed.push(ranks.contains(&None) || ranks.is_empty());
    }
    unnamed
        .into_iter()
        .enumerate()
        .map(|(index, unnamed)| {
            if !unnamed {
                return Ok(None);
            }
            take(index as u32, index).map(|()| Some(index as u32))
        })
        .collect()
}

/// The earliest start by the wall clock and all starts, if all traces have it and differ by at most a day.
fn start_of(traces: &[TraceStore]) -> Option<(i64, Vec<i64>)> {
    let starts: Option<Vec<i64>> = traces
        .iter()
        .map(|trace| trace.metadata.get(START_UNIX_NS)?.parse().ok())
        .collect();
    let starts = starts?;
    let (first, last) = (*starts.iter().min()?, *starts.iter().max()?);
    (last.abs_diff(first) <= FURTHEST_APART_NS).then_some((first, starts))
}

/// Aligns traces by the wall clock, if all have it and they differ by at most a day.
pub(crate) fn by_wall_clock(traces: &[TraceStore]) -> Option<ClockAlignment> {
    let (first, starts) = start_of(traces)?;
    Some(ClockAlignment {
        clocks: starts
            .iter()
            .map(|start| ClockMap::offset(start - first))
            .collect(),
        how: "wall clock".to_owned(),
        start_unix_ns: Some(first),
        facts: vec![Vec::new(); traces.len()],
    })
}

/// Pushes all entries in the order they began, and returns the new `step` of each trace's entries.
fn push_entries(
    builder: &mut TraceStoreBuilder,
    traces: &[TraceStore],
    ranks: &[Option<u32>],
    clocks: &[ClockMap],
) -> Result<Vec<Vec<u32>>, TraceError> {
    let mut sources: Vec<Source<'_>> = traces
        .iter()
        .zip(ranks)
        .zip(clocks)
        .map(|((trace, rank), clock)| Source::new(builder, trace, *rank, *clock))
        .collect();
    // Each trace is sorted by start. For equal starts, the first trace comes first.
    let mut next: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::with_capacity(traces.len());
    for (index, source) in sources.iter_mut().enumerate() {
        next.extend(source.next_start().map(|start| Reverse((start, index))));
    }
    while let Some(Reverse((_, index))) = next.pop() {
        let source = &mut sources[index];
        source.copy_next(builder)?;
        next.extend(source.next_start().map(|start| Reverse((start, index))));
    }
    Ok(sources.into_iter().map(|source| source.steps).collect())
}

fn push_memory(
    builder: &mut TraceStoreBuilder,
    traces: &[TraceStore],
    ranks: &[Option<u32>],
    clocks: &[ClockMap],
    steps: &[Vec<u32>],
) {
    let mut events: Vec<MemoryEvent<'_>> = Vec::new();
    for (index, trace) in traces.iter().enumerate() {
        events.extend(trace.memory_events().map(|event| {
            MemoryEvent {
                at_ns: clocks[index].at(event.at_ns),
                rank: event.rank.or(ranks[index]),
                during: event
                    .during
                    .and_then(|step| steps[index].get(trace.index_of_step(step)?))
                    .map(|&step| step as usize),
                ..event
            }
        }));
    }
    events.sort_by_key(|event| event.at_ns);
    for event in &events {
        builder.push_memory(event);
    }
}

fn push_calls(
    builder: &mut TraceStoreBuilder,
    traces: &[TraceStore],
    ranks: &[Option<u32>],
    clocks: &[ClockMap],
    steps: &[Vec<u32>],
) {
    let mut order: Vec<(i64, usize, usize, RuntimeCall<'_>)> = Vec::new();
    for (index, trace) in traces.iter().enumerate() {
        let calls = trace.runtime_calls().enumerate();
        order.extend(calls.map(|(number, call)| {
            let start = clocks[index].at(call.start_ns);
            (start, index, number, call)
        }));
    }
    order.sort_by_key(|&(start, index, number, _)| (start, index, number));
    let mut numbers: Vec<Vec<usize>> = traces
        .iter()
        .map(|trace| vec![0; trace.calls.calls.len()])
        .collect();
    for (new, &(_, index, number, _)) in order.iter().enumerate() {
        numbers[index][number] = new;
    }
    let step_of = |index: usize, step: usize| {
        let entry = traces[index].index_of_step(step)?;
        steps[index].get(entry).map(|&step| step as usize)
    };
    for (start_ns, index, _, call) in order {
        let thread = builder.thread(call.thread, call.rank.or(ranks[index]), None);
        let call = RuntimeCall {
            start_ns,
            during: call.during.and_then(|step| step_of(index, step)),
            event: call
                .event
                .and_then(|event| numbers[index].get(event).copied()),
            ..call
        };
        builder.push_call(thread, &call);
    }
    for (index, trace) in traces.iter().enumerate() {
        for launch in trace.launches() {
            let call = numbers[index].get(launch.call).copied();
            if let (Some(step), Some(call)) = (step_of(index, launch.step), call) {
                builder.push_launch(Launch { step, call });
            }
        }
    }
}

fn merged_facts(traces: &[TraceStore], ranks: &[Option<u32>]) -> HashMap<String, String> {
    let mut merged = HashMap::new();
    let keys: BTreeSet<&String> = traces
        .iter()
        .flat_map(|trace| trace.metadata.keys())
        .collect();
    for key in keys {
        let values: Vec<_> = traces.iter().map(|trace| trace.metadata.get(key)).collect();
        if let Some(sum) = summed(key, &values) {
            merged.insert(key.clone(), sum);
            continue;
        }
        if let Some(Some(first)) = values.first()
            && values.iter().all(|value| *value == Some(first))
        {
            merged.insert(key.clone(), (*first).clone());
            continue;
        }
        for (index, value) in values.into_iter().enumerate() {
            let rank = rank_of_trace(traces, ranks, index);
            if let Some(value) = value {
                merged.insert(of_rank(rank, key), value.clone());
            }
        }
    }
    merged
}

/// The rank under which the facts of a trace are kept.
fn rank_of_trace(traces: &[TraceStore], ranks: &[Option<u32>], index: usize) -> u32 {
    let named = traces[index].threads.iter().find_map(|thread| thread.rank);
    named.or(ranks[index]).unwrap_or(index as u32)
}

/// The sum of a number of missing events over the traces; `None` for other keys.
fn summed(key: &str, values: &[Option<&String>]) -> Option<String> {
    if !counts_missing(key) {
        return None;
    }
    let numbers: Option<Vec<u64>> = values
        .iter()
        .flatten()
        .map(|value| value.parse().ok())
        .collect();
    Some(numbers?.iter().sum::<u64>().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::NewEntry;
    use super::*;

    fn rank(rank: Option<u32>, wall: Option<&str>, ops: &[(&str, i64)]) -> TraceStore {
        let mut builder = TraceStoreBuilder::new();
        let thread = builder.thread(Some(1), rank, None);
        let outer = builder
            .push(&NewEntry::new("step", thread, 0, 100))
            .unwrap();
        for &(name, start) in ops {
            let mut entry = NewEntry::new(name, thread, start, 5);
            entry.parent = Some(outer);
            builder.push(&entry).unwrap();
        }
        if let Some(wall) = wall {
            builder.metadata(START_UNIX_NS, wall);
        }
        builder.metadata("dropped", "2");
        builder.finish()
    }

    fn entries_of(trace: &TraceStore) -> Vec<(Option<u32>, &str, i64, Option<usize>)> {
        trace
            .views()
            .map(|view| {
                let start = view.start_ns().unwrap();
                (view.rank(), view.operation(), start, view.parent())
            })
            .collect()
    }

    #[test]
    fn ranks_are_aligned_by_the_wall_clock() {
        let a = rank(Some(4), Some("1000000000000000010"), &[("a", 3)]);
        let b = rank(Some(2), Some("1000000000000000000"), &[("b", 20)]);
        let both = TraceStore::merge(&[a, b]).unwrap();
        assert_eq!(
            entries_of(&both),
            [
                (Some(2), "step", 0, None),
                (Some(4), "step", 10, None),
                (Some(4), "a", 13, Some(1)),
                (Some(2), "b", 20, Some(0)),
            ]
        );
        assert_eq!(both.metadata()[START_UNIX_NS], "1000000000000000000");
        assert_eq!(both.metadata()["dropped"], "4");
        assert_eq!(both.metadata()["merge.clock"], "wall clock");
        assert_eq!(both.total_duration_us(), 0.2);
    }

    #[test]
    fn without_a_common_clock_each_rank_begins_at_zero() {
        let a = rank(None, Some("7"), &[]);
        let b = rank(None, None, &[]);
        let both = TraceStore::merge(&[a, b]).unwrap();
        assert_eq!(
            entries_of(&both),
            [(Some(0), "step", 0, None), (Some(1), "step", 0, None)]
        );
        assert_eq!(both.metadata()["rank.0.start_unix_ns"], "7");
    }

    #[test]
    fn a_rank_given_twice_is_an_error() {
        let one = || rank(Some(1), None, &[]);
        let error = TraceStore::merge(&[one(), one()]).unwrap_err().to_string();
        assert!(
            error.contains("traces 1 and 2 are both of rank 1"),
            "{error}"
        );
        let error = TraceStore::merge(&[rank(None, None, &[]), rank(Some(0), None, &[])]);
        assert!(error.is_err());
    }
}

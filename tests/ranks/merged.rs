//! Merging keeps every field of every entry: compared with a slow, simple version.

use crate::arbitrary;
use proptest::prelude::*;
use trace_runtime::{
    OpKind, RecordedExecutionTrace, RecordedTraceEntry, TraceStore, TraceView as _,
};

/// The entries that a merge must give, without their steps: parents by the position of the parent, starts in whole
/// nanoseconds.
fn expected(trace: &RecordedExecutionTrace) -> Vec<String> {
    let position = |step: usize| trace.entries.iter().position(|entry| entry.step == step);
    let describe = |(at, entry): (usize, &RecordedTraceEntry)| {
        let parent = entry
            .parent
            .and_then(position)
            .filter(|&parent| parent < at);
        text(entry.clone(), parent)
    };
    trace.entries.iter().enumerate().map(describe).collect()
}

fn text(mut entry: RecordedTraceEntry, parent: Option<usize>) -> String {
    entry.step = 0;
    entry.parent = None;
    // A store can only have starts up to some centuries.
    let near = |us: &f64| us.is_nan() || us.abs() < 1e15;
    let start = entry
        .start_us()
        .filter(near)
        .map(|us| (us * 1000.0).round() as i64);
    entry.set_start_us(None);
    format!("{parent:?} {start:?} {entry:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_merge_keeps_every_field_of_every_entry(
        mut traces in prop::collection::vec(arbitrary::trace(), 1..4)
    ) {
        for (rank, trace) in traces.iter_mut().enumerate() {
            trace.metadata.clear();
            trace.steps.clear();
            for entry in &mut trace.entries {
                entry.rank = Some(rank as u32);
                // Otherwise clocks would be aligned by communication.
                entry.kind = Some(OpKind::Compute);
            }
        }
        let stores: Vec<TraceStore> = traces
            .iter()
            .map(|trace| TraceStore::try_from(trace).unwrap())
            .collect();
        let merged = RecordedExecutionTrace::from(&TraceStore::merge(&stores).unwrap());
        prop_assert!(merged.entries.iter().enumerate().all(|(at, entry)| entry.step == at));
        let starts: Vec<i64> = (0..merged.entry_count())
            .filter_map(|at| merged.view(at).start_ns())
            .collect();
        let in_order = traces.iter().all(|trace| {
            trace.entries.iter().map(|entry| entry.start_us().unwrap_or(0.0)).is_sorted()
        });
        prop_assert!(starts.is_sorted() || !in_order);
        for (rank, trace) in traces.iter().enumerate() {
            let own = |entry: &RecordedTraceEntry| entry.rank == Some(rank as u32);
            // The position of each entry among those of its rank.
            let steps: Vec<usize> =
                merged.entries.iter().filter(|entry| own(entry)).map(|entry| entry.step).collect();
            let found: Vec<String> = merged
                .entries
                .iter()
                .filter(|entry| own(entry))
                .map(|entry| {
                    let parent = entry.parent.and_then(|step| steps.binary_search(&step).ok());
                    text(entry.clone(), parent)
                })
                .collect();
            prop_assert_eq!(found, expected(trace));
        }
    }
}

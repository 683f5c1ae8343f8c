//! Traces of every kind, for property tests.

use proptest::prelude::*;
use std::collections::BTreeMap;
use trace_runtime::{DType, OpKind, Outcome, RecordedExecutionTrace, RecordedTraceEntry};

/// Times that a clock could say, and some that none would.
fn time() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (0u64..10_000_000).prop_map(|ns| ns as f64 / 1000.0),
        1 => any::<f64>(),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(-0.0),
    ]
}

fn dims() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        8 => prop::collection::vec(0usize..5000, 0..5),
        1 => prop::collection::vec(any::<usize>(), 0..3),
        1 => prop::collection::vec(1usize..3, 60..70),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{1,3}",
        "\\PC{0,12}",
        Just(String::new()),
        Just("a;b\n\u{1b}[31m\"".into())
    ]
}

fn dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(vec![
        DType::Unknown,
        DType::F32,
        DType::BF16,
        DType::I64,
        DType::F4,
    ])
}

fn kind() -> impl Strategy<Value = Option<OpKind>> {
    prop::option::of(prop::sample::select(OpKind::ALL.to_vec()))
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop::sample::select(vec![
        Outcome::Ok,
        Outcome::Error,
        Outcome::Panicked,
        Outcome::Cancelled,
    ])
}

prop_compose! {
    /// Dtypes go with shapes: none, or one for each and not all unknown.
    fn tensors()(
        shapes in prop::collection::vec((dims(), dtype()), 0..4)
    ) -> (Vec<Vec<usize>>, Vec<DType>) {
        let (shapes, dtypes): (Vec<_>, Vec<_>) = shapes.into_iter().unzip();
        let typed = dtypes.iter().any(|dtype| *dtype != DType::Unknown);
        (shapes, if typed { dtypes } else { Vec::new() })
    }
}

prop_compose! {
    /// An entry with all its fields at will. Its step is for the trace to say.
    pub(crate) fn entry()(
        operation in name(),
        device_id in prop::option::of(name()),
        (input_shapes, input_dtypes) in tensors(),
        (mut outputs, output_dtypes) in tensors(),
        duration_us in time(),
        odd_memory in prop::option::weighted(0.2, any::<usize>()),
        (start_us, suspended_us) in (prop::option::of(time()), prop_oneof![4 => Just(0.0), 1 => time().prop_map(f64::abs)]),
        thread in prop::option::of(0u64..4),
        kind in kind(),
        outcome in outcome(),
        (flops, bytes_moved) in (prop::option::of(any::<u64>()), prop::option::of(0u64..100)),
        rank in prop::option::of(0u32..3),
        meta in prop::collection::btree_map("[a-z]{1,4}", name(), 0..3),
    ) -> RecordedTraceEntry {
        let mut entry = RecordedTraceEntry::new(0, operation);
        entry.input_shapes = input_shapes;
        entry.input_dtypes = input_dtypes.into();
        entry.output_dtypes = output_dtypes.into();
        if !outputs.is_empty() {
            let first = outputs.remove(0);
            // A scalar has one element, which tells it from no output at all.
            entry.output_elements = first.iter().fold(1, |all: usize, dim| all.saturating_mul(*dim));
            entry.output_shape = first;
        }
        entry.more_outputs = outputs;
        entry.memory_bytes = odd_memory.unwrap_or(entry.output_elements.saturating_mul(8));
        entry.device_id = device_id;
        entry.duration_us = duration_us;
        entry.start_us = start_us;
        entry.suspended_us = suspended_us;
        entry.thread = thread;
        entry.kind = kind;
        entry.outcome = outcome;
        entry.flops = flops;
        entry.bytes_moved = bytes_moved;
        entry.rank = rank;
        entry.meta = meta;
        entry
    }
}

prop_compose! {
    /// A trace whose steps are in order, mostly without gaps, with parents before their children.
    pub(crate) fn trace()(
        entries in prop::collection::vec((entry(), 0usize..50, prop::bool::weighted(0.1)), 0..30),
        metadata in prop::collection::hash_map("[a-z]{1,6}", name(), 0..4),
        total in time(),
    ) -> RecordedExecutionTrace {
        let mut trace = RecordedExecutionTrace::new();
        let mut step = 0;
        for (mut entry, parent, gap) in entries {
            if gap {
                step += 3;
            }
            entry.step = step;
            step += 1;
            entry.parent = trace.entries.get(parent).map(|parent| parent.step);
            trace.entries.push(entry);
        }
        trace.metadata = metadata;
        trace.total_duration_us = total;
        trace
    }
}

/// NaN is not equal to itself, but a trace with one is still the same trace.
pub(crate) fn text(trace: &RecordedExecutionTrace) -> String {
    let meta: BTreeMap<_, _> = trace.metadata.iter().collect();
    format!("{:?} {:?} {meta:?}", trace.entries, trace.total_duration_us)
}

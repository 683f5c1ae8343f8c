//! Random traces with every field set in every way, for round trips through formats. `tests/random_traces` has
//! consistent traces, for analyses.

use proptest::prelude::*;
use std::collections::BTreeMap;
use trace_runtime::{
    DType, OpKind, Outcome, RecordedExecutionTrace, RecordedTraceEntry, TraceStep,
};

/// Times that a clock could return, and some that no clock returns.
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

const DTYPES: [DType; 28] = [
    DType::Unknown,
    DType::Bool,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::U128,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::I128,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::F8E4M3,
    DType::F8E5M2,
    DType::F8E8M0,
    DType::F6E2M3,
    DType::F6E3M2,
    DType::F4,
    DType::I4,
    DType::U4,
    DType::I2,
    DType::C64,
    DType::C128,
    DType::Quantized,
];

fn dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(DTYPES.to_vec())
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
        Outcome::Unfinished,
    ])
}

prop_compose! {
    /// Either there are no dtypes, or there is one for each shape and not all are unknown.
    fn tensors()(
        shapes in prop::collection::vec((dims(), dtype()), 0..4)
    ) -> (Vec<Vec<usize>>, Vec<DType>) {
        let (shapes, dtypes): (Vec<_>, Vec<_>) = shapes.into_iter().unzip();
        let typed = dtypes.iter().any(|dtype| *dtype != DType::Unknown);
        (shapes, if typed { dtypes } else { Vec::new() })
    }
}

prop_compose! {
    /// An entry with arbitrary fields, except for `step` and `parent`, which [`trace`] sets.
    pub(crate) fn entry()(
        operation in name(),
        device_id in prop::option::of(name()),
        (label, location) in (prop::option::of(name()), prop::option::of(name())),
        (input_shapes, input_dtypes) in tensors(),
        (mut outputs, output_dtypes) in tensors(),
        duration_us in time(),
        odd_memory in prop::option::weighted(0.2, any::<usize>()),
        (start_us, suspended_us) in (prop::option::of(time()), prop_oneof![4 => Just(0.0), 1 => time().prop_map(f64::abs)]),
        thread in prop::option::of(prop_oneof![8 => 0u64..4, 1 => any::<u64>()]),
        kind in kind(),
        outcome in outcome(),
        (flops, bytes_moved) in (prop::option::of(any::<u64>()), prop::option::of(0u64..100)),
        rank in prop::option::of(prop_oneof![8 => 0u32..3, 1 => any::<u32>()]),
        meta in prop::collection::btree_map(name(), name(), 0..3),
    ) -> RecordedTraceEntry {
        let mut entry = RecordedTraceEntry::new(0, operation);
        entry.input_shapes = input_shapes;
        entry.input_dtypes = input_dtypes.into();
        entry.output_dtypes = output_dtypes.into();
        if !outputs.is_empty() {
            let first = outputs.remove(0);
            // A scalar output has one element; an entry without output has none.
            entry.output_elements = first.iter().fold(1, |all: usize, dim| all.saturating_mul(*dim));
            entry.output_shape = first;
        }
        entry.more_outputs = outputs;
        entry.memory_bytes = odd_memory.unwrap_or(entry.output_elements.saturating_mul(8));
        entry.device_id = device_id;
        entry.label = label;
        entry.location = location;
        entry.duration_us = duration_us;
        entry.set_start_us(start_us);
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
    /// One line of the memory events in a trace's metadata.
    fn memory_event()(
        at_ns in prop_oneof![0i64..1_000_000, -100i64..0],
        bytes in any::<i64>(),
        rank in prop::option::of(0u64..3),
        during in prop::option::of(0u64..40),
        (address, allocated) in (prop::option::of(any::<u64>()), prop::option::of(any::<u64>())),
        device in prop_oneof!["cpu", "cuda:[0-3]", "\\PC{0,8}", Just("\u{1b}[31m ".to_owned())],
    ) -> String {
        let text = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        let numbers = [rank, during, address, allocated].map(text).join(" ");
        format!("{at_ns} {bytes} {numbers} {device}\n")
    }
}

prop_compose! {
    /// A step of the program's loop.
    fn step()(
        number in prop_oneof![8 => 0u64..20, 1 => any::<u64>()],
        start_ns in prop_oneof![8 => 0i64..10_000_000, 1 => -1000i64..0],
        length_ns in 0i64..1_000_000,
        rank in prop::option::of(0u32..3),
        thread in prop::option::of(prop_oneof![8 => 0u64..4, 1 => any::<u64>()]),
    ) -> TraceStep {
        TraceStep::new(number, start_ns, start_ns + length_ns).with_rank(rank).with_thread(thread)
    }
}

prop_compose! {
    /// A trace whose entries are in order, mostly without gaps, with parents before their children.
    pub(crate) fn trace()(
        entries in prop::collection::vec((entry(), 0usize..50, prop::bool::weighted(0.1)), 0..30),
        mut metadata in prop::collection::hash_map(name(), name(), 0..4),
        threads in prop::collection::vec((0u64..4, name()), 0..2),
        memory in prop::collection::vec(memory_event(), 0..6),
        mut steps in prop::collection::vec(step(), 0..4),
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
        metadata.extend(
            threads
                .into_iter()
                .map(|(thread, name)| (format!("thread.{thread}.name"), name)),
        );
        if !memory.is_empty() {
            metadata.insert("memory.events".to_owned(), memory.concat());
        }
        trace.metadata = metadata;
        trace.total_duration_us = total;
        steps.sort_by_key(|step| (step.start_ns, step.rank, step.number, step.end_ns));
        trace.steps = steps;
        trace
    }
}

/// Traces are compared as text, because NaN is not equal to itself, but its text is. An entry whose details are all
/// empty is the same as one without.
pub(crate) fn text(trace: &RecordedExecutionTrace) -> String {
    let meta: BTreeMap<_, _> = trace.metadata.iter().collect();
    let empty = format!("{:?}", Some(trace_runtime::model::EntryDetails::default()));
    let entries = format!("{:?}", trace.entries).replace(&empty, "None");
    format!(
        "{entries} {:?} {meta:?} {:?}",
        trace.total_duration_us, trace.steps
    )
}

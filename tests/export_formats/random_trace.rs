//! Random traces with hostile names, overlaps and entries without a start.

use proptest::collection::vec;
use proptest::prelude::*;
use trace_runtime::export::Exporter;
use trace_runtime::{
    DType, OpKind, Outcome, RecordedExecutionTrace, RecordedTraceEntry, TraceView,
};

pub(crate) const HOSTILE_NAMES: [&str; 12] = [
    "matmul",
    "all_reduce",
    "say \"hi\" \\ back",
    "tab\there\nline\r\0nul\u{1b}[31m",
    "a;b c;;",
    "</script><script>alert(1)</script>",
    "]]>&lt;<!-- -->",
    "卷积🦀",
    "\u{85}\u{2028}\u{202e}",
    "%41%",
    "",
    "  ",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => proptest::sample::select(&HOSTILE_NAMES[..]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

prop_compose! {
    fn entry()(
        operation in name(),
        device in prop_oneof![
            Just(None), Just(Some("cpu".to_owned())), Just(Some("cuda:1".to_owned())),
            name().prop_map(Some),
        ],
        start in proptest::option::weighted(0.9, 0..2_000u32),
        duration in 0..1_000u32,
        thread in proptest::option::weighted(0.9, 0..3u64),
        rank in proptest::option::of(0..2u32),
        parent in proptest::option::weighted(0.7, 0..64usize),
        kind in proptest::option::of(proptest::sample::select(&OpKind::ALL[..])),
        input in vec(vec(0..5usize, 0..3), 0..3),
        output in vec(0..5usize, 0..3),
        outcome in proptest::sample::select(&[Outcome::Ok, Outcome::Error, Outcome::Panicked][..]),
        meta in proptest::option::weighted(0.1, (name(), name())),
    ) -> (RecordedTraceEntry, usize) {
        let mut entry = RecordedTraceEntry::new(0, operation).with_output_shape(output);
        entry.device_id = device;
        entry.set_start_us(start.map(|start| f64::from(start) / 4.0));
        entry.duration_us = f64::from(duration) / 4.0;
        entry.thread = thread;
        entry.rank = rank;
        entry.kind = kind;
        entry.input_dtypes = vec![DType::F32; input.len()].into();
        entry.input_shapes = input;
        entry.outcome = outcome;
        entry.meta = meta.into_iter().collect();
        (entry, parent.unwrap_or(usize::MAX))
    }
}

prop_compose! {
    /// Parents come before their children. Most other properties of recorded traces are missing.
    pub(crate) fn random_trace()(
        entries in vec(entry(), 0..24),
        metadata in proptest::collection::hash_map(name(), name(), 0..3),
    ) -> RecordedExecutionTrace {
        let mut trace = RecordedExecutionTrace { metadata, ..RecordedExecutionTrace::new() };
        for (step, (mut entry, parent)) in entries.into_iter().enumerate() {
            entry.step = step;
            entry.parent = Some(parent).filter(|&parent| parent < step);
            trace.add_entry(entry);
        }
        trace
    }
}

/// Two ranks: a layer with a matmul inside it, and a collective that it handed to another thread.
/// The matmul and the collective share ten microseconds.
pub(crate) fn two_ranks() -> RecordedExecutionTrace {
    let mut trace = RecordedExecutionTrace::new().with_metadata("thread.1.name", "main");
    let mut add = |name: &str, rank: usize, thread, parent, (start_us, end_us): (f64, f64)| {
        let mut entry = RecordedTraceEntry::new(trace.entries.len(), name);
        entry.rank = Some(rank as u32);
        entry.thread = Some(thread);
        entry.parent = parent;
        entry.set_start_us(Some(start_us));
        entry.duration_us = end_us - start_us;
        if name != "layer" {
            entry = entry
                .with_device_id(format!("cuda:{rank}"))
                .with_input_shapes(vec![vec![64, 32], vec![32, 8]])
                .with_output_shape(vec![64, 8])
                .with_output_dtype(DType::F32);
            entry.input_dtypes = [DType::F32, DType::BF16].into();
        }
        trace.add_entry(entry);
    };
    for rank in 0..2 {
        add("layer", rank, 1, None, (0.0, 100.125));
    }
    for rank in 0..2 {
        add("matmul", rank, 1, Some(rank), (10.0, 40.25));
    }
    for rank in 0..2 {
        add("all_reduce", rank, 2, Some(rank), (30.25, 90.001));
    }
    trace
}

pub(crate) fn exported(exporter: &dyn Exporter, trace: &dyn TraceView) -> Vec<u8> {
    let mut out = Vec::new();
    exporter
        .export(trace, &mut out)
        .expect("a vector takes every write");
    out
}

pub(crate) fn exported_text(exporter: &dyn Exporter, trace: &dyn TraceView) -> String {
    String::from_utf8(exported(exporter, trace)).expect("text exports are UTF-8")
}

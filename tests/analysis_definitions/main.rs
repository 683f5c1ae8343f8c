//! Each analysis on the smallest trace that shows its definition.

mod ranks;
mod rates;

use std::time::Duration;
use trace_runtime::analyze::{
    OpCategory, by_op, by_shape, call_tree, categories, live_memory, outcomes, overhead_ns,
    too_short_to_trust,
};
use trace_runtime::model::{MemoryEvent, NewEntry, ThreadIndex, TraceStoreBuilder};
use trace_runtime::{OpKind, Outcome, RecordedExecutionTrace, RecordedTraceEntry};

/// An entry on a device's row.
pub(crate) fn on<'a>(
    device: &'a str,
    thread: ThreadIndex,
    kind: OpKind,
    name: &'a str,
    start: i64,
    end: i64,
) -> NewEntry<'a> {
    NewEntry::new(name, thread, start, (end - start) as u64)
        .with_device_id(device)
        .with_kind(kind)
}

pub(crate) fn repeated(
    name: &str,
    shape: usize,
    durations: impl IntoIterator<Item = u64>,
) -> RecordedExecutionTrace {
    let mut trace = RecordedExecutionTrace::new();
    for (step, ns) in durations.into_iter().enumerate() {
        let entry = RecordedTraceEntry::new(step, name).with_input_shapes(vec![vec![shape]]);
        trace.add_entry(entry.with_duration(Duration::from_nanos(ns)));
    }
    trace
}

#[test]
fn the_peak_is_held_by_the_ops_that_allocated_the_memory() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    let ops: Vec<_> = ["load", "matmul"]
        .iter()
        .map(|name| builder.push(&NewEntry::new(name, thread, 0, 100)).unwrap())
        .collect();
    let event = |at_ns, bytes, during, address| {
        MemoryEvent::new(at_ns, bytes, "cuda:0")
            .with_during(during)
            .with_address(address)
    };
    // Block 9 was allocated before the trace.
    for event in [
        event(10, 100, Some(ops[0]), 1),
        event(20, 300, Some(ops[1]), 2),
        event(30, -300, None, 2),
        event(40, -50, None, 9),
        event(50, -100, None, 1),
    ] {
        builder.push_memory(&event);
    }
    let found = live_memory(&builder.finish());
    let memory = &found[0];
    assert_eq!((memory.peak_bytes, memory.peak_at_ns), (450, 20));
    assert_eq!(
        memory.curve,
        [(10, 150), (20, 450), (30, 150), (40, 100), (50, 0)]
    );
    let held: Vec<_> = memory
        .holders
        .iter()
        .map(|one| (one.operation.as_deref(), one.bytes))
        .collect();
    assert_eq!(
        held,
        [(Some("matmul"), 300), (Some("load"), 100), (None, 50)]
    );
}

#[test]
fn the_count_of_the_allocator_is_used() {
    let mut builder = TraceStoreBuilder::new();
    builder.push_memory(&MemoryEvent::new(1, 8, "cpu").with_allocated(4096));
    assert_eq!(live_memory(&builder.finish())[0].peak_bytes, 4096);
}

#[test]
fn an_op_under_ten_times_its_cost_is_not_trusted() {
    let mut trace = repeated("tiny", 1, vec![300; 5]).with_metadata("overhead_ns", "40");
    trace.add_entry(RecordedTraceEntry::new(5, "long").with_duration(Duration::from_nanos(400)));
    assert_eq!(overhead_ns(&trace), Some(40));
    let found = too_short_to_trust(&by_op(&trace), 40);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].operation.as_str(), found[0].count, found[0].p50_ns),
        ("tiny", 5, 300)
    );
    let unsaid = RecordedExecutionTrace::new().with_metadata("overhead_ns", "much");
    assert_eq!(overhead_ns(&unsaid), None);
}

#[test]
fn outcomes_list_ops_that_did_not_end_well() {
    let mut trace = repeated("load", 1, vec![1; 4]);
    for (entry, outcome) in
        trace
            .entries
            .iter_mut()
            .zip([Outcome::Error, Outcome::Error, Outcome::Panicked])
    {
        entry.outcome = outcome;
    }
    trace.add_entry(RecordedTraceEntry::new(4, "fine"));
    let found = outcomes(&trace);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (
            found[0].count,
            found[0].errors,
            found[0].panics,
            found[0].not_ok()
        ),
        (4, 2, 1, 3)
    );
}

#[test]
fn an_op_of_several_shapes_has_a_row_for_each() {
    let mut trace = repeated("matmul", 8, vec![10; 3]);
    trace.add_entry(RecordedTraceEntry::new(3, "matmul").with_duration(Duration::from_nanos(40)));
    let rows: Vec<_> = by_shape(&trace)
        .into_iter()
        .map(|row| (row.input_shapes.unwrap(), row.count, row.self_ns))
        .collect();
    assert_eq!(rows, [(vec![], 1, 40), (vec![vec![8]], 3, 30)]);
    assert_eq!(by_op(&trace)[0].count, 4);
}

#[test]
fn kernels_are_sorted_by_name_and_by_the_op_that_launched_them() {
    let mut builder = TraceStoreBuilder::new();
    let (host, stream) = (
        builder.thread(Some(1), None, None),
        builder.thread(Some(7), None, None),
    );
    for (op, kernel, kind, ns) in [
        ("aten::conv2d", "ampere_sgemm_128x64", OpKind::Compute, 50),
        ("aten::mm", "ampere_sgemm_128x64", OpKind::Compute, 20),
        (
            "aten::native_layer_norm",
            "RowwiseMoments",
            OpKind::Compute,
            10,
        ),
        ("aten::copy_", "Memcpy HtoD", OpKind::Memory, 15),
        (
            "c10d::allreduce_",
            "ncclKernel_AllReduce",
            OpKind::Communication,
            5,
        ),
    ] {
        let op = builder.push(&NewEntry::new(op, host, 0, 1)).unwrap();
        let entry = on("cuda:0", stream, kind, kernel, 10, 10 + ns).with_parent(op);
        builder.push(&entry).unwrap();
    }
    let found: Vec<_> = categories(&builder.finish())
        .iter()
        .map(|time| (time.category, time.count, time.self_ns, time.share))
        .collect();
    assert_eq!(
        found,
        [
            (OpCategory::Convolution, 1, 50, 0.5),
            (OpCategory::Matmul, 1, 20, 0.2),
            (OpCategory::Copy, 1, 15, 0.15),
            (OpCategory::Normalisation, 1, 10, 0.1),
            (OpCategory::Communication, 1, 5, 0.05),
        ]
    );
}

#[test]
fn the_call_tree_merges_equal_stacks_longest_first() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    for start in [0, 100] {
        let layer = builder
            .push(&NewEntry::new("layer", thread, start, 90))
            .unwrap();
        for (name, at, ns) in [("norm", 0, 10), ("matmul", 20, 50)] {
            let entry = NewEntry::new(name, thread, start + at, ns);
            builder.push(&entry.with_parent(layer)).unwrap();
        }
    }
    let tree: Vec<_> = call_tree(&builder.finish())
        .nodes
        .into_iter()
        .map(|node| {
            (
                node.depth,
                node.operation,
                node.count,
                node.total_ns,
                node.self_ns,
            )
        })
        .collect();
    let expected = [
        (0, "layer", 2, 180, 60),
        (1, "matmul", 2, 100, 100),
        (1, "norm", 2, 20, 20),
    ];
    assert_eq!(
        tree,
        expected.map(|(depth, name, count, total, own)| (
            depth,
            name.to_owned(),
            count,
            total,
            own
        ))
    );
}

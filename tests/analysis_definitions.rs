//! Each analysis on the smallest trace that shows its definition.

use std::time::Duration;
use trace_runtime::analyze::{
    CausalModel, MachinePeaks, OpCategory, activity, by_op, by_shape, call_tree, categories,
    collectives, critical_path, device_times, live_memory, outcomes, overhead_ns, roofline,
    too_short_to_trust,
};
use trace_runtime::model::{MemoryEvent, NewEntry, ThreadIndex, TraceStoreBuilder};
use trace_runtime::{
    DType, OpKind, Outcome, RecordedExecutionTrace, RecordedTraceEntry, TraceStore,
};

/// An entry on a device's row.
fn on<'a>(
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

#[test]
fn communication_is_exposed_where_nothing_computes() {
    let mut builder = TraceStoreBuilder::new();
    let (compute, network) = (
        builder.thread(Some(7), Some(0), None),
        builder.thread(Some(8), Some(0), None),
    );
    for entry in [
        on("cuda:0", compute, OpKind::Compute, "matmul", 0, 100),
        on(
            "cuda:0",
            network,
            OpKind::Communication,
            "all_reduce",
            60,
            150,
        ),
        on("cuda:0", compute, OpKind::Memory, "copy", 140, 170),
        on("cuda:0", compute, OpKind::Compute, "norm", 200, 210),
    ] {
        builder.push(&entry).unwrap();
    }
    let found = activity(&builder.finish());
    let row = &found.devices[0];
    assert_eq!(
        (row.rank, row.device.as_str(), row.entries),
        (Some(0), "cuda:0", 4)
    );
    assert_eq!((row.span_ns, row.busy_ns, row.idle_ns), (210, 180, 30));
    assert_eq!(
        (row.compute_ns, row.communication_ns, row.memory_ns),
        (110, 90, 30)
    );
    assert_eq!(
        (
            row.overlap_ns,
            row.exposed_communication_ns,
            row.exposed_memory_ns
        ),
        (40, 50, 20)
    );
    assert_eq!(row.overlap_share(), Some(40.0 / 90.0));
    assert_eq!(found.ranks[0].busy_ns, 180);
    assert_eq!(found.imbalance, None);
}

#[test]
fn an_uneven_spread_costs_what_the_busiest_has_over_the_mean() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    for (device, end) in [("cuda:0", 100), ("cuda:1", 40), ("cpu", 500)] {
        builder
            .push(&on(device, thread, OpKind::Compute, "matmul", 0, end))
            .unwrap();
    }
    let cost = activity(&builder.finish()).imbalance.unwrap();
    assert_eq!(
        (
            cost.devices,
            cost.max_busy_ns,
            cost.mean_busy_ns,
            cost.cost_ns
        ),
        (2, 100, 70, 30)
    );
}

/// Two calls of an all-reduce on two ranks; rank 1 is 30 and 10 late.
fn two_ranks() -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let threads = [0, 1].map(|rank| builder.thread(Some(1), Some(rank), None));
    let mut entries = Vec::new();
    for (rank, start, reduce) in [(0, 0, 50), (1, 0, 80), (0, 100, 200), (1, 100, 210)] {
        let thread = threads[rank];
        entries.push(NewEntry::new(
            "matmul",
            thread,
            start,
            (reduce - start) as u64,
        ));
        let end = if start == 0 { 100 } else { 240 };
        let inputs: &[(&[usize], DType)] = &[(&[250], DType::F32)];
        entries.push(
            NewEntry::new("all_reduce", thread, reduce, (end - reduce) as u64).with_inputs(inputs),
        );
    }
    entries.sort_by_key(|entry| entry.start_ns);
    for entry in &entries {
        builder.push(entry).unwrap();
    }
    builder.finish()
}

#[test]
fn a_rank_waits_at_a_collective_until_the_last_one_starts() {
    let found = collectives(&two_ranks());
    assert_eq!(found.len(), 1);
    let reduce = &found[0];
    assert_eq!(
        (reduce.operation.as_str(), reduce.calls, reduce.ranks),
        ("all_reduce", 2, 2)
    );
    assert_eq!(reduce.transfer_ns, 20 + 30);
    assert_eq!(reduce.wait_ns, [(0, 30 + 10), (1, 0)]);
    assert_eq!(reduce.bytes, 2000);
    // 2(n−1)/n is 1 for two ranks.
    assert_eq!(reduce.bus_bytes_per_s, Some(2000.0 / 50e-9));
}

#[test]
fn sends_and_single_ranks_are_no_collectives() {
    let mut builder = TraceStoreBuilder::new();
    for rank in [0, 1] {
        let thread = builder.thread(None, Some(rank), None);
        builder.push(&NewEntry::new("send", thread, 0, 10)).unwrap();
    }
    let alone = builder.thread(None, Some(0), None);
    builder
        .push(&NewEntry::new("all_gather", alone, 20, 10))
        .unwrap();
    assert!(collectives(&builder.finish()).is_empty());
}

#[test]
fn the_critical_path_joins_at_the_late_rank() {
    let path = critical_path(&two_ranks());
    // Rank 1 computes 80, both transfer 20; then rank 1 again computes 110 and both transfer 30.
    assert_eq!((path.length_ns, path.span_ns), (240, 240));
    let ops: Vec<_> = path
        .ops
        .iter()
        .map(|op| (op.operation.as_str(), op.path_ns))
        .collect();
    assert_eq!(ops, [("matmul", 190), ("all_reduce", 50)]);
}

#[test]
fn the_critical_path_runs_through_work_rather_than_through_waiting_for_it() {
    let mut builder = TraceStoreBuilder::new();
    let (main, worker) = (
        builder.thread(Some(1), None, None),
        builder.thread(Some(2), None, None),
    );
    let scatter = builder
        .push(&NewEntry::new("scatter", main, 0, 100))
        .unwrap();
    for (start, end) in [(10, 50), (60, 90)] {
        let work = NewEntry::new("work", worker, start, (end - start) as u64);
        builder.push(&work.with_parent(scatter)).unwrap();
    }
    let trace = builder.finish();
    let path = critical_path(&trace);
    let ops: Vec<_> = path
        .ops
        .iter()
        .map(|op| (op.operation.as_str(), op.path_ns))
        .collect();
    assert_eq!(ops, [("work", 70), ("scatter", 30)]);
    let steps: Vec<_> = CausalModel::new(&trace)
        .critical_steps()
        .map(|step| (step.step.unwrap(), step.ns))
        .collect();
    assert_eq!(steps, [(0, 10), (1, 40), (0, 10), (2, 30), (0, 10)]);
    assert_eq!(critical_path(&RecordedExecutionTrace::new()).length_ns, 0);
}

#[test]
fn the_peak_is_held_by_the_ops_that_took_the_memory() {
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
    // Block 9 is from before the trace.
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
fn what_the_allocator_counts_itself_is_believed() {
    let mut builder = TraceStoreBuilder::new();
    builder.push_memory(&MemoryEvent::new(1, 8, "cpu").with_allocated(4096));
    assert_eq!(live_memory(&builder.finish())[0].peak_bytes, 4096);
}

fn repeated(
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
fn an_op_is_bound_by_memory_below_the_ridge() {
    let mut trace = RecordedExecutionTrace::new();
    let mut matmul = RecordedTraceEntry::new(0, "matmul").with_duration(Duration::from_micros(1));
    (matmul.flops, matmul.bytes_moved) = (Some(4000), Some(100));
    let mut add = RecordedTraceEntry::new(1, "add").with_duration(Duration::from_micros(1));
    (add.flops, add.bytes_moved) = (Some(100), Some(400));
    trace.add_entry(matmul);
    trace.add_entry(add);
    let peaks = MachinePeaks {
        flops_per_s: 8e9,
        bytes_per_s: 8e8,
    };
    let points = roofline(&by_op(&trace), &peaks);
    let shown: Vec<_> = points
        .iter()
        .map(|point| {
            (
                point.operation.as_str(),
                point.memory_bound,
                point.attainable_flops_per_s,
                point.efficiency,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [("matmul", false, 8e9, 0.5), ("add", true, 2e8, 0.5)]
    );
}

#[test]
fn peaks_are_read_from_the_trace() {
    let trace = RecordedExecutionTrace::new()
        .with_metadata("peak_flops_per_s", "1e12")
        .with_metadata("peak_bytes_per_s", "5e10");
    let peaks = MachinePeaks::of(&trace).unwrap();
    assert_eq!((peaks.flops_per_s, peaks.bytes_per_s), (1e12, 5e10));
    assert_eq!(MachinePeaks::of(&RecordedExecutionTrace::new()), None);
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
fn given_flops_win_over_inferred_ones() {
    let mut trace = RecordedExecutionTrace::new();
    let entry = RecordedTraceEntry::new(0, "matmul")
        .with_input_shapes(vec![vec![2, 3], vec![3, 5]])
        .with_duration(Duration::from_nanos(30));
    trace.add_entry(entry.clone());
    let inferred = &by_op(&trace)[0];
    assert_eq!((inferred.flops, inferred.flops_inferred), (60, true));
    assert_eq!(inferred.flops_per_s, Some(2e9));
    trace.entries[0].flops = Some(7);
    let given = &by_op(&trace)[0];
    assert_eq!((given.flops, given.flops_inferred), (7, false));
}

/// A layer whose matmul of 60 FLOPs and 124 bytes launches a kernel of 65 ns, and a relu that launches
/// nothing; `linked` is false where the trace has lost the launch.
fn launched(linked: bool) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let (host, stream) = (
        builder.thread(Some(1), None, None),
        builder.thread(Some(7), None, None),
    );
    let inputs: &[(&[usize], DType)] = &[(&[2, 3], DType::F32), (&[3, 5], DType::F32)];
    let outer = builder.push(&NewEntry::new("layer", host, 0, 100)).unwrap();
    let matmul = NewEntry::new("matmul", host, 10, 20)
        .with_inputs(inputs)
        .with_parent(outer);
    let matmul = builder.push(&matmul).unwrap();
    let kernel = on("cuda:0", stream, OpKind::Compute, "gemm", 25, 90);
    builder
        .push(&kernel.with_parent(linked.then_some(matmul)))
        .unwrap();
    let relu = NewEntry::new("relu", host, 40, 12)
        .with_inputs(&inputs[..1])
        .with_parent(outer);
    builder.push(&relu).unwrap();
    builder.finish()
}

#[test]
fn the_rate_of_an_op_is_that_of_the_device_work_it_launched() {
    let rows = by_op(&launched(true));
    let row = |name: &str| rows.iter().find(|row| row.operation == name).unwrap();
    let matmul = row("matmul");
    assert_eq!((matmul.flops, matmul.bytes_moved), (60, 24 + 60 + 40));
    assert_eq!((matmul.device_self_ns, matmul.device_total_ns), (65, 65));
    assert_eq!(matmul.flops_per_s, Some(60.0 / 65.0 * 1e9));
    assert_eq!(matmul.bytes_per_s, Some(124.0 / 65.0 * 1e9));
    let layer = row("layer");
    assert_eq!((layer.device_self_ns, layer.device_total_ns), (0, 65));
    // It ran on the host: its own time counts.
    assert_eq!(row("relu").flops_per_s, Some(6.0 / 12.0 * 1e9));
    let kernel = row("gemm");
    assert_eq!((kernel.device_self_ns, kernel.device_ns()), (0, Some(65)));
    assert_eq!(
        (row("relu").device_ns(), matmul.device_ns()),
        (None, Some(65))
    );
}

#[test]
fn without_launches_host_ops_have_no_rate() {
    let trace = launched(false);
    let rows = by_op(&trace);
    let matmul = rows.iter().find(|row| row.operation == "matmul").unwrap();
    assert_eq!(
        (matmul.flops, matmul.flops_per_s, matmul.bytes_per_s),
        (60, None, None)
    );
    assert_eq!(device_times(&trace).unattributed_ns(), 65);
    assert_eq!(trace.report().unattributed_device_ns, 65);
}

#[test]
fn an_outer_product_moves_its_output_and_a_transpose_nothing() {
    let mut trace = RecordedExecutionTrace::new();
    let mut mm = RecordedTraceEntry::new(0, "aten::mm")
        .with_input_shapes(vec![vec![1024, 1], vec![1, 1024]])
        .with_duration(Duration::from_millis(1));
    mm.input_dtypes.push(DType::F32);
    mm.input_dtypes.push(DType::F32);
    trace.add_entry(mm);
    trace.add_entry(
        RecordedTraceEntry::new(1, "aten::transpose")
            .with_input_shapes(vec![vec![4096, 4096]])
            .with_duration(Duration::from_micros(1)),
    );
    let rows = by_op(&trace);
    assert_eq!(rows[0].bytes_moved, 2 * 4096 + (4 << 20));
    assert_eq!(rows[0].bytes_per_s, Some(rows[0].bytes_moved as f64 * 1e3));
    assert!((rows[0].arithmetic_intensity.unwrap() - 0.499).abs() < 0.001);
    assert_eq!((rows[1].bytes_moved, rows[1].bytes_per_s), (0, None));
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

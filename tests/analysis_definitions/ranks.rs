//! Communication, collectives and the critical path of several ranks.

use crate::on;
use trace_runtime::analyze::{CausalModel, activity, collectives, critical_path};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, OpKind, RecordedExecutionTrace, TraceStore};

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
fn sends_and_single_ranks_are_not_collectives() {
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

//! The contract of `TraceAnalyzer`: names, fields and results on flat traces, and edge cases.

#![expect(clippy::float_cmp, reason = "the figures are exact")]

use std::collections::HashMap;
use std::time::Duration;
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{
    CommunicationBottleneck, DeviceSummary, LoadBalanceMetrics, OpKind, OpSummary,
    RecordedExecutionTrace, RecordedTraceEntry, TraceAnalyzer, TraceStore,
};

fn entry(step: usize, name: &str, us: u64) -> RecordedTraceEntry {
    RecordedTraceEntry::new(step, name).with_duration(Duration::from_micros(us))
}

fn trace(entries: impl IntoIterator<Item = RecordedTraceEntry>) -> RecordedExecutionTrace {
    let mut trace = RecordedExecutionTrace::new();
    for entry in entries {
        trace.add_entry(entry);
    }
    trace
}

#[test]
fn operation_summary_adds_up_each_op() {
    let trace = trace([
        entry(0, "matmul", 10).with_output_shape(vec![2, 3]),
        entry(1, "relu", 3),
        entry(2, "matmul", 20).with_output_shape(vec![4]),
    ]);
    let ops: HashMap<String, OpSummary> = TraceAnalyzer::operation_summary(&trace);
    assert_eq!(ops.len(), 2);
    assert_eq!(ops["matmul"].count, 2);
    assert_eq!(ops["matmul"].total_duration_us, 30.0);
    assert_eq!(ops["matmul"].total_memory_bytes, 80);
    assert_eq!(ops["relu"].total_memory_bytes, 0);
    assert!(TraceAnalyzer::operation_summary(&RecordedExecutionTrace::new()).is_empty());
}

#[test]
fn memory_hotspots_are_strictly_above_the_threshold() {
    let trace = trace([
        entry(0, "a", 1).with_output_shape(vec![4]),
        entry(1, "b", 1).with_output_shape(vec![5]),
        entry(2, "c", 1).with_output_shape(vec![9]),
    ]);
    let hot: Vec<&RecordedTraceEntry> = TraceAnalyzer::memory_hotspots(&trace, 32);
    let names: Vec<_> = hot.iter().map(|entry| entry.operation.as_str()).collect();
    assert_eq!(names, ["b", "c"]);
    assert!(TraceAnalyzer::memory_hotspots(&trace, usize::MAX).is_empty());
    assert!(TraceAnalyzer::memory_hotspots(&RecordedExecutionTrace::new(), 0).is_empty());
}

#[test]
fn avg_duration_by_op_is_the_mean() {
    let trace = trace([entry(0, "a", 1), entry(1, "a", 4), entry(2, "b", 0)]);
    let averages: HashMap<String, f64> = TraceAnalyzer::avg_duration_by_op(&trace);
    assert_eq!(averages["a"], 2.5);
    assert_eq!(averages["b"], 0.0);
    assert!(TraceAnalyzer::avg_duration_by_op(&RecordedExecutionTrace::new()).is_empty());
}

#[test]
fn per_device_summary_leaves_out_entries_without_a_device() {
    let trace = trace([
        entry(0, "a", 5).with_device_id("cuda:0"),
        entry(1, "b", 7),
        entry(2, "b", 2)
            .with_device_id("cuda:0")
            .with_output_shape(vec![1]),
        entry(3, "b", 4).with_device_id("cuda:1"),
    ]);
    let devices: HashMap<String, DeviceSummary> = TraceAnalyzer::per_device_summary(&trace);
    assert_eq!(devices.len(), 2);
    assert_eq!(devices["cuda:0"].op_count, 2);
    assert_eq!(devices["cuda:0"].total_duration_us, 7.0);
    assert_eq!(devices["cuda:0"].total_memory_bytes, 8);
    assert_eq!(devices["cuda:1"].op_count, 1);
}

#[test]
fn load_balance_needs_two_devices() {
    assert_eq!(
        TraceAnalyzer::load_balance_metrics(&RecordedExecutionTrace::new()),
        None
    );
    let one = trace([entry(0, "a", 5).with_device_id("cuda:0"), entry(1, "b", 7)]);
    assert_eq!(TraceAnalyzer::load_balance_metrics(&one), None);
}

#[test]
fn load_balance_compares_the_busiest_with_the_ideal() {
    let trace = trace([
        entry(0, "a", 10).with_device_id("cuda:1"),
        entry(1, "a", 30).with_device_id("cuda:0"),
        entry(2, "a", 20).with_device_id("cuda:1"),
        entry(3, "a", 0).with_device_id("cuda:2"),
    ]);
    let balance: LoadBalanceMetrics = TraceAnalyzer::load_balance_metrics(&trace).unwrap();
    assert_eq!(balance.device_count, 3);
    assert_eq!(balance.total_duration_us, 60.0);
    assert_eq!(balance.ideal_duration_us, 20.0);
    assert_eq!(balance.max_duration_us, 30.0);
    assert_eq!(balance.imbalance_ratio, 0.5);
    let devices = ["cuda:0", "cuda:1", "cuda:2"].map(str::to_owned);
    let expected: Vec<(String, f64)> = devices.into_iter().zip([30.0, 30.0, 0.0]).collect();
    assert_eq!(balance.per_device_duration_us, expected);
}

#[test]
fn load_balance_of_devices_that_did_nothing_is_even() {
    let trace = trace([
        entry(0, "a", 0).with_device_id("cuda:0"),
        entry(1, "a", 0).with_device_id("cuda:1"),
    ]);
    let balance = TraceAnalyzer::load_balance_metrics(&trace).unwrap();
    assert_eq!(balance.imbalance_ratio, 0.0);
}

#[test]
fn communication_is_found_by_name_and_ranked_by_share() {
    let trace = trace([
        entry(0, "matmul", 50),
        entry(1, "AllReduce_grads", 20),
        entry(2, "p2p_send", 5),
        entry(3, "AllReduce_grads", 20),
        entry(4, "broadcast", 5),
    ]);
    let found: Vec<CommunicationBottleneck> =
        TraceAnalyzer::communication_bottlenecks(&trace, 0.05);
    let names: Vec<_> = found.iter().map(|one| one.operation.as_str()).collect();
    assert_eq!(names, ["AllReduce_grads", "broadcast", "p2p_send"]);
    assert_eq!(found[0].ratio_of_total, 0.4);
    assert_eq!(found[0].call_count, 2);
    assert_eq!(
        TraceAnalyzer::communication_bottlenecks(&trace, 0.06).len(),
        1
    );
    assert!(
        TraceAnalyzer::communication_bottlenecks(&RecordedExecutionTrace::new(), 0.0).is_empty()
    );
}

#[test]
fn every_listed_name_is_communication() {
    for name in [
        "allreduce",
        "all_gather",
        "reduce_scatter",
        "broadcast",
        "send",
        "recv",
        "comm",
        "all_reduce",
        "allgather",
        "all_to_all",
        "alltoall",
        "reducescatter",
    ] {
        let trace = trace([entry(0, &format!("x_{}_y", name.to_uppercase()), 1)]);
        assert_eq!(
            TraceAnalyzer::communication_bottlenecks(&trace, 0.0).len(),
            1,
            "{name}"
        );
    }
}

#[test]
fn the_kind_decides_what_is_communication_both_ways() {
    let trace = trace([
        entry(0, "commit", 10).with_kind(OpKind::Compute),
        entry(1, "ring", 10).with_kind(OpKind::Communication),
        entry(2, "recv", 10),
        entry(3, "recv", 10).with_kind(OpKind::Io),
    ]);
    let found = TraceAnalyzer::communication_bottlenecks(&trace, 0.0);
    let calls: Vec<_> = found
        .iter()
        .map(|one| (one.operation.as_str(), one.call_count))
        .collect();
    assert_eq!(calls, [("recv", 1), ("ring", 1)]);
}

#[test]
fn communication_of_no_total_is_divided_by_almost_nothing() {
    let mut trace = trace([entry(0, "send", 1)]);
    trace.total_duration_us = 0.0;
    let found = TraceAnalyzer::communication_bottlenecks(&trace, 0.5);
    assert_eq!(found[0].ratio_of_total, 1.0 / 1e-9);
}

#[test]
fn flamegraph_lines_are_sorted_and_summed() {
    let mut entries = vec![
        entry(0, "relu", 3).with_device_id("cuda:0"),
        entry(1, "matmul", 10),
        entry(2, "relu", 4).with_device_id("cuda:0"),
        entry(3, "noop", 0),
        entry(4, "noop", 0),
    ];
    entries[0].duration_us = 3.5;
    let text: String = TraceAnalyzer::flamegraph_collapsed(&trace(entries));
    assert_eq!(
        text,
        "trace;cuda:0;relu 8\ntrace;unknown;matmul 10\ntrace;unknown;noop 2"
    );
    assert_eq!(
        TraceAnalyzer::flamegraph_collapsed(&RecordedExecutionTrace::new()),
        ""
    );
}

#[test]
fn nan_and_overflow_neither_panic_nor_lead() {
    let mut odd = entry(0, "send", 1)
        .with_device_id("a")
        .with_output_shape(vec![usize::MAX, 2]);
    odd.duration_us = f64::NAN;
    let trace = trace([odd.clone(), odd, entry(2, "recv", 1).with_device_id("b")]);
    assert_eq!(
        TraceAnalyzer::operation_summary(&trace)["send"].total_memory_bytes,
        usize::MAX
    );
    assert!(TraceAnalyzer::avg_duration_by_op(&trace)["send"].is_nan());
    assert_eq!(TraceAnalyzer::slowest(&trace, 3)[0].operation, "recv");
    assert!(TraceAnalyzer::load_balance_metrics(&trace).is_some());
    let stacks = TraceAnalyzer::flamegraph_collapsed(&trace);
    assert_eq!(stacks, "trace;a;send 2\ntrace;b;recv 1");
    let mut endless = entry(0, "spin", 1);
    endless.duration_us = f64::INFINITY;
    let endless = RecordedExecutionTrace {
        entries: vec![endless.clone(), endless],
        ..Default::default()
    };
    let expected = format!("trace;unknown;spin {}", u64::MAX);
    assert_eq!(TraceAnalyzer::flamegraph_collapsed(&endless), expected);
}

#[test]
fn json_with_only_the_required_fields_is_read() {
    let summary: OpSummary =
        serde_json::from_str(r#"{"count":2,"total_duration_us":3.0,"total_memory_bytes":8}"#)
            .unwrap();
    assert_eq!(
        summary,
        OpSummary {
            count: 2,
            total_duration_us: 3.0,
            total_memory_bytes: 8,
            ..OpSummary::default()
        }
    );
    let device: DeviceSummary =
        serde_json::from_str(r#"{"op_count":2,"total_duration_us":3.0,"total_memory_bytes":8}"#)
            .unwrap();
    assert_eq!(device.op_count, 2);
    let balance = LoadBalanceMetrics {
        device_count: 1,
        per_device_duration_us: vec![("cpu".into(), 1.5)],
        ..LoadBalanceMetrics::default()
    };
    let json = serde_json::to_string(&balance).unwrap();
    assert!(
        json.ends_with(r#""per_device_duration_us":[["cpu",1.5]]}"#),
        "{json}"
    );
    assert_eq!(
        serde_json::from_str::<LoadBalanceMetrics>(&json).unwrap(),
        balance
    );
    let json =
        r#"{"operation":"send","total_duration_us":1.0,"ratio_of_total":0.5,"call_count":1}"#;
    let found: CommunicationBottleneck = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&found).unwrap(), json);
}

/// `outer` (0–100 µs) contains `inner` twice (10–40 and 50–70); the first `inner` contains `outer` again (20–30).
fn nested() -> RecordedExecutionTrace {
    let at = |step, name, start, us| entry(step, name, us).with_start(Duration::from_micros(start));
    trace([
        at(0, "outer", 0, 100).with_device_id("cpu"),
        at(1, "inner", 10, 30)
            .with_parent(0)
            .with_device_id("cuda:0"),
        at(2, "outer", 20, 10).with_parent(1).with_device_id("cpu"),
        at(3, "inner", 50, 20).with_parent(0),
    ])
}

#[test]
fn child_time_is_not_self_time() {
    let ops = TraceAnalyzer::operation_summary(&nested());
    assert_eq!(ops["outer"].self_duration_us, 60.0);
    assert_eq!(ops["inner"].self_duration_us, 40.0);
    assert_eq!(ops["inner"].total_duration_us, 50.0);
}

#[test]
fn an_op_inside_itself_counts_once() {
    let trace = nested();
    assert_eq!(
        TraceAnalyzer::operation_summary(&trace)["outer"].total_duration_us,
        100.0
    );
    assert_eq!(TraceAnalyzer::operation_summary(&trace)["outer"].count, 2);
    assert_eq!(TraceAnalyzer::avg_duration_by_op(&trace)["outer"], 55.0);
    let devices = TraceAnalyzer::per_device_summary(&trace);
    assert_eq!(devices["cpu"].total_duration_us, 100.0);
    assert_eq!(devices["cpu"].self_duration_us, 60.0);
    assert_eq!(devices["cuda:0"].total_duration_us, 30.0);
}

#[test]
fn flamegraph_shows_real_stacks_weighed_by_self_time() {
    assert_eq!(
        TraceAnalyzer::flamegraph_collapsed(&nested()),
        "trace;cpu;outer 50\ntrace;cpu;outer;inner;outer 10\ntrace;cuda:0;outer;inner 20\n\
         trace;unknown;outer;inner 20"
    );
}

#[test]
fn slowest_by_self_looks_through_outer_ops() {
    let trace = nested();
    let slowest: Vec<usize> = TraceAnalyzer::slowest_by_self(&trace, 9)
        .iter()
        .map(|one| one.step)
        .collect();
    assert_eq!(slowest, [0, 1, 3, 2]);
    let slowest: Vec<usize> = TraceAnalyzer::slowest(&trace, 2)
        .iter()
        .map(|one| one.step)
        .collect();
    assert_eq!(slowest, [0, 1]);
    assert!(TraceAnalyzer::slowest(&trace, 0).is_empty());
}

#[test]
fn work_handed_to_another_thread_takes_nothing_from_self_time() {
    let trace = trace([
        entry(0, "scatter", 100).with_thread(1),
        entry(1, "work", 90).with_thread(2).with_parent(0),
        entry(2, "work", 80).with_thread(1).with_parent(0),
    ]);
    let ops = TraceAnalyzer::operation_summary(&trace);
    assert_eq!(ops["scatter"].self_duration_us, 20.0);
    assert_eq!(ops["work"].total_duration_us, 170.0);
    let stacks = TraceAnalyzer::flamegraph_collapsed(&trace);
    assert_eq!(
        stacks,
        "trace;unknown;scatter 20\ntrace;unknown;scatter;work 170"
    );
}

#[test]
fn suspended_time_belongs_to_no_op() {
    let mut load = entry(0, "load", 100);
    load.suspended_us = 70.0;
    let mut read = entry(1, "read", 60).with_parent(0);
    read.suspended_us = 50.0;
    let trace = trace([load, read]);
    let ops = TraceAnalyzer::operation_summary(&trace);
    assert_eq!(ops["load"].total_duration_us, 30.0);
    assert_eq!(ops["load"].self_duration_us, 20.0);
    assert_eq!(ops["read"].self_duration_us, 10.0);
}

#[test]
fn names_cannot_break_a_flamegraph_line() {
    let trace = trace([
        entry(0, "a;b c\nd\u{1b}[31m 7", 2).with_device_id("x;y"),
        entry(1, "100%", 1),
        entry(2, "", 1),
    ]);
    assert_eq!(
        TraceAnalyzer::flamegraph_collapsed(&trace),
        "trace;unknown; 1\ntrace;unknown;100%25 1\ntrace;x%3By;a%3Bb%20c%0Ad%1B[31m%207 2"
    );
}

#[test]
fn a_deep_recursion_gives_a_bounded_flamegraph() {
    let deep = (0..100_000).map(|step| match step {
        0 => entry(0, "f", 200_000),
        _ => entry(step, "f", 200_000 - step as u64).with_parent(step - 1),
    });
    let stacks = TraceAnalyzer::flamegraph_collapsed(&trace(deep));
    assert_eq!(stacks.lines().count(), 512);
    let total: u64 = stacks
        .lines()
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(total, 200_000);
}

#[test]
fn a_parent_that_is_not_there_or_later_is_none() {
    let trace = trace([
        entry(0, "a", 3).with_parent(1),
        entry(1, "b", 2).with_parent(0),
        entry(2, "c", 1).with_parent(77),
        entry(3, "d", 1).with_parent(3),
    ]);
    let ops = TraceAnalyzer::operation_summary(&trace);
    assert_eq!(ops["a"].self_duration_us, 1.0);
    assert_eq!(ops["c"].total_duration_us, 1.0);
    assert_eq!(
        TraceAnalyzer::flamegraph_collapsed(&trace).lines().count(),
        4
    );
}

#[test]
fn a_compact_store_hands_out_its_own_entries() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), None, None);
    let outputs: &[(&[usize], _)] = &[(&[64], trace_runtime::DType::F32)];
    for (name, ns) in [("a", 100), ("b", 300)] {
        builder
            .push(&NewEntry::new(name, thread, 0, ns).with_outputs(outputs))
            .unwrap();
    }
    let store: TraceStore = builder.finish();
    let hot = TraceAnalyzer::memory_hotspots(&store, 255);
    assert_eq!(hot.len(), 2);
    let slowest = trace_runtime::EntryView::from(TraceAnalyzer::slowest(&store, 1)[0]);
    assert_eq!(slowest.operation(), "b");
}

use crate::random_trace::{HOSTILE_NAMES, exported_text, random_trace, two_ranks};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use trace_runtime::export::ChromeTrace;
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry, TraceStore};

fn events(text: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(text).expect("valid JSON");
    file["traceEvents"].as_array().expect("a list").clone()
}

fn of_phase<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

fn of_category<'a>(events: &'a [Value], category: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["cat"] == category)
        .collect()
}

/// Microseconds with three decimals, as whole nanoseconds.
fn ns(time: &Value) -> u64 {
    (time.as_f64().expect("a number") * 1000.0).round() as u64
}

#[test]
fn the_rank_is_on_a_header_line_before_the_events() {
    let text = exported_text(&ChromeTrace::new(), &two_ranks());
    let line = text.lines().find(|line| line.contains("\"rank\"")).unwrap();
    assert_eq!(
        line,
        "\"distributedInfo\": {\"rank\": 0, \"world_size\": 2},"
    );
    assert!(text.find("\"rank\": 0") < text.find("\"traceEvents\""));
}

#[test]
fn an_op_shows_its_times_and_shapes_under_the_names_of_kineto() {
    let text = exported_text(&ChromeTrace::new(), &two_ranks());
    let events = events(&text);
    let matmul = of_category(&events, "cpu_op")
        .into_iter()
        .find(|event| event["name"] == "matmul")
        .unwrap();
    assert_eq!(matmul["ts"].to_string(), "10.0");
    assert!(text.contains("\"ts\":10.000,\"dur\":30.250,"));
    assert_eq!(matmul["pid"], 0);
    assert_eq!(matmul["tid"], 1);
    let args = &matmul["args"];
    assert_eq!(args["Input Dims"].to_string(), "[[64,32],[32,8]]");
    assert_eq!(
        args["Input type"].to_string(),
        "[\"float\",\"c10::BFloat16\"]"
    );
    assert_eq!(args["Output Dims"].to_string(), "[[64,8]]");
    assert_eq!(args["Output bytes"], 2048);
    assert_eq!(args["External id"], 2);
}

#[test]
fn rows_are_named_after_ranks_threads_and_devices() {
    let events = events(&exported_text(&ChromeTrace::new(), &two_ranks()));
    let names: Vec<(u64, &str)> = of_phase(&events, "M")
        .iter()
        .map(|event| {
            (
                event["pid"].as_u64().unwrap(),
                event["args"]["name"].as_str().unwrap(),
            )
        })
        .collect();
    for expected in [
        (0, "rank 0"),
        (1, "rank 1"),
        (0, "main"),
        (1, "thread 2"),
        (1, "cuda:1 (stream 7)"),
        (1, "cuda:1 (stream 8)"),
    ] {
        assert!(names.contains(&expected), "{expected:?} in {names:?}");
    }
}

#[test]
fn device_work_is_launched_by_a_runtime_call_and_communication_is_named_as_hta_expects() {
    let events = events(&exported_text(&ChromeTrace::new(), &two_ranks()));
    let kernels = of_category(&events, "kernel");
    let launches: HashMap<_, _> = of_category(&events, "cuda_runtime")
        .into_iter()
        .map(|launch| (launch["args"]["correlation"].as_u64(), launch))
        .collect();
    assert_eq!((kernels.len(), launches.len()), (4, 4));
    for kernel in &kernels {
        assert!(kernel["args"]["stream"].as_u64() > Some(0));
        let launch = launches[&kernel["args"]["correlation"].as_u64()];
        assert_eq!(launch["name"], "cudaLaunchKernel");
        assert_eq!(
            (&launch["ts"], &launch["pid"]),
            (&kernel["ts"], &kernel["pid"])
        );
    }
    let names: Vec<_> = kernels
        .iter()
        .map(|kernel| kernel["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "matmul",
            "matmul",
            "ncclDevKernel_all_reduce",
            "ncclDevKernel_all_reduce"
        ]
    );
    let streams: Vec<_> = kernels
        .iter()
        .map(|kernel| (&kernel["pid"], kernel["args"]["stream"].as_u64().unwrap()))
        .collect();
    let (zero, one) = (&Value::from(0), &Value::from(1));
    assert_eq!(streams, [(zero, 7), (one, 7), (zero, 8), (one, 8)]);
    let without = ChromeTrace::new().without_device_rows();
    assert!(!exported_text(&without, &two_ranks()).contains("cudaLaunchKernel"));
}

#[test]
fn a_device_runs_the_innermost_op_of_a_thread() {
    let mut trace = RecordedExecutionTrace::new();
    let op = |step, name, start_us, end_us, parent| {
        let mut entry = RecordedTraceEntry::new(step, name).with_device_id("npu:3");
        entry.set_start_us(Some(start_us));
        entry.duration_us = end_us - start_us;
        entry.parent = parent;
        entry
    };
    trace.add_entry(op(0, "layer", 0.0, 10.0, None));
    trace.add_entry(op(1, "all_reduce", 2.0, 5.0, Some(0)));
    trace.add_entry(op(2, "matmul", 5.0, 9.0, Some(0)));
    let events = events(&exported_text(&ChromeTrace::new(), &trace));
    let mut rows: Vec<_> = of_category(&events, "kernel")
        .iter()
        .map(|event| {
            (
                ns(&event["ts"]),
                ns(&event["dur"]),
                event["name"].as_str().unwrap(),
            )
        })
        .collect();
    rows.sort_unstable();
    assert_eq!(
        rows,
        [
            (0, 2000, "layer"),
            (2000, 3000, "ncclDevKernel_all_reduce"),
            (5000, 4000, "matmul"),
            (9000, 1000, "layer"),
        ]
    );
}

#[test]
fn a_parent_on_another_thread_is_linked_by_an_arrow_from_its_start() {
    let events = events(&exported_text(&ChromeTrace::new(), &two_ranks()));
    let (from, to) = (of_phase(&events, "s"), of_phase(&events, "f"));
    assert_eq!((from.len(), to.len()), (2, 2));
    assert_eq!((ns(&from[0]["ts"]), &from[0]["tid"]), (0, &Value::from(1)));
    assert_eq!((ns(&to[0]["ts"]), &to[0]["tid"]), (30_250, &Value::from(2)));
    assert_eq!(from[0]["id"], to[0]["id"]);
}

#[test]
fn memory_is_a_counter_that_grows_as_outputs_are_made() {
    let events = events(&exported_text(&ChromeTrace::new(), &two_ranks()));
    let points: Vec<_> = of_phase(&events, "C")
        .iter()
        .filter(|event| event["pid"] == 0)
        .map(|event| (ns(&event["ts"]), event["args"]["bytes"].as_u64().unwrap()))
        .collect();
    assert_eq!(points, [(40_250, 2048), (90_001, 4096)]);
    let without = ChromeTrace::new().without_memory();
    assert!(!exported_text(&without, &two_ranks()).contains("\"ph\":\"C\""));
}

#[test]
fn a_flat_trace_without_times_is_laid_end_to_end() {
    let mut trace = RecordedExecutionTrace::new();
    for (step, duration_us) in [1.5, 2.0, 0.25].into_iter().enumerate() {
        let mut entry = RecordedTraceEntry::new(step, "op");
        entry.duration_us = duration_us;
        trace.add_entry(entry);
    }
    let events = events(&exported_text(&ChromeTrace::new(), &trace));
    let starts: Vec<_> = of_phase(&events, "X")
        .iter()
        .map(|event| ns(&event["ts"]))
        .collect();
    assert_eq!(starts, [0, 1500, 3500]);
}

#[test]
fn times_before_the_trace_began_are_moved_to_zero() {
    let mut early = RecordedTraceEntry::new(0, "early");
    early.set_start_us(Some(-7.5));
    let trace = RecordedExecutionTrace {
        entries: vec![early],
        ..RecordedExecutionTrace::new()
    };
    assert!(exported_text(&ChromeTrace::new(), &trace).contains("\"ts\":0.000,\"dur\""));
}

#[test]
fn a_very_long_name_stays_whole() {
    let name = "x".repeat(64 << 10);
    let mut trace = RecordedExecutionTrace::new();
    trace.add_entry(RecordedTraceEntry::new(0, &*name));
    let events = events(&exported_text(&ChromeTrace::new(), &trace));
    assert_eq!(of_category(&events, "cpu_op")[0]["name"], *name);
}

/// True if no string in it has a control character.
fn printable(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains(char::is_control),
        Value::Array(items) => items.iter().all(printable),
        Value::Object(map) => map
            .iter()
            .all(|(key, value)| !key.contains(char::is_control) && printable(value)),
        _ => true,
    }
}

proptest! {
    #[test]
    fn any_trace_is_valid_json_without_control_characters(trace in random_trace()) {
        let text = exported_text(&ChromeTrace::new(), &trace);
        prop_assert!(!text.replace('\n', "").contains(char::is_control));
        let file: Value = serde_json::from_str(&text).unwrap();
        prop_assert!(printable(&file));
        let ops = of_category(file["traceEvents"].as_array().unwrap(), "cpu_op").len();
        prop_assert_eq!(ops, trace.entries.len());
    }

    #[test]
    fn spans_of_a_row_only_nest(trace in random_trace()) {
        let events = events(&exported_text(&ChromeTrace::new(), &trace));
        let mut rows: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
        for event in of_phase(&events, "X") {
            let row = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            let start = ns(&event["ts"]);
            rows.entry(row).or_default().push((start, start + ns(&event["dur"])));
        }
        for mut spans in rows.into_values() {
            spans.sort_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
            let mut open: Vec<u64> = Vec::new();
            for (start, end) in spans {
                while open.last().is_some_and(|&last| last <= start) {
                    open.pop();
                }
                prop_assert!(open.last().is_none_or(|&last| end <= last));
                open.push(end);
            }
        }
    }

    #[test]
    fn both_storages_give_the_same_bytes(trace in random_trace()) {
        let store = TraceStore::try_from(&trace).unwrap();
        prop_assert_eq!(
            exported_text(&ChromeTrace::new(), &trace),
            exported_text(&ChromeTrace::new(), &store)
        );
    }
}

#[test]
fn hostile_names_stay_different_after_escaping() {
    let mut trace = RecordedExecutionTrace::new();
    for (step, name) in HOSTILE_NAMES.into_iter().enumerate() {
        trace.add_entry(RecordedTraceEntry::new(step, name));
    }
    let events = events(&exported_text(&ChromeTrace::new(), &trace));
    let names: std::collections::BTreeSet<_> = of_category(&events, "cpu_op")
        .iter()
        .map(|event| event["name"].to_string())
        .collect();
    assert_eq!(names.len(), HOSTILE_NAMES.len());
}

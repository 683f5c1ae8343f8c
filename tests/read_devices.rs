//! Rows of devices in the dialects of several vendors, and async spans.

use trace_runtime::analyze::activity;
use trace_runtime::{OpKind, TraceStore, TraceView, read};

fn chrome(events: &[&str]) -> TraceStore {
    let json = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    read::from_slice(json.as_bytes()).unwrap()
}

fn rows(trace: &TraceStore) -> Vec<(&str, Option<&str>)> {
    trace
        .views()
        .map(|view| (view.operation(), view.device_id()))
        .collect()
}

const HOST_OP: &str =
    r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 0, "dur": 50}"#;

#[test]
fn mtia_and_hpu_rows_are_devices() {
    let trace = chrome(&[
        HOST_OP,
        r#"{"ph": "X", "cat": "mtia_runtime", "name": "launch", "pid": 9, "tid": 9, "ts": 1, "dur": 2, "args": {"correlation": 4}}"#,
        r#"{"ph": "X", "cat": "mtia_ccp_events", "name": "fc", "pid": 1, "tid": 2, "ts": 10, "dur": 30, "args": {"device": 1, "correlation": 4}}"#,
        r#"{"ph": "X", "cat": "hpu_op", "name": "gemm", "pid": 0, "tid": 3, "ts": 20, "dur": 30}"#,
    ]);
    assert_eq!(
        rows(&trace),
        [
            ("aten::mm", None),
            ("fc", Some("mtia:1")),
            ("gemm", Some("hpu:0")),
        ]
    );
    assert_eq!(trace.view(1).parent(), Some(0), "launched by the op");
    assert_eq!(trace.view(1).kind(), Some(OpKind::Compute));
    let busy: Vec<_> = activity(&trace)
        .devices
        .iter()
        .map(|device| (device.device.clone(), device.busy_ns))
        .collect();
    assert!(busy.contains(&("mtia:1".to_owned(), 30_000)), "{busy:?}");
}

#[test]
fn one_gpu_of_rocm_has_one_name() {
    let trace = chrome(&[
        HOST_OP,
        r#"{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 9, "tid": 9, "ts": 1, "dur": 2, "args": {"correlation": 4}}"#,
        r#"{"ph": "X", "cat": "kernel", "name": "Cijk", "pid": 2, "tid": 0, "ts": 10, "dur": 30, "args": {"device": 2, "correlation": 4}}"#,
        r#"{"ph": "i", "name": "[memory]", "pid": 9, "tid": 9, "ts": 5, "args": {"Device Type": 6, "Device Id": 0, "Bytes": 64}}"#,
    ]);
    assert_eq!(rows(&trace)[1], ("Cijk", Some("hip:0")));
    assert_eq!(trace.memory_events().next().unwrap().device_id, "hip:0");
    let thread = trace.view(1).thread().unwrap();
    assert_eq!(trace.thread_name(None, thread), Some("hip:0 stream 0"));
}

fn xla(pid: u32, process: &str, threads: &[(u32, &str)]) -> Vec<String> {
    let mut events = vec![format!(
        r#"{{"ph": "M", "name": "process_name", "pid": {pid}, "args": {{"name": "{process}"}}}}"#
    )];
    events.extend(threads.iter().map(|(tid, name)| {
        format!(r#"{{"ph": "M", "name": "thread_name", "pid": {pid}, "tid": {tid}, "args": {{"name": "{name}"}}}}"#)
    }));
    events
}

fn span(pid: u32, tid: u32, name: &str, start: u32, end: u32) -> String {
    let length = end - start;
    format!(
        r#"{{"ph": "X", "name": "{name}", "pid": {pid}, "tid": {tid}, "ts": {start}, "dur": {length}}}"#
    )
}

fn of(events: &[String]) -> TraceStore {
    chrome(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn devices_of_xla_are_processes_and_their_work_counts_once() {
    let mut events = xla(
        1,
        "/device:GPU:0",
        &[
            (13, "Stream #13(Compute)"),
            (20, "XLA Ops"),
            (21, "XLA Modules"),
            (22, "Steps"),
        ],
    );
    events.extend(xla(7, "/host:CPU", &[(70, "python")]));
    events.extend([
        span(7, 70, "PjitFunction(update)", 0, 20),
        span(1, 13, "fusion_3", 10, 40),
        span(1, 13, "MemcpyD2H", 40, 50),
        span(1, 20, "fusion.3", 10, 40),
        span(1, 21, "jit_update", 10, 50),
        span(1, 22, "4", 5, 50),
        span(1, 22, "5", 50, 90),
    ]);
    let trace = of(&events);
    assert_eq!(
        rows(&trace),
        [
            ("PjitFunction(update)", None),
            ("fusion_3", Some("gpu:0")),
            ("MemcpyD2H", Some("gpu:0")),
        ]
    );
    assert_eq!(trace.view(2).kind(), Some(OpKind::Memory));
    let steps: Vec<_> = trace.steps().iter().map(|step| step.number).collect();
    assert_eq!(
        steps,
        [4, 5],
        "the device's steps, because the host marks none"
    );
    assert_eq!(
        trace.metadata()["read.left_out.rows that repeat work on devices"],
        "2"
    );
    let thread = trace.view(1).thread().unwrap();
    assert_eq!(
        trace.thread_name(None, thread),
        Some("gpu:0 Stream #13(Compute)")
    );
}

#[test]
fn on_a_tpu_the_ops_of_xla_are_the_work() {
    let mut events = xla(3, "/device:TPU:1", &[(1, "XLA Ops"), (2, "XLA Modules")]);
    events.extend([
        span(3, 1, "fusion.1", 0, 10),
        span(3, 1, "all-reduce.7", 10, 30),
        span(3, 1, "copy-start", 30, 31),
        span(3, 2, "jit_step", 0, 31),
    ]);
    let trace = of(&events);
    let kinds: Vec<_> = trace
        .views()
        .map(|view| (view.device_id(), view.kind()))
        .collect();
    let on = |kind| (Some("tpu:1"), Some(kind));
    assert_eq!(
        kinds,
        [
            on(OpKind::Compute),
            on(OpKind::Communication),
            on(OpKind::Memory)
        ]
    );
}

#[test]
fn steps_of_the_host_come_before_those_of_a_device() {
    let mut events = xla(
        1,
        "/device:GPU:0",
        &[(13, "Stream #13(Compute)"), (22, "Steps")],
    );
    events.push(span(1, 22, "0", 5, 50));
    events.push(span(1, 13, "fusion", 5, 50));
    events.push(
        r#"{"ph": "X", "name": "train", "pid": 7, "tid": 1, "ts": 0, "dur": 60, "args": {"step_num": "17"}}"#.to_owned(),
    );
    let trace = of(&events);
    assert_eq!(trace.steps().len(), 1);
    assert_eq!(trace.steps()[0].number, 17);
    assert_eq!(rows(&trace), [("fusion", Some("gpu:0"))]);
}

fn async_event(phase: char, name: &str, id: &str, at: u32) -> String {
    format!(
        r#"{{"ph": "{phase}", "cat": "req", "name": "{name}", "id": {id}, "pid": 1, "tid": 1, "ts": {at}}}"#
    )
}

#[test]
fn async_spans_nest_by_id_and_overlap_on_separate_rows() {
    let trace = of(&[
        async_event('b', "request", "1", 0),
        async_event('b', "request", "\"0x2\"", 10),
        async_event('b', "decode", "1", 20),
        async_event('n', "token", "1", 25),
        async_event('e', "decode", "1", 30),
        async_event('e', "request", "1", 50),
        async_event('e', "request", "\"0x2\"", 60),
        async_event('b', "request", "3", 55),
        async_event('b', "never", "4", 58),
        async_event('e', "request", "3", 70),
        async_event('e', "nothing", "9", 70),
    ]);
    let spans: Vec<_> = trace
        .views()
        .map(|view| {
            let thread = trace.thread_name(None, view.thread().unwrap()).unwrap();
            (
                view.operation(),
                view.start_ns().unwrap(),
                view.duration_ns(),
                view.parent(),
                thread,
            )
        })
        .collect();
    assert_eq!(
        spans,
        [
            ("request", 0, 50_000, None, "async 1"),
            ("request", 10_000, 50_000, None, "async 2"),
            ("decode", 20_000, 10_000, Some(0), "async 1"),
            ("request", 55_000, 15_000, None, "async 1"),
            ("never", 58_000, 12_000, None, "async 3"),
        ]
    );
    assert_eq!(trace.view(4).outcome(), trace_runtime::Outcome::Unfinished);
    assert_eq!(trace.metadata()["read.left_out.ends without a begin"], "1");
    assert_eq!(
        trace.metadata()["read.left_out.instants of async spans"],
        "1"
    );
    // Flow events are not spans.
    let flows = of(&[
        span(1, 1, "x", 0, 5),
        r#"{"ph": "s", "id": 1, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": 1}"#
            .to_owned(),
        r#"{"ph": "f", "id": 1, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": 2}"#
            .to_owned(),
    ]);
    assert_eq!(flows.len(), 1);
}

//! Traces of several versions of the profiler, and the links between their events.

use crate::{open, tree};
use trace_runtime::model::Launch;
use trace_runtime::{DType, OpKind, RecordedExecutionTrace, TraceStore, TraceView, read};

/// The same launch of the same kernel, as written in 2021 and since.
pub(crate) const OLD: &str = r#"{"traceEvents": [
  {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 9, "tid": "9", "ts": 100, "dur": 50,
   "args": {"Device": 9, "External id": 3, "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]}},
  {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": "9", "ts": 110, "dur": 20,
   "args": {"cbid": 211, "correlation": 77}},
  {"ph": "X", "cat": "Kernel", "name": "sgemm", "pid": 1, "tid": "stream 7", "ts": 125, "dur": 200,
   "args": {"device": 1, "stream": 7, "correlation": 77, "grid": [1, 1, 1]}},
  {"ph": "X", "cat": "Memcpy", "name": "Copy", "pid": 1, "tid": "stream 7", "ts": 400, "dur": 2,
   "args": {"device": 1, "stream": 7, "correlation": 78, "bytes": 4096}}
]}"#;

pub(crate) const NEW: &str = r#"
[{"args": {"correlation": 78, "device": 1, "bytes": 4096}, "name": "Copy", "cat": "gpu_memcpy",
  "pid": 1, "tid": 7, "ts": 400.000, "dur": 2.000, "ph": "X"},
 {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 1, "tid": 7, "ts": 125.0, "dur": 200.0,
  "args": {"device": 1, "stream": 7, "correlation": 77}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 110,
  "dur": 20, "args": {"correlation": 77}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 100, "dur": 50,
  "args": {"Input type": ["float", "float"], "Input Dims": [[2, 3], [3, 4]]}},
"#;

#[test]
fn dialects_of_one_run_read_the_same() {
    let (old, new) = (open(OLD), open(NEW));
    let entries = |trace: &TraceStore| {
        let owned = RecordedExecutionTrace::from(trace);
        owned.entries.into_iter().map(|mut entry| {
            // A stream has a number in one dialect and a name in the other.
            entry.thread = None;
            entry
        })
    };
    assert!(entries(&old).eq(entries(&new)));
    assert_eq!(
        new.metadata()["read.left_out.missing closing brackets"],
        "1"
    );
}

#[test]
fn a_kernel_has_a_device_a_kind_and_the_op_that_launched_it() {
    let trace = read::Reader::new()
        .with_runtime_calls()
        .from_slice(OLD.as_bytes())
        .unwrap();
    let views: Vec<_> = trace.views().collect();
    let [op, launch, kernel, copy] = views.as_slice() else {
        panic!("{}", tree(&trace));
    };
    assert_eq!(
        op.inputs()
            .map(|input| input.dims.to_vec())
            .collect::<Vec<_>>(),
        [[2, 3], [3, 4]]
    );
    assert!(op.inputs().all(|input| input.dtype == DType::F32));
    assert_eq!((op.device_id(), op.kind(), op.parent()), (None, None, None));
    assert_eq!(launch.parent(), None);
    assert_ne!(launch.thread(), op.thread());
    assert_eq!(kernel.device_id(), Some("cuda:1"));
    assert_eq!(kernel.kind(), Some(OpKind::Compute));
    assert_eq!(kernel.parent(), Some(op.step()));
    assert_eq!(copy.kind(), Some(OpKind::Memory));
    assert_eq!(copy.bytes_moved(), Some(4096));
    assert_eq!(copy.parent(), None);
    // The launch is part of the time of the op, and is not counted again.
    assert_eq!(trace.total_duration_us(), 252.0);

    let plain = open(OLD);
    assert_eq!(
        tree(&plain),
        "aten::mm 0+50000\n  sgemm 25000+200000\nCopy 300000+2000\n"
    );
    let calls: Vec<_> = plain.runtime_calls().collect();
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (calls[0].name, calls[0].during),
        ("cudaLaunchKernel", Some(0))
    );
    assert!(plain.launches().eq([Launch::new(1, 0)]));
    assert!(trace.launches().eq([Launch::new(2, 0)]));
}

#[test]
fn a_synchronisation_names_the_stream_and_the_event_that_it_waits_for() {
    let trace = open(
        r#"[{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":0,"dur":30},
            {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":2,"args":{"correlation":1}},
            {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":5,"args":{"device":0,"stream":7,"correlation":1}},
            {"ph":"X","cat":"cuda_runtime","name":"cudaEventRecord","pid":1,"tid":1,"ts":6,"dur":1,"args":{"correlation":2}},
            {"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":1,"tid":1,"ts":8,"dur":1,"args":{"correlation":3}},
            {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":20,"ts":12,"dur":5,"args":{"device":0,"stream":20,"correlation":4}},
            {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":20,"ts":8,"dur":1,
             "args":{"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":2,"stream":20,"correlation":3}},
            {"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":1,"tid":1,"ts":40,"dur":9,"args":{"correlation":5}},
            {"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":41,"dur":8,"args":{"stream":7,"correlation":5}},
            {"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":41,"dur":8,"args":{"stream":7,"correlation":6}}]"#,
    );
    assert_eq!(tree(&trace), "op 0+30000\n  k 5000+5000\nk 12000+5000\n");
    let acts_on: Vec<_> = trace
        .runtime_calls()
        .map(|call| (call.during, call.stream, call.event, call.event_stream))
        .collect();
    assert_eq!(
        acts_on,
        [
            (Some(0), None, None, None),
            (Some(0), None, None, None),
            (Some(0), Some(20), Some(1), Some(7)),
            (None, Some(7), None, None),
        ]
    );
    let left_out = "read.left_out.synchronisations without their runtime call";
    assert_eq!(trace.metadata()[left_out], "1");
}

#[test]
fn flow_events_link_device_work_without_a_correlation_to_its_op() {
    let trace = open(
        r#"[{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":0,"dur":10},
            {"ph":"s","id":"0x5","cat":"launch","name":"l","pid":1,"tid":1,"ts":4},
            {"ph":"f","id":"0x5","cat":"launch","name":"l","pid":0,"tid":3,"ts":20,"bp":"e"},
            {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":3,"ts":20,"dur":5},
            {"ph":"X","cat":"kernel","name":"unlinked","pid":0,"tid":3,"ts":30,"dur":5}]"#,
    );
    assert_eq!(
        tree(&trace),
        "op 0+10000\n  k 20000+5000\nunlinked 30000+5000\n"
    );
    assert_eq!(trace.views().nth(1).unwrap().device_id(), Some("cuda:0"));
}

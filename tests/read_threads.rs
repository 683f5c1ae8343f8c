//! A large file is read on several threads, and the trace is the same as from one thread. `scripts/check-traces.sh`
//! compares real traces.

use std::fmt::Write as _;
use trace_runtime::RecordedExecutionTrace;
use trace_runtime::read::Reader;

/// The trace as an owned one, because its metadata also contain runtime calls, memory events and the names of threads.
fn read(text: &[u8], threads: usize) -> RecordedExecutionTrace {
    let store = Reader::new().with_threads(threads).from_slice(text);
    RecordedExecutionTrace::from(&store.unwrap())
}

#[test]
fn threads_do_not_change_a_trace_of_ops_calls_and_kernels() {
    let mut text = String::from("{\"traceEvents\": [\n");
    for number in 0..15_000_u64 {
        let (at, thread) = (10 * number, number % 3);
        let separator = if number > 0 { ",\n" } else { "" };
        write!(
            text,
            r#"{separator}  {{"ph": "X", "cat": "cpu_op", "name": "op {}", "pid": 1, "tid": {thread}, "ts": {at}, "dur": 9,
              "args": {{"Input Dims": [[{}, 2]], "Input type": ["float"]}}}},
            {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": {thread}, "ts": {}, "dur": 2,
              "args": {{"correlation": {number}}}}},
            {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {}, "dur": 4,
              "args": {{"device": 0, "correlation": {number}}}}}"#,
            number % 50,
            number % 7,
            at + 1,
            at + 5,
        )
        .unwrap();
    }
    text.push_str("\n], \"distributedInfo\": {\"rank\": 3}}\n");
    assert!(text.len() > 5 << 20, "several parts");
    let expected = read(text.as_bytes(), 1);
    assert_eq!(expected.entries.len(), 30_000);
    for threads in [2, 5] {
        assert!(read(text.as_bytes(), threads) == expected, "{threads}");
    }
    // The error is at the same position.
    text.insert(4 << 20, '}');
    let error = |threads| {
        let reader = Reader::new().with_threads(threads);
        reader.from_slice(text.as_bytes()).unwrap_err().to_string()
    };
    assert_eq!(error(3), error(1));
}

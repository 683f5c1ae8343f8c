//! Reading a trace and reporting on it hold a small part of its text. The only test of its program, because all threads
//! are counted.

use trace_runtime::read;

mod counting;

/// A trace as torch.profiler writes it: in each iteration two ops, the launch of a kernel, the kernel, and the arrow
/// between them.
fn profiled(iterations: usize) -> String {
    let mut text = String::from("{\"schemaVersion\": 1, \"traceEvents\": [\n");
    let steps = iterations / 1000;
    for step in 0..steps {
        let ts = step * 100_000;
        let more = format!(
            "{{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{step}\", \"pid\": 1, \"tid\": 1, \
             \"ts\": {ts}, \"dur\": 99000}},\n"
        );
        text += &more;
    }
    for number in 0..iterations {
        let ts = number * 100;
        let op = |name: &str, ts: usize, dur: usize| {
            format!(
                "{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{name}\", \"pid\": 1, \"tid\": 1, \"ts\": {ts}, \
                 \"dur\": {dur}, \"args\": {{\"External id\": {number}, \"Record function id\": 0, \"Sequence number\": \
                 {number}, \"Fwd thread id\": 0, \"Input Dims\": [[64, 32], [32, 8], []], \
                 \"Input type\": [\"float\", \"float\", \"Scalar\"]}}}},\n"
            )
        };
        text += &op("aten::linear", ts, 90);
        text += &op("aten::addmm", ts + 5, 70);
        let more = format!(
            "{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": {}, \
             \"dur\": 10, \"args\": {{\"cbid\": 211, \"correlation\": {number}}}}},\n\
             {{\"ph\": \"s\", \"id\": {number}, \"pid\": 1, \"tid\": 1, \"ts\": {0}, \"cat\": \"ac2g\", \"name\": \"ac2g\"}},\n\
             {{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ampere_sgemm_128x64_tn\", \"pid\": 0, \"tid\": 7, \"ts\": {}, \
             \"dur\": 80, \"args\": {{\"External id\": {number}, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \
             \"correlation\": {number}, \"registers per thread\": 122, \"shared memory\": 12288, \"blocks per SM\": 0.6, \
             \"warps per SM\": 2.4, \"grid\": [8, 8, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": 4}}}},\n\
             {{\"ph\": \"f\", \"id\": {number}, \"pid\": 0, \"tid\": 7, \"ts\": {1}, \"cat\": \"ac2g\", \"name\": \"ac2g\", \
             \"bp\": \"e\"}},\n",
            ts + 10,
            ts + 110,
        );
        text += &more;
    }
    text + "{\"ph\": \"i\", \"name\": \"Record Window End\", \"ts\": 0}]}"
}

/// Parts of the text, in percent: those of 10^5 events and more are smaller, because lists grow by doubling.
const READING: usize = 38;
const REPORT: usize = 42;

#[test]
fn reading_and_a_report_hold_a_part_of_the_text() {
    let text = profiled(10_000);
    let percent = |held: usize| held * 100 / text.len();
    let (trace, reading) = counting::most_held_during(|| read::from_reader(text.as_bytes()));
    let trace = trace.unwrap();
    let (report, analysing) = counting::most_held_during(|| trace.report());
    assert_eq!((trace.len(), report.ops.len()), (30_000, 3));
    let parts = (percent(reading), percent(trace.heap_bytes() + analysing));
    assert!(parts.0 < READING && parts.1 < REPORT, "{parts:?}");
}

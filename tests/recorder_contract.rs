//! `TraceRecorder`: flat ops as its documentation promises, and how nested ops mix with them.

use std::fmt::Write as _;
use trace_runtime::{Outcome, RecordedExecutionTrace, TraceRecorder};

/// One line per entry, indented below its parent: `name @start+duration`, in nanoseconds.
fn tree(trace: &RecordedExecutionTrace) -> String {
    let depth = |mut parent: Option<usize>| {
        let mut depth = 0;
        while let Some(step) = parent {
            depth += 1;
            parent = trace.entries[step].parent;
        }
        depth
    };
    let mut lines = String::new();
    for entry in &trace.entries {
        let indent = "  ".repeat(depth(entry.parent));
        let (start, duration) = (
            entry.start_us().unwrap() * 1000.0,
            entry.duration_us * 1000.0,
        );
        writeln!(lines, "{indent}{} @{start}+{duration}", entry.operation).unwrap();
    }
    lines
}

#[test]
fn a_new_recorder_has_recorded_nothing() {
    let trace = TraceRecorder::new().finish();
    assert_eq!(trace, RecordedExecutionTrace::new());
    assert!(TraceRecorder::default().current_trace().entries.is_empty());
}

#[test]
fn shapes_given_at_the_end_are_recorded() {
    let mut recorder = TraceRecorder::new();
    recorder.begin_op("matmul");
    recorder.end_op_with_shapes(vec![vec![4, 8], vec![8, 2]], vec![4, 2]);
    let trace = recorder.finish();
    let entry = &trace.entries[0];
    assert_eq!((entry.step, entry.operation.as_str()), (0, "matmul"));
    assert_eq!(entry.input_shapes, [[4, 8], [8, 2]]);
    assert_eq!(entry.output_shape, [4, 2]);
    assert_eq!((entry.output_elements, entry.memory_bytes), (8, 64));
    assert_eq!(entry.device_id, None);
    assert_eq!(entry.outcome, Outcome::Ok);
    assert_eq!(trace.total_duration_us, entry.duration_us);
}

#[test]
fn beginning_an_op_ends_the_previous_one() {
    let mut recorder = TraceRecorder::with_stepped_clock(10);
    recorder.begin_op("a");
    recorder.begin_op("b");
    recorder.end_op();
    assert_eq!(tree(&recorder.finish()), "a @10+10\nb @30+10\n");
}

#[test]
fn ending_with_nothing_open_does_nothing() {
    let mut recorder = TraceRecorder::new();
    recorder.end_op();
    recorder.end_op_with_shapes(vec![vec![1]], vec![1]);
    recorder.end_nested();
    assert_eq!(recorder.finish().step_count(), 0);
}

#[test]
fn finishing_closes_what_is_open() {
    let mut recorder = TraceRecorder::with_stepped_clock(10);
    recorder.begin_nested("outer");
    recorder.begin_op("inner");
    let trace = recorder.finish();
    assert_eq!(tree(&trace), "outer @10+30\n  inner @20+10\n");
    assert_eq!(trace.entries[1].output_elements, 1, "ended as by `end_op`");
}

#[test]
fn an_op_ended_without_shapes_counts_as_a_scalar() {
    let mut recorder = TraceRecorder::new();
    recorder.begin_op("a");
    recorder.end_op();
    let trace = recorder.finish();
    assert_eq!(trace.entries[0].output_shape, [0; 0]);
    assert_eq!(
        (trace.entries[0].output_elements, trace.total_memory_bytes()),
        (1, 8)
    );
}

#[test]
fn a_nested_op_keeps_its_parent_open_and_does_not_add_to_the_total() {
    let mut recorder = TraceRecorder::with_stepped_clock(10);
    recorder.begin_nested("model");
    recorder.begin_nested("layer");
    recorder.begin_op("matmul");
    recorder.begin_op("relu");
    recorder.end_nested();
    recorder.begin_op("softmax");
    recorder.end_op();
    recorder.end_nested();
    let trace = recorder.finish();
    assert_eq!(
        tree(&trace),
        "model @10+90\n  layer @20+50\n    matmul @30+10\n    relu @50+10\n  softmax @80+10\n"
    );
    assert_eq!(trace.total_duration_us, 0.09);
}

#[test]
fn flat_ops_never_end_a_nested_one() {
    let mut recorder = TraceRecorder::with_stepped_clock(1);
    recorder.begin_op("flat");
    recorder.begin_nested("nested in flat");
    recorder.begin_op("flat in nested");
    recorder.begin_op("next");
    recorder.end_op();
    recorder.end_op(); // ends `nested in flat`: it is the innermost by now
    recorder.begin_op("after"); // ends `flat`
    let trace = recorder.finish();
    let parents: Vec<_> = trace
        .entries
        .iter()
        .map(|e| (e.operation.as_str(), e.parent))
        .collect();
    assert_eq!(
        parents,
        [
            ("flat", None),
            ("nested in flat", Some(0)),
            ("flat in nested", Some(1)),
            ("next", Some(1)),
            ("after", None)
        ]
    );
}

#[test]
fn a_scope_closes_what_its_body_left_open() {
    let mut recorder = TraceRecorder::with_stepped_clock(1);
    let returned = recorder.scope("outer", |recorder| {
        recorder.begin_nested("left open");
        recorder.begin_op("inside");
        42
    });
    recorder.begin_op("after");
    let trace = recorder.finish();
    assert_eq!(returned, 42);
    let parents: Vec<_> = trace.entries.iter().map(|entry| entry.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), None]);
}

#[test]
fn the_current_trace_is_what_finish_returns_so_far() {
    let mut recorder = TraceRecorder::with_stepped_clock(10);
    recorder.begin_nested("outer");
    for op in ["a", "b", "a"] {
        recorder.begin_op(op);
        recorder.end_op_with_shapes(vec![vec![2, 3]], vec![3]);
        let seen = recorder.current_trace();
        assert!(
            std::ptr::eq(seen, recorder.current_trace()),
            "without a new op the same trace is returned again"
        );
    }
    assert_eq!(recorder.current_trace().step_count(), 3);
    assert_eq!(recorder.current_trace().total_duration_us, 0.03);
    recorder.end_nested();
    let seen = recorder.current_trace().clone();
    assert_eq!(seen.total_duration_us, 0.07, "children are inside now");
    assert_eq!(seen, recorder.finish());
}

#[test]
fn a_recorder_outlives_many_chunks_and_signatures() {
    let mut recorder = TraceRecorder::with_stepped_clock(1);
    for op in 0..10_000 {
        recorder.begin_op(format!("op{}", op % 7));
        recorder.end_op_with_shapes(vec![vec![op % 301]], vec![op % 11, 2]);
    }
    let trace = recorder.finish();
    assert_eq!(trace.step_count(), 10_000);
    for (index, entry) in trace.entries.iter().enumerate() {
        assert_eq!(entry.step, index);
        assert_eq!(entry.operation, format!("op{}", index % 7));
        assert_eq!(entry.input_shapes, [[index % 301]]);
        assert_eq!(entry.output_shape, [index % 11, 2]);
    }
}

//! The events of a trace that are steps.

use crate::{annotation, chrome, event, names, numbers, op};
use trace_runtime::analyze::{call_tree, step_of_entries};
use trace_runtime::{TraceStep, TraceView};

#[test]
fn annotations_of_steps_become_steps_and_the_ops_inside_become_roots() {
    let trace = chrome(&[
        annotation("ProfilerStep#5", (0, 100)),
        op("aten::linear", (10, 50)),
        op("aten::mm", (20, 40)),
        annotation("ProfilerStep#6", (100, 230)),
        op("aten::linear", (110, 150)),
        event("gpu_user_annotation", "ProfilerStep#6", 7, (120, 220), ""),
    ]);
    assert_eq!(
        trace.steps(),
        [
            TraceStep::new(5, 0, 100_000).with_thread(Some(1)),
            TraceStep::new(6, 100_000, 230_000).with_thread(Some(1)),
        ]
    );
    let parents: Vec<_> = trace
        .views()
        .map(|view| (view.operation(), view.parent()))
        .collect();
    let expected = [
        ("aten::linear", None),
        ("aten::mm", Some(0)),
        ("aten::linear", None),
    ];
    assert_eq!(parents, expected);
    // 40 µs in each step; the time of the steps themselves is not the time of an op.
    assert_eq!(trace.total_duration_us(), 80.0);
    let roots: Vec<_> = call_tree(&trace)
        .nodes
        .into_iter()
        .filter(|node| node.depth == 0)
        .map(|node| (node.operation, node.count))
        .collect();
    assert_eq!(roots, [("aten::linear".to_owned(), 2)]);
}

#[test]
fn steps_without_a_number_are_counted() {
    let trace = chrome(&[
        annotation("ProfilerStep*", (100, 200)),
        annotation("ProfilerStep*", (0, 100)),
        op("x", (0, 1)),
    ]);
    assert_eq!(numbers(&trace), [0, 1]);
    assert_eq!(trace.steps()[1].start_ns, 100_000);
}

#[test]
fn step_markers_of_jax_are_steps() {
    let trace = chrome(&[
        event("", "train", 1, (0, 100), r#""step_num": "17""#),
        event("", "PjitFunction(update)", 1, (10, 90), ""),
    ]);
    assert_eq!(numbers(&trace), [17]);
    assert_eq!(names(&trace), ["PjitFunction(update)"]);
}

#[test]
fn the_profilers_steps_come_before_the_programs_own() {
    let trace = chrome(&[
        annotation("ProfilerStep#1", (0, 100)),
        annotation("iteration 40", (5, 95)),
        op("x", (10, 20)),
    ]);
    assert_eq!(numbers(&trace), [1]);
    assert_eq!(names(&trace), ["iteration 40", "x"]);
}

#[test]
fn of_two_loops_the_outer_one_has_the_steps() {
    let trace = chrome(&[
        annotation("iteration 1", (0, 100)),
        annotation("step 0", (10, 40)),
        annotation("step 1", (50, 90)),
        annotation("iteration 2", (100, 190)),
    ]);
    assert_eq!(numbers(&trace), [1, 2]);
    assert_eq!(names(&trace), ["step 0", "step 1"]);
}

#[test]
fn one_thread_of_a_rank_counts_its_steps() {
    let trace = chrome(&[
        annotation("step 1", (0, 100)),
        event("user_annotation", "step 1", 2, (0, 10), ""),
        op("x", (10, 20)),
    ]);
    assert_eq!((trace.steps().len(), trace.steps()[0].thread), (1, Some(1)));
    assert_eq!(names(&trace), ["x"]);
}

#[test]
fn device_work_belongs_to_the_step_that_launched_it() {
    let launch = |at: u32, id: u32| {
        let args = format!(r#""correlation": {id}"#);
        event("cuda_runtime", "cudaLaunchKernel", 1, (at, at + 2), &args)
    };
    let kernel = |span, id: u32| {
        let args = format!(r#""device": 0, "stream": 7, "correlation": {id}"#);
        event("kernel", "gemm", 7, span, &args)
    };
    let trace = chrome(&[
        annotation("ProfilerStep#1", (0, 100)),
        op("mm", (80, 95)),
        launch(85, 1),
        annotation("ProfilerStep#2", (100, 200)),
        kernel((120, 180), 1),
        op("mm", (190, 199)),
        launch(191, 2),
        kernel((250, 260), 2),
        op("after", (300, 310)),
    ]);
    let steps: Vec<_> = trace
        .views()
        .zip(step_of_entries(&trace))
        .map(|(view, step)| {
            (
                view.operation(),
                step.map(|step| trace.steps()[step].number),
            )
        })
        .collect();
    assert_eq!(
        steps,
        [
            ("mm", Some(1)),
            ("gemm", Some(1)),
            ("mm", Some(2)),
            ("gemm", Some(2)),
            ("after", None),
        ]
    );
}

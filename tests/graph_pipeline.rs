//! A trace of several devices: each entry has its device, and communication is a child of the step that
//! waits for it.
#![cfg(feature = "enabled")]

#[path = "../examples/pipeline/graph.rs"]
mod graph;
mod tree;

use graph::{EXAMPLE_ROWS, EXAMPLE_STEPS, HIDDEN, INPUTS, OUTPUTS, train};
use std::collections::{BTreeMap, BTreeSet};
use trace_runtime::{OpKind, RecordedExecutionTrace, RecordedTraceEntry, Session, TraceAnalyzer};

const ROWS: [usize; 3] = [8, 24, 8];
const STEPS: usize = 2;

/// The only test in this file, because a session records every thread of the process.
#[test]
fn devices_compute_their_rows_and_sum_their_gradients() {
    let session = Session::start().expect("no other session");
    let weights = train(&ROWS, STEPS);
    let trace = session.finish();

    assert!(
        weights
            .iter()
            .all(|weight| weight.iter().all(|x| x.is_finite()))
    );
    // Each device adds the same numbers in a different order.
    for other in &weights[1..] {
        assert!(other.abs_diff_eq_all(&weights[0]));
    }
    check(&trace, &ROWS, STEPS);
}

#[test]
#[ignore = "reads a file that the example writes: `scripts/examples.sh` runs it"]
fn the_trace_that_the_example_wrote_is_the_graph() {
    let trace = RecordedExecutionTrace::read("traces-out/pipeline/trace.json")
        .expect("run the example first");
    check(&trace, &EXAMPLE_ROWS, EXAMPLE_STEPS);
}

fn check(trace: &RecordedExecutionTrace, rows: &[usize], steps: usize) {
    let runs = rows.len() * steps;
    let expected = BTreeMap::from([
        ("step", runs),
        ("matmul", 5 * runs),
        ("relu", runs),
        ("relu_backward", runs),
        ("subtract", runs),
        ("transpose", 3 * runs),
        ("all_reduce", 2 * runs),
        ("descend", 2 * runs),
    ]);
    assert_eq!(tree::counts(trace), expected);
    assert_eq!(tree::depth(trace), 2);

    for entry in &trace.entries {
        if entry.operation == "step" {
            assert_eq!((entry.parent, &entry.device_id), (None, &None));
            continue;
        }
        let step = tree::parent(trace, entry).expect("everything happens in a step");
        assert_eq!(step.operation, "step");
        if entry.operation == "all_reduce" {
            assert_eq!(entry.kind, Some(OpKind::Communication));
            assert_ne!(entry.thread, step.thread);
            assert_eq!(
                entry.input_shapes[..],
                *std::slice::from_ref(&entry.output_shape)
            );
            assert_eq!(
                entry.bytes_moved,
                Some(((rows.len() - 1) * entry.memory_bytes) as u64)
            );
        }
    }
    tree::assert_matmuls_follow_the_formula(trace);

    for (index, &rows) in rows.iter().enumerate() {
        let device = format!("npu:{index}");
        let here = |entry: &&RecordedTraceEntry| entry.device_id.as_deref() == Some(&device);
        let computed = tree::of(trace, "matmul").filter(here);
        let threads: BTreeSet<_> = computed.map(|entry| entry.thread).collect();
        assert_eq!(threads.len(), 1, "{device} computes on one thread");
        let shapes: Vec<_> = tree::of(trace, "matmul")
            .filter(here)
            .map(|entry| entry.input_shapes.clone())
            .take(5)
            .collect();
        let expected = [
            [[rows, INPUTS], [INPUTS, HIDDEN]],
            [[rows, HIDDEN], [HIDDEN, OUTPUTS]],
            [[HIDDEN, rows], [rows, OUTPUTS]],
            [[rows, OUTPUTS], [OUTPUTS, HIDDEN]],
            [[INPUTS, rows], [rows, HIDDEN]],
        ];
        assert_eq!(shapes, expected);
    }
    let balance = TraceAnalyzer::load_balance_metrics(trace).expect("several devices");
    assert_eq!(balance.device_count, rows.len());
}

trait AlmostEqual {
    fn abs_diff_eq_all(&self, other: &Self) -> bool;
}

impl AlmostEqual for ndarray::Array2<f32> {
    fn abs_diff_eq_all(&self, other: &Self) -> bool {
        self.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-4)
    }
}

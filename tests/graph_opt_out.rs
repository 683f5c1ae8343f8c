//! With the feature `enabled` a graph is recorded, without it nothing is. This file is tested both ways.

#[path = "../examples/opt_out/graph.rs"]
mod graph;
mod tree;

use std::collections::BTreeMap;
use trace_runtime::{RecordedExecutionTrace, Session, record};

#[test]
fn the_feature_decides_whether_a_session_records() {
    let session = Session::start().expect("no other session");
    let sum = graph::sum_of_squares(&[1.0, 2.0, 3.0]);
    check(sum, &session.finish());
}

#[test]
fn the_feature_decides_whether_a_closure_is_recorded() {
    let (sum, trace) = record(|| graph::sum_of_squares(&[1.0, 2.0, 3.0]));
    check(sum, &trace);
}

fn check(sum: f32, trace: &RecordedExecutionTrace) {
    assert!((sum - 14.0).abs() < 1e-6);
    if cfg!(feature = "enabled") {
        let expected = BTreeMap::from([("sum_of_squares", 1), ("square", 3)]);
        assert_eq!(tree::counts(trace), expected);
        assert_eq!(tree::depth(trace), 2);
        assert_eq!(trace.entries[0].input_shapes, [[3]]);
    } else {
        assert!(trace.entries.is_empty());
        let answer = trace.report().answer;
        assert!(
            answer.starts_with("tracing was compiled out: build with the feature `enabled`"),
            "{answer}"
        );
    }
}

//! Reads a trace as the tree of its ops.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry};

/// The number of executions of each op.
pub(crate) fn counts(trace: &RecordedExecutionTrace) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for entry in &trace.entries {
        *counts.entry(entry.operation.as_str()).or_default() += 1;
    }
    counts
}

/// The ops with this name, in the order they began.
pub(crate) fn of<'a>(
    trace: &'a RecordedExecutionTrace,
    operation: &'a str,
) -> impl Iterator<Item = &'a RecordedTraceEntry> {
    let named = move |entry: &&RecordedTraceEntry| entry.operation == operation;
    trace.entries.iter().filter(named)
}

/// The name of the op that called `entry`.
pub(crate) fn caller<'a>(
    trace: &'a RecordedExecutionTrace,
    entry: &RecordedTraceEntry,
) -> Option<&'a str> {
    parent(trace, entry).map(|parent| parent.operation.as_str())
}

pub(crate) fn parent<'a>(
    trace: &'a RecordedExecutionTrace,
    entry: &RecordedTraceEntry,
) -> Option<&'a RecordedTraceEntry> {
    let step = entry.parent?;
    trace.entries.iter().find(|other| other.step == step)
}

/// The names from the outermost op down to `entry`.
pub(crate) fn path(trace: &RecordedExecutionTrace, entry: &RecordedTraceEntry) -> Vec<String> {
    let mut path = match parent(trace, entry) {
        Some(parent) => self::path(trace, parent),
        None => Vec::new(),
    };
    path.push(entry.operation.clone());
    path
}

/// The largest number of nested ops.
pub(crate) fn depth(trace: &RecordedExecutionTrace) -> usize {
    let depths = trace.entries.iter().map(|entry| path(trace, entry).len());
    depths.max().unwrap_or(0)
}

/// Checks that every op called `matmul` multiplies two matrices that fit, and that its FLOPs are
/// those of the product.
pub(crate) fn assert_matmuls_follow_the_formula(trace: &RecordedExecutionTrace) {
    for entry in of(trace, "matmul") {
        let [left, right] = &entry.input_shapes[..] else {
            panic!(
                "step {} has {} inputs",
                entry.step,
                entry.input_shapes.len()
            );
        };
        let (&[m, k], &[k_again, n]) = (&left[..], &right[..]) else {
            panic!("step {} multiplies {left:?} and {right:?}", entry.step);
        };
        assert_eq!(k, k_again, "step {}", entry.step);
        assert_eq!(entry.output_shape, [m, n], "step {}", entry.step);
        assert_eq!(
            entry.flops,
            Some(2 * (m * k * n) as u64),
            "step {}",
            entry.step
        );
        assert_eq!(entry.memory_bytes, 4 * m * n, "step {}", entry.step);
    }
}

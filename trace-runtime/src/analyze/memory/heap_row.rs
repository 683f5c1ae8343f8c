//! The heap memory that each op allocated.

use super::owner::{OwnerOp, op_of_context};
use crate::model::json_struct::json_struct;
use crate::model::{MemoryContext, TraceView, memory_contexts};
use std::collections::{BTreeMap, BTreeSet};

/// Heap memory of one op with one set of input shapes, over all its calls and ranks.
///
/// Only programs with the global allocator `TracedAlloc` have this. For device memory and traces of other profilers,
/// see [`live_memory`](super::live_memory).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HeapRow {
    /// The op; `None` for memory that was allocated outside ops.
    pub operation: Option<String>,
    /// Its label.
    pub label: Option<String>,
    /// The dims of each input.
    pub input_shapes: Vec<Vec<usize>>,
    /// Executions that ended and in which memory was allocated or freed.
    pub calls: u64,
    /// Bytes allocated while the op was innermost.
    pub allocated_bytes: u64,
    /// The number of those allocations.
    pub allocations: u64,
    /// Bytes that were allocated inside the op, by ops inside too, and freed before it ended.
    pub temporary_bytes: u64,
    /// Bytes that were allocated inside the op, by ops inside too, and outlived it.
    pub retained_bytes: u64,
    /// The largest increase of a thread's memory during one call.
    pub peak_bytes: u64,
    /// Bytes that it allocated itself and that were live when the recording ended.
    pub live_bytes: u64,
}

json_struct!(HeapRow {
    required: [operation, calls, allocated_bytes, allocations],
    optional: [
        label,
        input_shapes,
        temporary_bytes,
        retained_bytes,
        peak_bytes,
        live_bytes,
    ],
});

impl HeapRow {
    /// Allocations per call while the op was innermost. An op that reuses its memory has 0.
    pub fn allocations_per_call(&self) -> f64 {
        self.allocations as f64 / self.calls.max(1) as f64
    }
}

/// The heap memory of each op and its input shapes, the most allocated first; empty if the program did not use
/// `TracedAlloc`. The tracer's own memory is left out.
pub fn heap_by_shape<T: TraceView + ?Sized>(trace: &T) -> Vec<HeapRow> {
    let mut rows: BTreeMap<OwnerOp, HeapRow> = BTreeMap::new();
    for context in contexts(trace) {
        let op = op_of_context(&context);
        let row = rows.entry(op).or_default();
        row.calls += context.calls;
        row.allocated_bytes += context.allocated_bytes;
        row.allocations += context.allocations;
        row.temporary_bytes += context.temporary_bytes;
        row.retained_bytes += context.retained_bytes();
        row.peak_bytes = row.peak_bytes.max(context.peak_bytes);
        row.live_bytes += context.live_bytes();
    }
    let mut rows: Vec<HeapRow> = rows
        .into_iter()
        .map(|(op, row)| HeapRow {
            operation: op.operation,
            label: op.label,
            input_shapes: op.input_shapes,
            ..row
        })
        .filter(|row| row.allocations > 0 || row.peak_bytes > 0)
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.allocated_bytes));
    rows
}

/// Bytes allocated by call stack, as collapsed stacks: `block;matmul 4096`, one per line, sorted. Empty if the program
/// did not use `TracedAlloc`.
pub fn heap_stacks<T: TraceView + ?Sized>(trace: &T) -> Vec<super::HeldStack> {
    let mut stacks: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for rank in ranks(trace) {
        let contexts = memory_contexts(trace, rank);
        for context in contexts.iter().filter(|one| !is_tracer(one)) {
            if context.allocated_bytes > 0 {
                *stacks.entry(stack(&contexts, context)).or_default() += context.allocated_bytes;
            }
        }
    }
    stacks
        .into_iter()
        .map(|(frames, bytes)| super::HeldStack { frames, bytes })
        .collect()
}

fn stack(contexts: &[MemoryContext], context: &MemoryContext) -> Vec<String> {
    let mut frames = vec![context.operation.clone()];
    let mut next = context.parent;
    // A damaged file may have a cycle.
    while let Some(context) = next
        .filter(|_| frames.len() <= contexts.len())
        .and_then(|parent| contexts.get(parent))
    {
        frames.push(context.operation.clone());
        next = context.parent;
    }
    frames.reverse();
    frames
}

fn contexts<T: TraceView + ?Sized>(trace: &T) -> impl Iterator<Item = MemoryContext> {
    let ranks = ranks(trace);
    ranks
        .into_iter()
        .flat_map(move |rank| memory_contexts(trace, rank))
        .filter(|context| !is_tracer(context))
}

pub(super) fn is_tracer(context: &MemoryContext) -> bool {
    !context.is_op && context.operation == "(tracer)"
}

/// The ranks whose heap was recorded.
pub(super) fn ranks<T: TraceView + ?Sized>(trace: &T) -> BTreeSet<Option<u32>> {
    trace
        .memory_events()
        .filter(|event| event.context.is_some())
        .map(|event| event.rank)
        .collect()
}

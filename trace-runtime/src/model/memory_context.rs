//! The heap as `TracedAlloc` recorded it: figures for each op with its inputs.

use super::json_struct::json_struct;
use super::view::TraceView;
use super::wire::metadata::{MEMORY_CONTEXTS, of_rank};

/// The heap memory of one op with its inputs, inside the ops around it.
///
/// A program with the global allocator `TracedAlloc` records these; [`memory_contexts`] returns them. Memory is charged
/// to the innermost op of the thread that allocates it. [`MemoryEvent::context`](super::MemoryEvent) refers to them by
/// their position.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MemoryContext {
    /// The op; `(outside ops)`, `(tracer)` or `(other ops)` for memory that belongs to none.
    pub operation: String,
    /// False for memory that belongs to no op.
    pub is_op: bool,
    /// The label of the op.
    pub label: Option<String>,
    /// The dims of each input.
    pub input_shapes: Vec<Vec<usize>>,
    /// The position of the context of the op around it; `None` if there is none.
    pub parent: Option<usize>,
    /// Bytes allocated while the op was innermost.
    pub allocated_bytes: u64,
    /// The number of allocations in `allocated_bytes`. A reallocation counts as a free and an allocation.
    pub allocations: u64,
    /// The part of `allocated_bytes` that was freed before the recording ended, in any op.
    pub freed_bytes: u64,
    /// The number of frees in `freed_bytes`.
    pub frees: u64,
    /// Executions of the op that ended and in which memory was allocated or freed.
    pub calls: u64,
    /// Bytes allocated inside the executions in `calls` on their thread, also by ops inside them.
    pub inside_bytes: u64,
    /// The number of allocations in `inside_bytes`.
    pub inside_allocations: u64,
    /// The part of `inside_bytes` that was freed before the execution ended.
    pub temporary_bytes: u64,
    /// The largest increase of a thread's memory during one execution.
    pub peak_bytes: u64,
}

json_struct!(MemoryContext {
    required: [operation],
    optional: [
        is_op,
        label,
        input_shapes,
        parent,
        allocated_bytes,
        allocations,
        freed_bytes,
        frees,
        calls,
        inside_bytes,
        inside_allocations,
        temporary_bytes,
        peak_bytes,
    ],
});

impl MemoryContext {
    /// Bytes that were allocated and not freed when the recording ended.
    pub fn live_bytes(&self) -> u64 {
        self.allocated_bytes.saturating_sub(self.freed_bytes)
    }

    /// Bytes allocated inside the op's executions that were live when they ended: results, caches, leaks.
    pub fn retained_bytes(&self) -> u64 {
        self.inside_bytes.saturating_sub(self.temporary_bytes)
    }
}

/// The contexts of a rank, in the order that [`MemoryEvent::context`](super::MemoryEvent) refers to; empty if the
/// program did not use `TracedAlloc`.
///
/// ```
/// use trace_runtime::model::memory_contexts;
///
/// # let trace = trace_runtime::RecordedExecutionTrace::new();
/// let most = memory_contexts(&trace, None).into_iter().max_by_key(|context| context.allocated_bytes);
/// assert!(most.is_none());
/// ```
pub fn memory_contexts<T: TraceView + ?Sized>(trace: &T, rank: Option<u32>) -> Vec<MemoryContext> {
    let metadata = trace.metadata();
    let of_rank = rank.and_then(|rank| metadata.get(&of_rank(rank, MEMORY_CONTEXTS)));
    let text = of_rank.or_else(|| metadata.get(MEMORY_CONTEXTS));
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

//! The heap in a session: turns the records of `TracedAlloc` into memory events and contexts of the trace.

use crate::model::wire::metadata::{MEMORY_CONTEXTS, MEMORY_SAMPLED, MEMORY_UNRECORDED};
use crate::model::{MemoryContext, MemoryEvent, TraceStore};
use std::sync::atomic::Ordering;
pub(super) use trace_core::__engine::heap::HeapRecord;
use trace_core::__engine::heap::{self, Counts};
use trace_core::__engine::state::Running;

/// Begins to record the heap, if the program uses `TracedAlloc`.
pub(super) fn begin(running: &Running, sampled_every: u64) {
    let is_recorded = heap::begin(&running.clock, running.only, sampled_every);
    running
        .shared
        .records_heap
        .store(is_recorded, Ordering::Relaxed);
}

/// Ends recording the heap.
pub(super) fn finish(running: &Running) -> Option<HeapRecord> {
    running.shared.records_heap.store(false, Ordering::Relaxed);
    heap::finish()
}

/// The device that heap memory is shown on.
const HOST: &str = "cpu";

/// Adds the heap to the trace.
pub(super) fn add_to(store: &mut TraceStore, record: &HeapRecord, rank: Option<u32>) {
    let contexts = contexts(store, record);
    if let Ok(text) = serde_json::to_string(&contexts) {
        store.insert_metadata(MEMORY_CONTEXTS, text);
    }
    if record.unrecorded > 0 {
        store.insert_metadata(MEMORY_UNRECORDED, record.unrecorded.to_string());
    }
    if record.sampled_every > 0 {
        store.insert_metadata(MEMORY_SAMPLED, record.sampled_every.to_string());
    }
    let events: Vec<MemoryEvent<'_>> = record
        .changes
        .iter()
        .map(|change| MemoryEvent {
            at_ns: store.ns_of(change.at),
            bytes: change.bytes,
            device_id: HOST,
            rank,
            during: None,
            address: None,
            allocated: None,
            context: Some(u32::from(change.context)),
        })
        .collect();
    store.add_memory(events.into_iter());
}

fn contexts(store: &TraceStore, record: &HeapRecord) -> Vec<MemoryContext> {
    let none = ["(outside ops)", "(tracer)", "(other ops)"];
    let without_op = none.iter().map(|name| MemoryContext {
        operation: (*name).to_owned(),
        ..MemoryContext::default()
    });
    let of_ops = record.contexts.iter().map(|context| {
        let mut of_op = store.context_of_signature(context.signature);
        of_op.parent = (context.parent != heap::OUTSIDE).then_some(usize::from(context.parent));
        of_op
    });
    without_op
        .chain(of_ops)
        .zip(&record.counts)
        .map(|(context, counts)| with_counts(context, counts))
        .collect()
}

fn with_counts(context: MemoryContext, counts: &Counts) -> MemoryContext {
    MemoryContext {
        allocated_bytes: counts.allocated,
        allocations: counts.allocations,
        freed_bytes: counts.freed,
        frees: counts.frees,
        calls: counts.calls,
        inside_bytes: counts.inside,
        inside_allocations: counts.inside_allocations,
        temporary_bytes: counts.temporary,
        peak_bytes: counts.peak,
        ..context
    }
}

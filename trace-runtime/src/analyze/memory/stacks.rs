//! Memory by call stack: the input of flame graphs of bytes.

use super::heap_row::is_tracer;
use super::live::live_memory;
use super::owner::{Owner, Owners};
use crate::analyze::flamegraph::escape;
use crate::model::{TraceView, memory_contexts};
use std::collections::BTreeMap;

/// The bytes that a flame graph of memory shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryWeight {
    /// The bytes that were live when each device's memory was at its peak.
    LiveAtPeak,
    /// All bytes that were allocated, freed or not.
    Allocated,
}

/// Bytes by device and call stack as collapsed stacks: a line `cpu;block;matmul 4096` for each, sorted. Empty if the
/// trace has no memory events.
///
/// Names are escaped as in
/// [`TraceAnalyzer::flamegraph_collapsed`](crate::analyze::TraceAnalyzer::flamegraph_collapsed). A device is preceded
/// by its rank if there is one. Live bytes of a device add up to its [peak](super::LiveMemory::peak_bytes).
///
/// ```
/// use trace_runtime::analyze::{MemoryWeight, memory_collapsed};
///
/// # let trace = trace_runtime::RecordedExecutionTrace::new();
/// assert_eq!(memory_collapsed(&trace, MemoryWeight::LiveAtPeak), "");
/// ```
pub fn memory_collapsed<T: TraceView + ?Sized>(trace: &T, weight: MemoryWeight) -> String {
    let stacks = match weight {
        MemoryWeight::LiveAtPeak => live_at_peak(trace),
        MemoryWeight::Allocated => allocated(trace),
    };
    let lines = stacks.into_iter().filter(|(_, bytes)| *bytes > 0);
    let lines: Vec<String> = lines
        .map(|(frames, bytes)| format!("{} {bytes}", frames.join(";")))
        .collect();
    lines.join("\n")
}

/// Bytes by frames, which are escaped.
type Stacks = BTreeMap<Vec<String>, u64>;

fn live_at_peak<T: TraceView + ?Sized>(trace: &T) -> Stacks {
    let mut stacks = Stacks::new();
    for device in live_memory(trace) {
        let root = root(device.rank, &device.device);
        let known: u64 = device.stacks.iter().map(|stack| stack.bytes).sum();
        for stack in &device.stacks {
            add(&mut stacks, &root, &stack.frames, stack.bytes);
        }
        let before = ["(before the trace)".to_owned()];
        let rest = device.peak_bytes.saturating_sub(known);
        add(&mut stacks, &root, &before, rest);
    }
    stacks
}

fn allocated<T: TraceView + ?Sized>(trace: &T) -> Stacks {
    let mut stacks = Stacks::new();
    let mut owners = Owners::new(trace);
    let mut blocks: BTreeMap<(Option<u32>, &str, Owner), u64> = BTreeMap::new();
    // The contexts of a rank have the exact sums. The events are only as precise as the curve needs to be.
    let mut heaps: BTreeMap<(Option<u32>, &str), Owner> = BTreeMap::new();
    for event in trace.memory_events() {
        let owner = owners.of(&event);
        if matches!(owner, Owner::Context(..)) {
            heaps.entry((event.rank, event.device_id)).or_insert(owner);
        } else if event.bytes > 0 {
            let sum = blocks
                .entry((event.rank, event.device_id, owner))
                .or_default();
            *sum = sum.saturating_add(event.bytes.unsigned_abs());
        }
    }
    for ((rank, device, owner), bytes) in blocks {
        add(
            &mut stacks,
            &root(rank, device),
            &owners.stack(owner),
            bytes,
        );
    }
    for ((rank, device), owner) in heaps {
        let Owner::Context(heap, _) = owner else {
            continue;
        };
        let contexts = memory_contexts(trace, rank);
        for (index, context) in contexts.iter().enumerate() {
            if is_tracer(context) {
                continue;
            }
            let frames = owners.stack(Owner::Context(heap, index as u32));
            add(
                &mut stacks,
                &root(rank, device),
                &frames,
                context.allocated_bytes,
            );
        }
    }
    stacks
}

fn root(rank: Option<u32>, device: &str) -> String {
    match rank {
        Some(rank) => format!("rank {rank} {device}"),
        None => device.to_owned(),
    }
}

fn add(stacks: &mut Stacks, root: &str, frames: &[String], bytes: u64) {
    let frames = std::iter::once(root).chain(frames.iter().map(String::as_str));
    let sum = stacks.entry(frames.map(escape).collect()).or_default();
    *sum = sum.saturating_add(bytes);
}

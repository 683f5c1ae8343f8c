//! Live memory over time, and the ops that held it at the peak.

use super::owner::{Owner, OwnerOp, Owners};
use crate::model::json_struct::json_struct;
use crate::model::{MemoryEvent, TraceView};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// The live memory of one device over time.
///
/// Exact, because it comes from the allocations and frees in the trace. A trace without them has no live memory:
/// outputs do not show when they are freed.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct LiveMemory {
    /// The rank the device belongs to.
    pub rank: Option<u32>,
    /// The device.
    pub device: String,
    /// The largest number of bytes that were live at one moment.
    pub peak_bytes: u64,
    /// The first time of the peak, in nanoseconds since the trace began.
    pub peak_at_ns: i64,
    /// Each change: the moment in nanoseconds, and the bytes that are live from then on.
    pub curve: Vec<(i64, u64)>,
    /// The memory that was live at the peak, by the op that allocated it and the shapes of its inputs, largest first.
    pub holders: Vec<MemoryHolder>,
    /// The memory that was live at the peak by call stack, for a flame graph.
    pub stacks: Vec<HeldStack>,
}

json_struct!(LiveMemory {
    required: [device, peak_bytes, peak_at_ns],
    optional: [rank, curve, holders, stacks],
});

/// Memory that the allocations of one op held at the peak.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct MemoryHolder {
    /// The op; `None` for memory allocated outside ops or before the trace began.
    pub operation: Option<String>,
    /// Its label.
    pub label: Option<String>,
    /// The dims of each input.
    pub input_shapes: Vec<Vec<usize>>,
    /// The bytes it held.
    pub bytes: u64,
    /// The number of blocks; 0 if it is not known.
    pub blocks: usize,
}

json_struct!(MemoryHolder {
    required: [operation, bytes, blocks],
    optional: [label, input_shapes],
});

/// Memory by call stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HeldStack {
    /// The ops, outermost first.
    pub frames: Vec<String>,
    /// The bytes that the innermost op allocated.
    pub bytes: u64,
}

json_struct!(HeldStack {
    required: [frames, bytes],
    optional: [],
});

/// The live memory of each device of each rank, by rank and name; empty if the trace has no memory events.
pub fn live_memory<T: TraceView + ?Sized>(trace: &T) -> Vec<LiveMemory> {
    let mut owners = Owners::new(trace);
    let mut by_device: BTreeMap<(Option<u32>, &str), Vec<MemoryEvent<'_>>> = BTreeMap::new();
    for event in trace.memory_events() {
        by_device
            .entry((event.rank, event.device_id))
            .or_default()
            .push(event);
    }
    by_device
        .into_iter()
        .map(|((rank, device), mut events)| {
            events.sort_by_key(|event| event.at_ns);
            from_events(&mut owners, rank, device, &events)
        })
        .collect()
}

fn from_events<T: TraceView + ?Sized>(
    owners: &mut Owners<'_, T>,
    rank: Option<u32>,
    device: &str,
    events: &[MemoryEvent<'_>],
) -> LiveMemory {
    // Blocks that were allocated before the trace may be freed in it. At least those were live at its beginning.
    let mut sum = 0i64;
    let lowest = events.iter().fold(0i64, |lowest, event| {
        sum = sum.saturating_add(event.bytes);
        lowest.min(sum)
    });
    let mut live = lowest.saturating_neg();
    let mut memory = LiveMemory {
        rank,
        device: device.to_owned(),
        ..LiveMemory::default()
    };
    let mut peak_event = None;
    for (index, event) in events.iter().enumerate() {
        live = live.saturating_add(event.bytes);
        if let Some(allocated) = event.allocated {
            live = i64::try_from(allocated).unwrap_or(i64::MAX);
        }
        let bytes = live.max(0) as u64;
        if bytes > memory.peak_bytes || peak_event.is_none() {
            memory.peak_bytes = bytes;
            memory.peak_at_ns = event.at_ns;
            peak_event = Some(index);
        }
        push_point(&mut memory.curve, event.at_ns, bytes);
    }
    let until_peak = peak_event.map_or(0, |index| index + 1);
    let held = held(owners, &events[..until_peak]);
    memory.holders = holders(owners, &held, memory.peak_bytes);
    memory.stacks = stacks(owners, &held);
    memory
}

/// The memory that is live after some events, by owner: bytes and blocks.
type Held = HashMap<Owner, (u64, usize)>;

/// The memory that is live after these events.
fn held<T: TraceView + ?Sized>(owners: &mut Owners<'_, T>, events: &[MemoryEvent<'_>]) -> Held {
    // A block without an address is identified by its size. If several have the same size, the oldest is freed first.
    let mut blocks: HashMap<(Option<u64>, u64), VecDeque<Owner>> = HashMap::new();
    let mut sums: HashMap<Owner, i64> = HashMap::new();
    for event in events {
        let owner = owners.of(event);
        if event.context.is_some() {
            *sums.entry(owner).or_default() += event.bytes;
            continue;
        }
        let size = event.bytes.unsigned_abs();
        let same = blocks.entry((event.address, size)).or_default();
        if event.bytes > 0 {
            same.push_back(owner);
        } else {
            same.pop_front();
        }
    }
    let mut held = Held::new();
    for ((_, size), owners) in &blocks {
        for &owner in owners {
            let one = held.entry(owner).or_default();
            one.0 = one.0.saturating_add(*size);
            one.1 += 1;
        }
    }
    for (owner, bytes) in sums.into_iter().filter(|(_, bytes)| *bytes > 0) {
        held.entry(owner).or_default().0 += bytes.unsigned_abs();
    }
    held
}

/// The live memory by op and input shapes, largest first, including memory that no op allocated.
fn holders<T: TraceView + ?Sized>(
    owners: &Owners<'_, T>,
    held: &Held,
    live_bytes: u64,
) -> Vec<MemoryHolder> {
    let mut by_op: BTreeMap<OwnerOp, (u64, usize)> = BTreeMap::new();
    for (&owner, &(bytes, blocks)) in held {
        let one = by_op.entry(owners.op(owner)).or_default();
        one.0 = one.0.saturating_add(bytes);
        one.1 += blocks;
    }
    let seen = by_op
        .values()
        .fold(0u64, |sum, held| sum.saturating_add(held.0));
    if live_bytes > seen {
        by_op.entry(OwnerOp::default()).or_default().0 += live_bytes - seen;
    }
    let mut holders: Vec<MemoryHolder> = by_op
        .into_iter()
        .map(|(op, (bytes, blocks))| MemoryHolder {
            operation: op.operation,
            label: op.label,
            input_shapes: op.input_shapes,
            bytes,
            blocks,
        })
        .collect();
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
    holders
}

fn stacks<T: TraceView + ?Sized>(owners: &Owners<'_, T>, held: &Held) -> Vec<HeldStack> {
    let mut by_stack: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for (&owner, &(bytes, _)) in held {
        *by_stack.entry(owners.stack(owner)).or_default() += bytes;
    }
    by_stack
        .into_iter()
        .map(|(frames, bytes)| HeldStack { frames, bytes })
        .collect()
}

/// Adds a point. It replaces a point at the same moment.
fn push_point(curve: &mut Vec<(i64, u64)>, at: i64, bytes: u64) {
    match curve.last_mut() {
        Some(last) if last.0 == at => last.1 = bytes,
        _ => curve.push((at, bytes)),
    }
}

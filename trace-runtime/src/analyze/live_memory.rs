//! Live memory over time, and the ops that held it at the peak.

use crate::model::json_struct::json_struct;
use crate::model::{EntryView, MemoryEvent, TraceView};
use std::collections::{BTreeMap, HashMap};

/// The live memory of one device over time.
///
/// Exact, from the allocations and frees in the trace. A trace without them has no live memory: outputs alone do not
/// tell when they are freed.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct LiveMemory {
    /// The rank the device belongs to.
    pub rank: Option<u32>,
    /// The device.
    pub device: String,
    /// The most that was live at one moment.
    pub peak_bytes: u64,
    /// When that was reached first, in nanoseconds since the trace began.
    pub peak_at_ns: i64,
    /// Each change: the moment in nanoseconds, and the bytes that are live from then on.
    pub curve: Vec<(i64, u64)>,
    /// The memory that was live at the peak, by the op that allocated it, largest first.
    pub holders: Vec<MemoryHolder>,
}

json_struct!(LiveMemory {
    required: [device, peak_bytes, peak_at_ns],
    optional: [rank, curve, holders],
});

/// Memory that the allocations of one op held at the peak.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct MemoryHolder {
    /// The op; `None` for memory taken outside of ops or before the trace began.
    pub operation: Option<String>,
    /// The bytes it held.
    pub bytes: u64,
    /// The number of blocks; 0 where their allocation is not in the trace.
    pub blocks: usize,
}

json_struct!(MemoryHolder {
    required: [operation, bytes, blocks],
    optional: [],
});

/// The live memory of each device of each rank, by rank and name; empty if the trace has no memory events.
pub fn live_memory<T: TraceView + ?Sized>(trace: &T) -> Vec<LiveMemory> {
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
            from_events(trace, rank, device, &events)
        })
        .collect()
}

fn from_events<T: TraceView + ?Sized>(
    trace: &T,
    rank: Option<u32>,
    device: &str,
    events: &[MemoryEvent<'_>],
) -> LiveMemory {
    // Blocks from before the trace may be freed in it: at least that much was live at its beginning.
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
    memory.holders = holders(trace, &events[..until_peak], memory.peak_bytes);
    memory
}

/// The blocks that are live after these events, by the op in which each was taken.
fn holders<T: TraceView + ?Sized>(
    trace: &T,
    events: &[MemoryEvent<'_>],
    live_bytes: u64,
) -> Vec<MemoryHolder> {
    // A block without an address is known by its size; of equal ones the oldest is freed first.
    let mut blocks: HashMap<(Option<u64>, u64), std::collections::VecDeque<Option<usize>>> =
        HashMap::new();
    for event in events {
        let size = event.bytes.unsigned_abs();
        let same = blocks.entry((event.address, size)).or_default();
        if event.bytes > 0 {
            same.push_back(event.during);
        } else {
            same.pop_front();
        }
    }
    let mut by_op: BTreeMap<Option<&str>, (u64, usize)> = BTreeMap::new();
    for ((_, size), steps) in &blocks {
        for step in steps {
            let entry = step.and_then(|step| trace.index_of_step(step));
            let name = entry.map(|index| EntryView::operation(&trace.view(index)));
            let held = by_op.entry(name).or_default();
            held.0 = held.0.saturating_add(*size);
            held.1 += 1;
        }
    }
    let seen = by_op
        .values()
        .fold(0u64, |sum, held| sum.saturating_add(held.0));
    if live_bytes > seen {
        by_op.entry(None).or_default().0 += live_bytes - seen;
    }
    sorted(by_op)
}

/// Of several points at one moment the last one counts.
fn push_point(curve: &mut Vec<(i64, u64)>, at: i64, bytes: u64) {
    match curve.last_mut() {
        Some(last) if last.0 == at => last.1 = bytes,
        _ => curve.push((at, bytes)),
    }
}

fn sorted(by_op: BTreeMap<Option<&str>, (u64, usize)>) -> Vec<MemoryHolder> {
    let mut holders: Vec<MemoryHolder> = by_op
        .into_iter()
        .map(|(name, (bytes, blocks))| MemoryHolder {
            operation: name.map(str::to_owned),
            bytes,
            blocks,
        })
        .collect();
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
    holders
}

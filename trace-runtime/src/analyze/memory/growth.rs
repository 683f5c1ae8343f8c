//! Memory that grows with every step: suspected leaks.

use super::owner::{OwnerOp, Owners};
use crate::model::json_struct::json_struct;
use crate::model::{MemoryEvent, TraceView};
use std::collections::HashMap;

/// Memory of one op that grew in every step of the program's loop: a cache without a limit, or a leak.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MemoryGrowth {
    /// The rank.
    pub rank: Option<u32>,
    /// The device that has the memory.
    pub device: String,
    /// The op that allocated it; `None` for memory allocated outside ops.
    pub operation: Option<String>,
    /// Its label.
    pub label: Option<String>,
    /// The dims of each input.
    pub input_shapes: Vec<Vec<usize>>,
    /// The average growth in bytes per step.
    pub bytes_per_step: u64,
    /// The steps over which it grew.
    pub steps: usize,
}

json_struct!(MemoryGrowth {
    required: [device, operation, bytes_per_step, steps],
    optional: [rank, label, input_shapes],
});

/// With fewer steps, growth is not proven: buffers are often filled during the first ones.
const FEWEST_STEPS: usize = 4;

/// Memory that was larger at the end of each step than at the end of the step before, by op and input shapes, the
/// fastest growth first. The first step is a warm-up and does not count. Empty if the trace has fewer than five steps,
/// or if its memory events have neither an address nor a context, because a free then belongs to no op.
pub fn memory_growth<T: TraceView + ?Sized>(trace: &T) -> Vec<MemoryGrowth> {
    let mut owners = Owners::new(trace);
    let mut ends: HashMap<Option<u32>, Vec<i64>> = HashMap::new();
    for step in trace.steps() {
        ends.entry(step.rank).or_default().push(step.end_ns);
    }
    let mut live: HashMap<(Option<u32>, String, OwnerOp), Vec<i64>> = HashMap::new();
    let mut events: Vec<MemoryEvent<'_>> = trace.memory_events().collect();
    events.sort_by_key(|event| event.at_ns);
    let mut allocated_by: HashMap<u64, OwnerOp> = HashMap::new();
    for event in &events {
        let Some(ends) = ends.get(&event.rank).or_else(|| ends.get(&None)) else {
            continue;
        };
        if ends.len() <= FEWEST_STEPS {
            continue;
        }
        let owner = owners.of(event);
        let mut op = owners.op(owner);
        // A free is charged to the op that allocated the block.
        if let Some(address) = event.address {
            if event.bytes > 0 {
                allocated_by.insert(address, op.clone());
            } else if let Some(known) = allocated_by.remove(&address) {
                op = known;
            } else {
                continue;
            }
        } else if event.context.is_none() {
            // The owner of the freed memory is not known: one op may free what another one allocated.
            continue;
        }
        let step = ends.partition_point(|&end| end < event.at_ns);
        let key = (event.rank, event.device_id.to_owned(), op);
        let changes = live.entry(key).or_insert_with(|| vec![0; ends.len() + 1]);
        changes[step.min(ends.len())] += event.bytes;
    }
    let mut found: Vec<MemoryGrowth> = live
        .into_iter()
        .filter_map(|((rank, device, op), changes)| {
            // The last element is after the last step.
            let steady = &changes[1..changes.len() - 1];
            let grew = steady.iter().all(|&change| change > 0);
            grew.then(|| MemoryGrowth {
                rank,
                device,
                operation: op.operation,
                label: op.label,
                input_shapes: op.input_shapes,
                bytes_per_step: (steady.iter().sum::<i64>() / steady.len() as i64).unsigned_abs(),
                steps: steady.len(),
            })
        })
        .collect();
    found.sort_by(|a, b| {
        (b.bytes_per_step, &a.operation, &a.input_shapes).cmp(&(
            a.bytes_per_step,
            &b.operation,
            &b.input_shapes,
        ))
    });
    found
}

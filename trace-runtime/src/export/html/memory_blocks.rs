//! The blocks of memory of each device, so that the page can show the ops that held memory at any moment.

use super::blob::Blob;
use crate::analyze::{Owner, OwnerOp, Owners, live_memory};
use crate::export::timeline::Timeline;
use crate::model::TraceView;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;

/// Blocks in a page, at most. If there are more, only the largest are kept.
const MOST_BLOCKS: usize = 200_000;
/// Points of a curve, at most: screens are not wider.
const CURVE_POINTS: usize = 4096;

/// Memory that was allocated at one moment and freed at another, or the change of the memory of an op at a moment.
#[derive(Debug, Clone, Copy)]
struct Block {
    device: u32,
    taken_ns: u64,
    /// The time for which it was live; `None` if it was not freed.
    live_ns: Option<u64>,
    /// Below zero if the memory of an op shrank and its blocks are not known.
    bytes: i64,
    /// The number of the op, with its inputs, that allocated it.
    owner: u32,
    /// True for a change of the op's memory, false for a block.
    change: bool,
}

/// Writes curves and blocks; returns the number of blocks that are left out.
pub(super) fn write(
    trace: &dyn TraceView,
    timeline: &Timeline<'_>,
    blob: &mut Blob,
) -> io::Result<usize> {
    let memory = live_memory(trace);
    let numbers: BTreeMap<(Option<u32>, &str), u32> = memory
        .iter()
        .map(|one| (one.rank, one.device.as_str()))
        .zip(0..)
        .collect();
    let (mut blocks, owners) = blocks(trace, timeline, &numbers);
    let left_out = blocks.len().saturating_sub(MOST_BLOCKS);
    if left_out > 0 {
        blocks.sort_by_key(|block| std::cmp::Reverse(block.bytes.unsigned_abs()));
        blocks.truncate(MOST_BLOCKS);
    }
    blocks.sort_by_key(|block| (block.device, block.taken_ns));
    let curves: Vec<Vec<(i64, u64)>> = memory.iter().map(|one| thinned(&one.curve)).collect();
    let devices: Vec<Value> = (0..)
        .zip(memory.iter().zip(&curves))
        .map(|(number, (one, curve))| {
            let own = blocks.iter().filter(|block| block.device == number);
            json!({
                "rank": one.rank,
                "device": one.device,
                "points": curve.len(),
                "blocks": own.count(),
            })
        })
        .collect();
    blob.fact("memory_devices", &devices)?;
    let owners: Vec<Value> = owners
        .into_iter()
        .map(|one| {
            json!({"operation": one.operation, "label": one.label, "input_shapes": one.input_shapes})
        })
        .collect();
    blob.fact("memory_owners", &owners)?;
    let points = || curves.iter().flatten();
    blob.differences(
        "curve_at",
        points().map(|point| timeline.since_origin(point.0)),
    );
    blob.differences("curve_bytes", points().map(|point| point.1));
    blob.differences("block_taken", blocks.iter().map(|block| block.taken_ns));
    // 0 for a block that was not freed.
    let live = |block: &Block| block.live_ns.map_or(0, |ns| ns + 1);
    blob.numbers("block_live", blocks.iter().map(live));
    // The sign is in the lowest bit.
    let bytes = |block: &Block| ((block.bytes << 1) ^ (block.bytes >> 63)) as u64;
    blob.numbers("block_bytes", blocks.iter().map(bytes));
    // The lowest bit is set for a change.
    let owner = |block: &Block| u64::from(block.owner) << 1 | u64::from(block.change);
    blob.numbers("block_owner", blocks.iter().map(owner));
    Ok(left_out)
}

/// Pairs each allocation with its free, as [`live_memory`] does. Returns the blocks, and the ops that they refer to.
fn blocks(
    trace: &dyn TraceView,
    timeline: &Timeline<'_>,
    devices: &BTreeMap<(Option<u32>, &str), u32>,
) -> (Vec<Block>, Vec<OwnerOp>) {
    let mut owners = Owners::new(trace);
    let mut ops: Vec<OwnerOp> = Vec::new();
    let mut number_of_op: HashMap<OwnerOp, u32> = HashMap::new();
    let mut number_of: HashMap<Owner, u32> = HashMap::new();
    let mut open: HashMap<(u32, Option<u64>, u64), VecDeque<usize>> = HashMap::new();
    let mut blocks: Vec<Block> = Vec::new();
    let mut events: Vec<_> = trace.memory_events().collect();
    events.sort_by_key(|event| event.at_ns);
    for event in events {
        let Some(&device) = devices.get(&(event.rank, event.device_id)) else {
            continue;
        };
        let at = timeline.since_origin(event.at_ns);
        // Events of `TracedAlloc` have the op of each free, but not the block that was freed.
        if event.context.is_none() {
            // A block without an address is identified by its size. If several have the same size, the oldest is freed
            // first.
            let size = event.bytes.unsigned_abs();
            let same = open.entry((device, event.address, size)).or_default();
            if event.bytes <= 0 {
                if let Some(index) = same.pop_front() {
                    let block: &mut Block = &mut blocks[index];
                    block.live_ns = Some(at.saturating_sub(block.taken_ns));
                }
                continue;
            }
            same.push_back(blocks.len());
        }
        let owner = owners.of(&event);
        let owner = *number_of.entry(owner).or_insert_with(|| {
            let op = owners.op(owner);
            *number_of_op.entry(op.clone()).or_insert_with(|| {
                ops.push(op);
                ops.len() as u32 - 1
            })
        });
        blocks.push(Block {
            device,
            taken_ns: at,
            live_ns: None,
            bytes: event.bytes,
            owner,
            change: event.context.is_some(),
        });
    }
    (blocks, ops)
}

/// Keeps the highest and the lowest point of each interval, in order.
fn thinned(curve: &[(i64, u64)]) -> Vec<(i64, u64)> {
    if curve.len() <= CURVE_POINTS {
        return curve.to_vec();
    }
    let per_stretch = curve.len().div_ceil(CURVE_POINTS / 2);
    let mut points = Vec::new();
    for stretch in curve.chunks(per_stretch) {
        let bytes = |&at: &usize| stretch[at].1;
        let highest = (0..stretch.len()).rev().max_by_key(bytes);
        let lowest = (0..stretch.len()).min_by_key(bytes);
        let (Some(highest), Some(lowest)) = (highest, lowest) else {
            continue;
        };
        points.push(stretch[highest.min(lowest)]);
        if highest != lowest {
            points.push(stretch[highest.max(lowest)]);
        }
    }
    points
}

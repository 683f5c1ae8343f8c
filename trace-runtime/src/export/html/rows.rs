//! The rows of the timeline: entries of a thread or stream, one row per depth of nesting.

use crate::analyze::parent_index;
use crate::export::timeline::{ThreadKey, Timeline, off_host};
use crate::model::TraceView;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Rows of a thread, at most. Ops that are nested deeper are not on the timeline; the page gives their number.
pub(super) const MOST_ROWS: usize = 400;

/// A thread or stream, and its rows.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) rank: Option<u32>,
    pub(super) name: String,
    /// The device, if that is not the host.
    pub(super) device: Option<String>,
    /// True if all entries are async ops, which may overlap.
    pub(super) tasks: bool,
    /// End of the last entry of each row.
    ends: Vec<u64>,
}

/// The lane and the row of every entry.
#[derive(Debug)]
pub(super) struct Rows {
    /// In the order in which the page shows them.
    pub(super) lanes: Vec<Lane>,
    /// The first row of each lane, and the number of all rows.
    pub(super) first_row: Vec<u32>,
    /// Entries in the order of row and start: index of the entry, start in nanoseconds since the origin.
    pub(super) placed: Vec<(u32, u64)>,
    /// The number of entries of each row.
    pub(super) lengths: Vec<u32>,
    /// Entries that are nested too deeply.
    pub(super) too_deep: usize,
}

const TOO_DEEP: u16 = u16::MAX;

impl Rows {
    pub(super) fn of(trace: &dyn TraceView, timeline: &Timeline<'_>) -> Rows {
        let mut lanes: Vec<Lane> = Vec::new();
        let mut lane_of: HashMap<ThreadKey, u32> = HashMap::new();
        let count = trace.entry_count();
        // By entry.
        let mut place: Vec<(u32, u16)> = vec![(0, 0); count];
        let mut starts: Vec<u64> = vec![0; count];
        let mut too_deep = 0;
        for position in 0..count {
            let index = timeline.index(position);
            let span = timeline.span(position);
            let view = span.view;
            let key = ThreadKey::of(&view);
            let number = *lane_of.entry(key).or_insert_with(|| {
                lanes.push(Lane {
                    rank: view.rank(),
                    name: timeline.row_name(&view, 0),
                    device: view
                        .device_id()
                        .filter(|_| off_host(&view))
                        .map(str::to_owned),
                    tasks: true,
                    ends: Vec::new(),
                });
                lanes.len() as u32 - 1
            });
            let lane = &mut lanes[number as usize];
            lane.tasks &= view.suspended_ns() > 0;
            let above = parent_index(trace, index, &view)
                .filter(|&parent| place[parent].0 == number && place[parent].1 != TOO_DEEP)
                .filter(|&parent| ThreadKey::of(&trace.view(parent)) == key)
                .map(|parent| place[parent].1 as usize);
            let lowest = above.map_or(0, |row| row + 1);
            let start = span.start_ns.unwrap_or_else(|| match above {
                // Ops without a start are shown one after the other inside the op around them.
                Some(row) => {
                    let known = lane.ends.get(row + 1).copied().unwrap_or(0);
                    known.max(lane.ends[row].saturating_sub(duration_around(trace, index)))
                }
                None => lane.ends.first().copied().unwrap_or(0),
            });
            starts[index] = start;
            let rows = &lane.ends;
            let row = (lowest..rows.len()).find(|&row| rows[row] <= start);
            let row = row.unwrap_or(rows.len().max(lowest));
            if row >= MOST_ROWS {
                place[index] = (number, TOO_DEEP);
                too_deep += 1;
                continue;
            }
            if row >= lane.ends.len() {
                lane.ends.resize(row + 1, 0);
            }
            lane.ends[row] = start.saturating_add(span.duration_ns.max(1));
            place[index] = (number, row as u16);
        }
        Rows::sorted(timeline, lanes, &place, &starts, too_deep)
    }

    /// Sorts the lanes by rank, host threads before devices, and the entries by row.
    fn sorted(
        timeline: &Timeline<'_>,
        lanes: Vec<Lane>,
        place: &[(u32, u16)],
        starts: &[u64],
        too_deep: usize,
    ) -> Rows {
        let mut order: Vec<u32> = (0..lanes.len() as u32).collect();
        order.sort_by_key(|&number| {
            let lane = &lanes[number as usize];
            (lane.rank, lane.device.clone(), number)
        });
        let mut new_number = vec![0u32; lanes.len()];
        for (new, &old) in order.iter().enumerate() {
            new_number[old as usize] = new as u32;
        }
        let mut lanes: Vec<(u32, Lane)> = new_number.iter().copied().zip(lanes).collect();
        lanes.sort_by_key(|(number, _)| *number);
        let lanes: Vec<Lane> = lanes.into_iter().map(|(_, lane)| lane).collect();

        let mut first_row = vec![0u32];
        for lane in &lanes {
            first_row.push(first_row[first_row.len() - 1] + lane.ends.len() as u32);
        }
        let row_count = first_row[lanes.len()] as usize;
        let row_of = |index: usize| {
            let (lane, row) = place[index];
            let first = first_row[new_number[lane as usize] as usize];
            (row != TOO_DEEP).then(|| (first + u32::from(row)) as usize)
        };
        let mut lengths = vec![0u32; row_count];
        for row in (0..place.len()).filter_map(row_of) {
            lengths[row] += 1;
        }
        let mut next = Vec::with_capacity(row_count);
        let mut sum = 0usize;
        for &length in &lengths {
            next.push(sum);
            sum += length as usize;
        }
        let mut placed = vec![(0u32, 0u64); sum];
        for position in 0..place.len() {
            let index = timeline.index(position);
            if let Some(row) = row_of(index) {
                placed[next[row]] = (index as u32, starts[index]);
                next[row] += 1;
            }
        }
        Rows {
            lanes,
            first_row,
            placed,
            lengths,
            too_deep,
        }
    }

    /// The facts about each lane for the page.
    pub(super) fn facts(&self) -> Vec<Value> {
        let rows = self.first_row.windows(2).map(|pair| pair[1] - pair[0]);
        self.lanes
            .iter()
            .zip(rows)
            .map(|(lane, rows)| {
                json!({
                    "rank": lane.rank,
                    "name": lane.name,
                    "device": lane.device,
                    "tasks": lane.tasks,
                    "rows": rows,
                })
            })
            .collect()
    }
}

/// The duration of the op around an entry.
fn duration_around(trace: &dyn TraceView, index: usize) -> u64 {
    let parent = parent_index(trace, index, &trace.view(index));
    parent.map_or(0, |parent| trace.view(parent).duration_ns())
}

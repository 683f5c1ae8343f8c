//! The memory curve that viewers draw above the rows.

use super::timeline::Timeline;
use super::tracks::Placement;
use crate::model::{EntryView, MemoryEvent, TraceView};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The name of the curve if the allocator was not traced. It is an upper bound, because frees are not known.
pub(super) const OUTPUTS: &str = "output bytes (upper bound of live memory)";

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) rank: Option<u32>,
    pub(super) time_ns: u64,
    pub(super) bytes: u64,
}

/// Adds up the outputs of entries, each at the end of its entry.
///
/// Holds only the entries that are still running.
#[derive(Debug, Default)]
pub(super) struct OutputBytes {
    running: BinaryHeap<Reverse<(u64, Option<u32>, usize)>>,
    made: HashMap<Option<u32>, u64>,
}

impl OutputBytes {
    /// Counts an entry's output from its end on.
    pub(super) fn add(&mut self, view: &EntryView<'_>, place: Placement) {
        if view.memory_bytes() > 0 {
            self.running
                .push(Reverse((place.end_ns, view.rank(), view.memory_bytes())));
        }
    }

    /// The next point up to this time. Outputs of one rank that end at the same time are one point.
    pub(super) fn next_until(&mut self, now_ns: u64) -> Option<Sample> {
        let &Reverse((time_ns, rank, _)) = self.running.peek()?;
        if time_ns > now_ns {
            return None;
        }
        let made = self.made.entry(rank).or_default();
        while let Some(&Reverse((end, other, bytes))) = self.running.peek()
            && (end, other) == (time_ns, rank)
        {
            *made = made.saturating_add(bytes as u64);
            self.running.pop();
        }
        Some(Sample {
            rank,
            time_ns,
            bytes: *made,
        })
    }
}

/// The memory events, each with the point that it adds to the curve of its device.
pub(super) fn allocated<'a>(
    trace: &'a dyn TraceView,
    timeline: &Timeline<'a>,
) -> impl Iterator<Item = (MemoryEvent<'a>, Sample)> {
    let mut sums: HashMap<(Option<u32>, &'a str), u64> = HashMap::new();
    trace.memory_events().map(move |event| {
        let sum = sums.entry((event.rank, event.device_id)).or_default();
        *sum = event
            .allocated
            .unwrap_or(sum.saturating_add_signed(event.bytes));
        let sample = Sample {
            rank: event.rank,
            time_ns: timeline.since_origin(event.at_ns),
            bytes: *sum,
        };
        (event, sample)
    })
}

//! The working, waiting and other time of each lane.

use super::CausalModel;
use super::lane::LaneKind;
use super::wait::WaitFor;
use crate::analyze::forest::NONE;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::HashMap;

/// The working, waiting and other time of a host thread or a stream, in nanoseconds.
///
/// `working_ns + waiting_ns + outside_ns = span_ns`. Async ops are in [`TaskTime`](crate::analyze::TaskTime).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LaneTime {
    /// The rank of the lane.
    pub rank: Option<u32>,
    /// The number of the thread or stream in the trace.
    pub thread: Option<u64>,
    /// The name of the thread or stream; `thread 7` if it has none.
    pub name: String,
    /// `host` or `device`.
    pub kind: String,
    /// The device of a stream.
    pub device: Option<String>,
    /// The time from the first start to the last end, in nanoseconds.
    pub span_ns: u64,
    /// Time in which an op or a runtime call ran, without the time in which it only waited.
    pub working_ns: u64,
    /// Time in which the lane only waited for another lane or rank.
    pub waiting_ns: u64,
    /// Time in which nothing was traced on the lane.
    pub outside_ns: u64,
    /// The waits of the lane, by what it waited for; longest first.
    pub waits: Vec<LaneWait>,
}

json_struct!(LaneTime {
    required: [
        name, kind, span_ns, working_ns, waiting_ns, outside_ns, waits
    ],
    optional: [rank, thread, device],
});

/// Time that a lane waited for one other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LaneWait {
    /// The lane or rank that it waited for.
    pub waits_for: String,
    /// The op that waited; empty outside ops.
    pub operation: String,
    /// The time, in nanoseconds.
    pub ns: u64,
    /// The number of waits.
    pub count: usize,
}

json_struct!(LaneWait {
    required: [waits_for, operation, ns, count],
    optional: [],
});

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// The working, waiting and other time of each host thread and stream: hosts first, in the order in which they
    /// began.
    pub fn lanes(&self) -> Vec<LaneTime> {
        let mut times: Vec<LaneTime> = Vec::new();
        for kind in [LaneKind::Host, LaneKind::Device] {
            for number in self.lanes.numbers(kind) {
                if !self.pieces[number as usize].is_empty() {
                    times.push(self.lane_time(number));
                }
            }
        }
        times
    }

    fn lane_time(&self, number: u32) -> LaneTime {
        let lane = &self.lanes.all[number as usize];
        let pieces = &self.pieces[number as usize];
        let (mut working, mut waiting) = (0, 0);
        let mut waits: HashMap<(WaitFor, &str), (u64, u32, usize)> = HashMap::new();
        for piece in pieces {
            let Some(target) = self.wait_of(piece) else {
                if piece.node != NONE {
                    add_ns(&mut working, piece.length());
                }
                continue;
            };
            add_ns(&mut waiting, piece.length());
            let operation = self.name(piece.node);
            let sum = waits.entry((target, operation)).or_insert((0, u32::MAX, 0));
            add_ns(&mut sum.0, piece.length());
            sum.2 += usize::from(sum.1 != piece.wait);
            sum.1 = piece.wait;
        }
        let span = match (pieces.first(), pieces.last()) {
            (Some(first), Some(last)) => last.end.abs_diff(first.start),
            _ => 0,
        };
        let mut waits: Vec<LaneWait> = waits
            .into_iter()
            .map(|((target, operation), (ns, _, count))| LaneWait {
                waits_for: target.label(&self.lanes),
                operation: operation.to_owned(),
                ns,
                count,
            })
            .collect();
        waits.sort_by(|a, b| {
            let longest = b.ns.cmp(&a.ns);
            longest.then_with(|| (&a.waits_for, &a.operation).cmp(&(&b.waits_for, &b.operation)))
        });
        LaneTime {
            rank: lane.rank,
            thread: lane.thread,
            name: lane.plain_label(),
            kind: lane.kind.name().to_owned(),
            device: lane.device.map(str::to_owned),
            span_ns: span,
            working_ns: working,
            waiting_ns: waiting,
            outside_ns: span - working - waiting,
            waits,
        }
    }
}

//! Collectives: every rank of the process group has to arrive before any can go on.

use super::edge::Found;
use super::lane::Lanes;
use super::wait::{Wait, WaitFor};
use crate::analyze::collective_calls::collective_calls;
use crate::analyze::forest::NONE;
use crate::model::TraceView;

/// Waits and edges of all collectives that several ranks took part in.
pub(super) fn collectives<T: TraceView + ?Sized>(trace: &T, lanes: &Lanes<'_>, found: &mut Found) {
    for call in collective_calls(trace) {
        let starts = call.entries.iter().filter_map(|&index| {
            let view = trace.view(index);
            Some((view.start_ns()?, view.rank()))
        });
        let Some((arrival, last_rank)) = starts.max_by_key(|&(start, _)| start) else {
            continue;
        };
        let meeting = found.meeting_point();
        for &index in &call.entries {
            let view = trace.view(index);
            let (Some(lane), Some((start, end))) =
                (lanes.of_entry(index), view.start_ns().zip(view.end_ns()))
            else {
                continue;
            };
            found.edge(lane, start, meeting, arrival);
            // Clocks that differ may show a rank that left before the last one came.
            let until = arrival.min(end);
            if until == arrival {
                found.edge(meeting, arrival, lane, arrival);
            }
            if start < until {
                found.waits.push(Wait {
                    lane,
                    start,
                    end: until,
                    target: WaitFor::Rank(last_rank.unwrap_or(0)),
                    only: NONE,
                    node: NONE,
                });
            }
        }
    }
}

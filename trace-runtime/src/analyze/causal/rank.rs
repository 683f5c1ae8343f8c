//! What ranks wait for: at a collective for the last of its process group, at a receive for the send.

use super::edge::Found;
use super::lane::Lanes;
use super::wait::{Wait, WaitFor};
use crate::analyze::collective_calls::collective_calls;
use crate::analyze::communication::CommunicationRule;
use crate::analyze::forest::NONE;
use crate::model::{EntryView, TraceView};
use std::collections::{BTreeMap, BTreeSet, HashMap};

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

/// Waits and edges of sends and receives whose other side is known.
///
/// The other rank is in the op's metadata (`peer`, or `dst` of a send and `src` of a receive), or is the only other
/// rank of the trace. The first send from one rank to another belongs to the first receive there, and so on. A
/// receive waits until its send has begun; a send that is still under way when its receive begins waited for that.
pub(super) fn sends<'a, T: TraceView + ?Sized>(trace: &'a T, lanes: &Lanes<'_>, found: &mut Found) {
    let mut rule = CommunicationRule::default();
    let mut sides: HashMap<&'a str, Option<Side>> = HashMap::new();
    let ranks: BTreeSet<u32> = lanes.all.iter().filter_map(|lane| lane.rank).collect();
    if ranks.len() < 2 {
        return;
    }
    // By sender and receiver: the sends and the receives, in order.
    let mut pairs: BTreeMap<(u32, u32), [Vec<usize>; 2]> = BTreeMap::new();
    for (index, view) in trace.views().enumerate() {
        let (Some(rank), Some(_)) = (view.rank(), view.start_ns()) else {
            continue;
        };
        let name = view.operation();
        let side = *sides.entry(name).or_insert_with(|| Side::of(name));
        let Some(side) = side.filter(|_| rule.holds(&view)) else {
            continue;
        };
        let Some(peer) = peer(&view, side, rank, &ranks) else {
            continue;
        };
        let pair = match side {
            Side::Send => (rank, peer),
            Side::Receive => (peer, rank),
        };
        pairs.entry(pair).or_default()[side as usize].push(index);
    }
    for ((sender, receiver), [sends, receives]) in pairs {
        for (&send, &receive) in sends.iter().zip(&receives) {
            meet(trace, lanes, found, (send, receive), (sender, receiver));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Send = 0,
    Receive = 1,
}

impl Side {
    fn of(name: &str) -> Option<Side> {
        let name = name.to_lowercase();
        match (
            name.contains("send"),
            name.contains("recv") || name.contains("receive"),
        ) {
            (true, false) => Some(Side::Send),
            (false, true) => Some(Side::Receive),
            _ => None,
        }
    }
}

fn peer(view: &EntryView<'_>, side: Side, own: u32, ranks: &BTreeSet<u32>) -> Option<u32> {
    let keys = match side {
        Side::Send => ["peer", "dst", "dst_rank", "Dst Rank"],
        Side::Receive => ["peer", "src", "src_rank", "Src Rank"],
    };
    let meta = view.meta();
    let given = keys
        .iter()
        .find_map(|&key| meta?.get(key)?.trim().parse().ok());
    given.or_else(|| {
        let mut others = ranks.iter().copied().filter(|&rank| rank != own);
        others.next().filter(|_| ranks.len() == 2)
    })
}

/// The waits of a send and its receive for each other.
fn meet<T: TraceView + ?Sized>(
    trace: &T,
    lanes: &Lanes<'_>,
    found: &mut Found,
    (send, receive): (usize, usize),
    (sender, receiver): (u32, u32),
) {
    let span = |index: usize| {
        let view = trace.view(index);
        Some((lanes.of_entry(index)?, view.start_ns()?, view.end_ns()?))
    };
    let (Some((from, sent_at, sent_until)), Some((to, asked_at, received_by))) =
        (span(send), span(receive))
    else {
        return;
    };
    let mut wait = |lane, start, end, rank| {
        found.waits.push(Wait {
            lane,
            start,
            end,
            target: WaitFor::Rank(rank),
            only: NONE,
            node: NONE,
        });
    };
    if asked_at < sent_at && sent_at <= received_by {
        wait(to, asked_at, sent_at, sender);
    }
    if sent_at < asked_at && asked_at < sent_until {
        wait(from, sent_at, asked_at, receiver);
        found.edge(to, asked_at, from, asked_at);
    }
    if sent_at <= received_by {
        found.edge(from, sent_at, to, sent_at.max(asked_at));
    }
}

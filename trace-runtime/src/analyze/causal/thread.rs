//! Waits of host threads for other host threads: work handed over, and the backward pass.

use super::edge::Found;
use super::lane::{LaneKind, Lanes};
use super::piece::Piece;
use super::wait::{Wait, WaitFor};
use crate::analyze::forest::NONE;
use crate::analyze::intervals::{SaturatingSum as _, add_ns};
use crate::analyze::nesting::parent_index;
use crate::model::{EntryView, PauseKind, TraceView};
use std::collections::{HashMap, HashSet};

/// Finds work that an op handed to another thread, and the waits for it.
///
/// If the work ended before the op did, the op waited for it whenever no other op ran inside the op.
pub(super) fn handoffs<T: TraceView + ?Sized>(trace: &T, lanes: &Lanes<'_>, found: &mut Found) {
    for (index, view) in trace.views().enumerate() {
        let Some(lane) = lanes.of_entry(index) else {
            continue;
        };
        if lanes.kind(lane) == LaneKind::Device {
            continue;
        }
        let Some(parent) = parent_index(trace, index, &view) else {
            continue;
        };
        let Some(from) = lanes.of_entry(parent).filter(|&from| from != lane) else {
            continue;
        };
        let above = trace.view(parent);
        let (Some((start, end)), Some(until)) =
            (view.start_ns().zip(view.end_ns()), above.end_ns())
        else {
            continue;
        };
        found.edge(from, start, lane, start);
        if end <= until && lanes.kind(lane) == LaneKind::Task && blocks_on(&above, &view) {
            waits_for_task(found, (from, parent), (lane, &view));
        }
        if end <= until {
            found.edge(lane, end, from, end);
            if lanes.kind(from) == LaneKind::Host && lanes.kind(lane) == LaneKind::Host {
                found.waits.push(Wait {
                    lane: from,
                    start,
                    end,
                    target: WaitFor::Lane(lane),
                    only: parent as u32,
                    node: NONE,
                });
            }
        }
    }
}

/// True if an op waited on its own thread for an async op inside it, as `block_on` does.
fn blocks_on(op: &EntryView<'_>, task: &EntryView<'_>) -> bool {
    op.suspended_ns() == 0 && (op.rank(), op.thread()) == (task.rank(), task.thread())
}

/// An op waits for an async op during the suspensions of the async op.
fn waits_for_task(
    found: &mut Found,
    (from, op): (u32, usize),
    (lane, task): (u32, &EntryView<'_>),
) {
    let Some(start) = task.start_ns() else { return };
    for pause in task.pauses() {
        let start = start.saturating_add_unsigned(pause.start_ns);
        if pause.kind == PauseKind::Suspended {
            found.waits.push(Wait {
                lane: from,
                start,
                end: start.saturating_add_unsigned(pause.length_ns),
                target: WaitFor::Lane(lane),
                only: op as u32,
                node: NONE,
            });
        }
    }
}

/// True for the ops by which torch runs a backward pass: the ops of the engine, and the nodes that it evaluates. Older
/// versions record only the nodes (`AddBackward0`, `torch::autograd::AccumulateGrad`).
fn runs_backward(name: &str) -> bool {
    let node = name.trim_end_matches(|last: char| last.is_ascii_digit());
    name.starts_with("autograd::engine::")
        || name.starts_with("torch::autograd::")
        || node.ends_with("Backward")
}

/// The thread that requested a backward pass only waits while another thread runs it.
///
/// It waits from the first to the last op of the backward thread within a period in which no op of the waiting thread
/// begins or ends.
pub(super) fn backward<T: TraceView + ?Sized>(
    trace: &T,
    lanes: &Lanes<'_>,
    pieces: &[Vec<Piece>],
    found: &mut Found,
) {
    for worker in backward_lanes(trace, lanes) {
        let busy = busy(&pieces[worker as usize]);
        let rank = lanes.all[worker as usize].rank;
        let others = lanes
            .numbers(LaneKind::Host)
            .filter(|&lane| lane != worker && lanes.all[lane as usize].rank == rank);
        let best = others
            .map(|lane| (lane, bursts(&pieces[lane as usize], &busy)))
            .max_by_key(|(_, bursts)| bursts.iter().map(|burst| burst.busy).saturating_sum());
        let total: u64 = busy
            .iter()
            .map(|span| span.1.abs_diff(span.0))
            .saturating_sum();
        let Some((waiting, bursts)) = best else {
            continue;
        };
        // Threads that continue while the other one works do not wait for it.
        if bursts
            .iter()
            .map(|burst| burst.busy)
            .saturating_sum()
            .saturating_mul(2)
            <= total
        {
            continue;
        }
        for burst in bursts {
            found.edge(waiting, burst.start, worker, burst.start);
            found.edge(worker, burst.end, waiting, burst.end);
            found.waits.push(Wait {
                lane: waiting,
                start: burst.start,
                end: burst.end,
                target: WaitFor::Lane(worker),
                only: NONE,
                node: NONE,
            });
        }
    }
}

/// The host lanes that run backward passes.
fn backward_lanes<T: TraceView + ?Sized>(trace: &T, lanes: &Lanes<'_>) -> Vec<u32> {
    let mut names: HashMap<&str, bool> = HashMap::new();
    let mut found = HashSet::new();
    let mut last = None;
    for (index, view) in trace.views().enumerate() {
        let Some(lane) = lanes.of_entry(index) else {
            continue;
        };
        // Computed once for consecutive entries of one signature, and once for each name.
        if last == Some((lane, view.signature())) && view.signature().is_some() {
            continue;
        }
        last = Some((lane, view.signature()));
        let name = view.operation();
        if lanes.kind(lane) == LaneKind::Host
            && *names.entry(name).or_insert_with(|| runs_backward(name))
        {
            found.insert(lane);
        }
    }
    let mut found: Vec<u32> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// The times at which a lane was busy, as disjoint intervals.
fn busy(pieces: &[Piece]) -> Vec<(i64, i64)> {
    let mut busy: Vec<(i64, i64)> = Vec::new();
    for piece in pieces {
        match busy.last_mut() {
            Some(last) if last.1 == piece.start => last.1 = piece.end,
            _ => busy.push((piece.start, piece.end)),
        }
    }
    busy
}

struct Burst {
    start: i64,
    end: i64,
    /// The part of that time in which the other lane was busy.
    busy: u64,
}

/// The pieces of a lane, and the gaps between them, that contain busy times of another lane.
fn bursts(pieces: &[Piece], busy: &[(i64, i64)]) -> Vec<Burst> {
    let mut found: Vec<Burst> = Vec::new();
    let mut next = 0;
    let mut contain = |start: i64, end: i64| {
        while busy.get(next).is_some_and(|span| span.0 < start) {
            next += 1;
        }
        let mut burst: Option<Burst> = None;
        while let Some(&(from, to)) = busy.get(next).filter(|span| span.1 <= end) {
            let known = burst.get_or_insert(Burst {
                start: from,
                end: to,
                busy: 0,
            });
            known.end = to;
            add_ns(&mut known.busy, to.abs_diff(from));
            next += 1;
        }
        found.extend(burst);
    };
    let mut at = None;
    for piece in pieces {
        if let Some(at) = at.filter(|&at| at < piece.start) {
            contain(at, piece.start);
        }
        contain(piece.start, piece.end);
        at = Some(piece.end);
    }
    found
}

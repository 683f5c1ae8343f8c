//! Pieces: the innermost op of each lane at each moment.

use super::lane::{Lane, LaneKind, Lanes};
use crate::analyze::forest::NONE;
use crate::analyze::intervals::Intervals;
use crate::analyze::own_time::TaskTimes;
use crate::model::{TraceStep, TraceView};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A period in which one op or call was the innermost on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: i64,
    pub(super) end: i64,
    /// An entry, or a runtime call outside ops: see [`Node`]. [`NONE`] outside both: waiting, or time in a step that
    /// the thread of the step spent between its ops.
    pub(super) node: u32,
    /// Index of the wait that the stretch is part of; [`NONE`] for work.
    pub(super) wait: u32,
}

impl Piece {
    pub(super) fn length(&self) -> u64 {
        self.end.abs_diff(self.start)
    }

    pub(super) fn is_work(&self) -> bool {
        self.wait == NONE
    }
}

/// The meaning of a node number: entries come first, then runtime calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Entry(usize),
    Call(usize),
    Nothing,
}

impl Node {
    pub(super) fn of(number: u32, entries: usize) -> Node {
        match number as usize {
            _ if number == NONE => Node::Nothing,
            entry if entry < entries => Node::Entry(entry),
            call => Node::Call(call - entries),
        }
    }
}

/// The pieces of each lane, in order, without overlap.
pub(super) fn pieces<T: TraceView + ?Sized>(
    trace: &T,
    lanes: &Lanes<'_>,
    order: &Order,
    tasks: &TaskTimes,
) -> Vec<Vec<Piece>> {
    let counts = lanes.entry_counts().into_iter().zip(&lanes.all);
    // Work on a stream rarely overlaps; on a host thread, an op inside another one divides it.
    let reserved = counts.map(|(count, lane)| match lane.kind {
        LaneKind::Device => count,
        LaneKind::Host | LaneKind::Task => 2 * count,
    });
    let mut rows = Rows {
        done: reserved.map(Vec::with_capacity).collect(),
        open: vec![Vec::new(); lanes.all.len()],
        at: vec![i64::MIN; lanes.all.len()],
    };
    let entries = trace.entry_count();
    let mut calls = trace
        .runtime_calls()
        .enumerate()
        .filter(|(_, call)| call.during.is_none())
        .peekable();
    let mut begin_call = |rows: &mut Rows, until: i64| {
        while let Some((number, call)) = calls.next_if(|(_, call)| call.start_ns < until) {
            if let Some(lane) = lanes.of_thread(call.rank, call.thread) {
                let node = (entries + number) as u32;
                rows.begin(lane, node, call.start_ns, call.end_ns());
            }
        }
    };
    for index in order.iter() {
        let view = trace.view(index as usize);
        let (Some(lane), Some(start)) = (lanes.of_entry(index as usize), view.start_ns()) else {
            continue;
        };
        begin_call(&mut rows, start);
        for (start, end) in tasks.stretches(index as usize, &view) {
            rows.begin(lane, index, start, end);
        }
        if let Some((device, start, end)) = lanes.sync_of(&view) {
            rows.begin(device, index, start, end);
        }
    }
    begin_call(&mut rows, i64::MAX);
    for lane in 0..rows.done.len() as u32 {
        rows.run_until(lane, i64::MAX);
        rows.done[lane as usize].shrink_to_fit();
    }
    rows.done
}

/// The entries in the order of their starts.
#[derive(Debug)]
pub(super) enum Order {
    /// It is their own order. The number of entries.
    Own(u32),
    /// Only in traces that were built by hand.
    Listed(Vec<u32>),
}

impl Order {
    pub(super) fn of<T: TraceView + ?Sized>(trace: &T) -> Order {
        let entries = trace.entry_count() as u32;
        if trace.views().map(|view| view.start_ns()).is_sorted() {
            return Order::Own(entries);
        }
        let mut order: Vec<u32> = (0..entries).collect();
        order.sort_by_key(|&index| trace.view(index as usize).start_ns());
        Order::Listed(order)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let (own, listed) = match self {
            Order::Own(entries) => (0..*entries, &[][..]),
            Order::Listed(order) => (0..0, order.as_slice()),
        };
        own.chain(listed.iter().copied())
    }
}

struct Rows {
    done: Vec<Vec<Piece>>,
    /// The open ops of each lane, innermost last.
    open: Vec<Vec<(u32, i64)>>,
    /// The time up to which the pieces of each lane are complete.
    at: Vec<i64>,
}

impl Rows {
    fn begin(&mut self, lane: u32, node: u32, start: i64, end: i64) {
        self.run_until(lane, start);
        self.open[lane as usize].push((node, end));
    }

    fn run_until(&mut self, lane: u32, until: i64) {
        let (open, at) = (&mut self.open[lane as usize], &mut self.at[lane as usize]);
        let done = &mut self.done[lane as usize];
        while let Some(&(node, end)) = open.last() {
            let to = end.min(until);
            if *at < to {
                push_piece(done, *at, to, node);
                *at = to;
            }
            if end > until {
                return;
            }
            open.pop();
        }
        *at = (*at).max(until);
    }
}

fn push_piece(done: &mut Vec<Piece>, start: i64, end: i64, node: u32) {
    match done.last_mut() {
        Some(last) if last.node == node && last.end == start && last.is_work() => last.end = end,
        _ => done.push(Piece {
            start,
            end,
            node,
            wait: NONE,
        }),
    }
}

/// Replaces the pieces of a lane. `walk` takes all of them from an iterator, and passes at least one piece to its
/// second argument for each that it took. It is called twice: a second list of pieces would be as large as the model.
pub(super) fn rewrite<W>(pieces: &mut Vec<Piece>, walk: W)
where
    W: Fn(&mut dyn Iterator<Item = Piece>, &mut dyn FnMut(Piece)),
{
    let known = pieces.len();
    let mut count = 0;
    walk(&mut pieces.iter().copied(), &mut |_| count += 1);
    let more = count.max(known) - known;
    let Some(&filler) = pieces.first() else {
        let mut new = Vec::with_capacity(count);
        walk(&mut std::iter::empty(), &mut |piece| new.push(piece));
        *pieces = new;
        return;
    };
    // The pieces move to the end of the list, and the new ones are written from its start. There are at least as many new
    // ones to come as old ones, so the new ones never reach the old ones that are left.
    pieces.reserve_exact(more);
    pieces.resize(known + more, filler);
    pieces.copy_within(..known, more);
    let cells = Cell::from_mut(pieces.as_mut_slice()).as_slice_of_cells();
    let mut written = 0;
    walk(&mut cells[more..].iter().map(Cell::get), &mut |piece| {
        cells[written].set(piece);
        written += 1;
    });
    pieces.truncate(written);
}

/// Fills the gaps between the pieces of the thread that marked a step, within the step. What runs in them is not
/// traced, but the thread works on the step.
///
/// If the trace has no synchronisations (`synchronise` is false), the thread may instead wait for a device of its rank
/// while that is busy: those parts of the gaps are left empty.
pub(super) fn fill_steps(
    pieces: &mut [Vec<Piece>],
    lanes: &Lanes<'_>,
    steps: &[TraceStep],
    synchronise: bool,
) {
    let mut by_lane: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for step in steps.iter().filter(|step| step.thread.is_some()) {
        if let Some(lane) = lanes.of_thread(step.rank, step.thread) {
            let spans = by_lane.entry(lane).or_default();
            spans.push((step.start_ns, step.end_ns));
        }
    }
    for (lane, steps) in by_lane {
        let mut at_work: Intervals = steps.into_iter().collect();
        if !synchronise {
            let rank = lanes.all[lane as usize].rank;
            at_work = at_work.difference(&busy_devices(pieces, lanes, rank));
        }
        let spans = at_work.as_slice();
        rewrite(&mut pieces[lane as usize], |known, push| {
            let mut next = spans.iter().copied().peekable();
            let mut at = i64::MIN;
            for piece in known {
                fill_until(push, &mut next, at, piece.start);
                at = piece.end;
                push(piece);
            }
            fill_until(push, &mut next, at, i64::MAX);
        });
    }
}

/// The time in which at least one stream of a rank is busy.
fn busy_devices(pieces: &[Vec<Piece>], lanes: &Lanes<'_>, rank: Option<u32>) -> Intervals {
    let is_stream = |lane: &Lane<'_>| {
        lane.kind == LaneKind::Device && lane.thread.is_some() && lane.rank == rank
    };
    let streams = pieces
        .iter()
        .zip(&lanes.all)
        .filter(|(_, lane)| is_stream(lane));
    let pieces = streams.flat_map(|(pieces, _)| pieces);
    pieces.map(|piece| (piece.start, piece.end)).collect()
}

/// Fills the parts of a gap that are in steps.
fn fill_until(
    push: &mut dyn FnMut(Piece),
    steps: &mut std::iter::Peekable<impl Iterator<Item = (i64, i64)>>,
    mut at: i64,
    until: i64,
) {
    // Steps that follow each other give one piece.
    let mut filled: Option<(i64, i64)> = None;
    let mut push = |(start, end)| {
        push(Piece {
            start,
            end,
            node: NONE,
            wait: NONE,
        });
    };
    while let Some(&(start, end)) = steps.peek().filter(|step| step.0 < until) {
        let (from, to) = (start.max(at), end.min(until));
        if from < to {
            match &mut filled {
                Some(filled) if filled.1 == from => filled.1 = to,
                _ => filled.replace((from, to)).into_iter().for_each(&mut push),
            }
            at = to;
        }
        if end > until {
            break;
        }
        steps.next();
    }
    filled.into_iter().for_each(push);
}

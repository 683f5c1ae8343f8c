//! Replays the causal model with other durations: when would each piece of work begin and end?
//!
//! A lane walks through its pieces in order. Work takes its new duration. Time between pieces is kept, except for
//! waiting, which ends when the awaited work or rank arrives. Edges are of two sorts:
//!
//! - At a *meeting* of ranks a lane continues when it and the others have arrived.
//! - Other edges end the gap before them (a stream that waits for a launch): the lane continues when both it and the
//!   edge have arrived, plus the delay that was recorded after the later of the two.
//!
//! With the recorded durations every time is the recorded one, to the nanosecond.

use super::super::edge::Edge;
use super::super::piece::Piece;
use crate::analyze::forest::NONE;
use std::collections::BTreeSet;

/// The changes of a replay, as factors of recorded times.
pub(super) trait Durations {
    /// The factor for the work of an entry or a runtime call.
    fn work(&self, node: u32) -> f64;
    /// The factor for the time before a node in which its lane ran nothing.
    fn gap(&self, node: u32) -> f64;
}

/// Lanes and edges in the order in which a replay passes them.
#[derive(Debug)]
pub(super) struct Replay<'m> {
    pieces: &'m [Vec<Piece>],
    lanes: usize,
    edges: Vec<Edge>,
    /// Edges from this one on are meetings.
    meetings: u32,
    /// Moment, kind and edge, sorted.
    events: Vec<(i64, u8, u32)>,
    first_start: i64,
    /// Entries whose waits are not known: their ranks may have arrived at any earlier time.
    unknown_waits: BTreeSet<u32>,
}

/// Order of events at one moment: values that left earlier arrive, then edges without a length are passed, then values
/// leave.
const ARRIVES: u8 = 0;
const PASSES: u8 = 1;
const LEAVES: u8 = 2;

#[derive(Debug, Clone, Copy)]
struct LaneState {
    /// The piece that is next or has been walked in part.
    piece: usize,
    /// The recorded moment up to which the lane has been walked, and that moment in the replay.
    at: i64,
    new: i64,
    /// True if the lane has waited since that moment.
    waits: bool,
}

impl<'m> Replay<'m> {
    /// `lanes` counts the lanes with pieces and the meeting points, which have none. Edges from number `meetings` on
    /// are meetings.
    pub(super) fn new(
        pieces: &'m [Vec<Piece>],
        lanes: u32,
        edges: Vec<Edge>,
        meetings: usize,
        first_start: i64,
    ) -> Replay<'m> {
        let mut events: Vec<(i64, u8, u32)> = Vec::with_capacity(2 * edges.len());
        for (number, edge) in (0..).zip(&edges) {
            if edge.from_at == edge.to_at {
                events.push((edge.to_at, PASSES, number));
            } else {
                events.push((edge.from_at, LEAVES, number));
                events.push((edge.to_at, ARRIVES, number));
            }
        }
        events.sort_unstable_by_key(|&(at, kind, number)| {
            (at, kind, edges[number as usize].to, number)
        });
        Replay {
            pieces,
            lanes: lanes as usize,
            edges,
            meetings: meetings as u32,
            events,
            first_start,
            unknown_waits: BTreeSet::new(),
        }
    }

    /// Sets the entries whose waits are not known.
    pub(super) fn with_unknown_waits(mut self, entries: BTreeSet<u32>) -> Replay<'m> {
        self.unknown_waits = entries;
        self
    }

    /// Walks all lanes. `ran` is called with the node, start and end of each stretch of work, and with the start of
    /// each wait.
    pub(super) fn run(&self, durations: &impl Durations, ran: &mut impl FnMut(u32, i64, i64)) {
        let start = LaneState {
            piece: 0,
            at: self.first_start,
            new: self.first_start,
            waits: false,
        };
        let mut walk = Walk {
            replay: self,
            durations,
            lanes: vec![start; self.lanes],
            ran,
        };
        let mut under_way: Vec<i64> = vec![0; self.edges.len()];
        for moment in self.events.chunk_by(|a, b| a.0 == b.0) {
            let at = moment[0].0;
            let arriving = moment.partition_point(|event| event.1 == ARRIVES);
            let passing = moment.partition_point(|event| event.1 <= PASSES);
            let sort = |event: &(i64, u8, u32)| (self.to(event), event.2 >= self.meetings);
            for group in moment[..arriving].chunk_by(|a, b| sort(a) == sort(b)) {
                let (lane, is_meeting) = sort(&group[0]);
                let edges = group.iter().map(|event| event.2 as usize);
                let value = edges.clone().map(|edge| under_way[edge]).max();
                let value = value.unwrap_or(i64::MIN);
                if is_meeting {
                    walk.meet(lane, at, value);
                    continue;
                }
                // If another edge of the moment has no delay, the lane continued at once.
                let passes = moment[arriving..passing]
                    .binary_search_by_key(&(lane, false), sort)
                    .is_ok();
                let left = edges.map(|edge| self.edges[edge].from_at).max();
                let left = if passes { at } else { left.unwrap_or(at) };
                walk.arrive(lane, at, left, value);
            }
            // Edges at the same moment can depend on each other, in any order.
            let passes = &moment[arriving..passing];
            for _ in 0..passes.len() {
                let mut changed = false;
                for event in passes {
                    let edge = &self.edges[event.2 as usize];
                    let value = walk.value(edge.from, at);
                    changed |= if event.2 >= self.meetings {
                        walk.meet(edge.to, at, value)
                    } else {
                        walk.arrive(edge.to, at, at, value)
                    };
                }
                if !changed {
                    break;
                }
            }
            for event in &moment[passing..] {
                under_way[event.2 as usize] = walk.value(self.edges[event.2 as usize].from, at);
            }
        }
        for lane in 0..self.pieces.len() {
            walk.advance(lane as u32, i64::MAX);
        }
    }

    /// Gaps between two entries of a lane that ended without an event of another lane: both entries, and the length.
    pub(super) fn own_gaps(&self, entries: usize) -> impl Iterator<Item = (u32, u32, u64)> {
        let mut arrivals: Vec<(u32, i64)> = self
            .edges
            .iter()
            .map(|edge| (edge.to, edge.to_at))
            .collect();
        arrivals.sort_unstable();
        let pairs = (0..).zip(self.pieces).flat_map(|(lane, pieces)| {
            let pieces = pieces
                .iter()
                .filter(|piece| piece.node != NONE || !piece.is_work());
            pieces
                .clone()
                .zip(pieces.skip(1))
                .map(move |pair| (lane, pair))
        });
        pairs.filter_map(move |(lane, (before, next))| {
            let is_entry = |piece: &Piece| piece.is_work() && (piece.node as usize) < entries;
            if !is_entry(before) || !is_entry(next) || before.end >= next.start {
                return None;
            }
            let at = arrivals.partition_point(|&arrival| arrival <= (lane, before.end));
            let arrives = arrivals
                .get(at)
                .is_some_and(|&(to, at)| to == lane && at <= next.start);
            (!arrives).then(|| (before.node, next.node, next.start.abs_diff(before.end)))
        })
    }

    fn to(&self, event: &(i64, u8, u32)) -> u32 {
        self.edges[event.2 as usize].to
    }
}

struct Walk<'r, 'm, D, F> {
    replay: &'r Replay<'m>,
    durations: &'r D,
    lanes: Vec<LaneState>,
    ran: &'r mut F,
}

impl<D: Durations, F: FnMut(u32, i64, i64)> Walk<'_, '_, D, F> {
    fn pieces(&self, lane: u32) -> &[Piece] {
        self.replay
            .pieces
            .get(lane as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// Walks the pieces that began before `until`, as far as `until`. The time after the last of them is not walked
    /// yet.
    fn advance(&mut self, lane: u32, until: i64) {
        let mut state = self.lanes[lane as usize];
        while let Some(&piece) = self.pieces(lane).get(state.piece) {
            if piece.start >= until {
                break;
            }
            // Code between the ops of a step counts as time between pieces.
            let is_op = piece.node != NONE;
            if !piece.is_work() && self.replay.unknown_waits.contains(&piece.node) {
                if piece.end > until {
                    break;
                }
                state.piece += 1;
                continue;
            }
            let waits_on = state.waits && !piece.is_work();
            if (is_op || !piece.is_work()) && state.at < piece.start && !waits_on {
                let gap = piece.start.saturating_sub(state.at);
                state.new = later(state.new, gap, self.durations.gap(piece.node));
                state.at = piece.start;
            }
            if !piece.is_work() {
                state.waits = true;
                if is_op {
                    (self.ran)(piece.node, state.new, state.new);
                }
            }
            let end = piece.end.min(until);
            if piece.is_work() && is_op && state.at < end {
                let factor = self.durations.work(piece.node);
                let new = later(state.new, end.saturating_sub(state.at), factor);
                (self.ran)(piece.node, state.new, new);
                state.new = new;
                state.at = end;
                state.waits = false;
            }
            if piece.end > until {
                break;
            }
            state.piece += 1;
        }
        self.lanes[lane as usize] = state;
    }

    /// The time in the replay that corresponds to the recorded time `at` of the lane.
    fn value(&mut self, lane: u32, at: i64) -> i64 {
        self.advance(lane, at);
        let state = self.lanes[lane as usize];
        let next = self.pieces(lane).get(state.piece);
        let next = next
            .filter(|piece| piece.start <= at)
            .map_or(NONE, |piece| piece.node);
        let gap = at.saturating_sub(state.at).max(0);
        later(state.new, gap, self.durations.gap(next))
    }

    /// An edge that left its own lane at `left` arrives on the lane at `at`. True if that changes the time at which the
    /// lane continues.
    fn arrive(&mut self, lane: u32, at: i64, left: i64, value: i64) -> bool {
        self.advance(lane, at);
        let state = &mut self.lanes[lane as usize];
        let delay = at.saturating_sub(left.max(state.at)).max(0);
        let new = state.new.max(value).saturating_add(delay);
        let changed = state.at < at || new > state.new;
        state.new = new;
        state.at = state.at.max(at);
        state.waits = false;
        changed
    }

    /// The lane is at a meeting at `at`, and another rank would arrive at `value`. True if that changes the time at
    /// which the lane continues.
    fn meet(&mut self, lane: u32, at: i64, value: i64) -> bool {
        self.advance(lane, at);
        let is_point = self.pieces(lane).is_empty();
        let own = if self.lanes[lane as usize].waits || is_point {
            self.lanes[lane as usize].new
        } else {
            self.value(lane, at)
        };
        let state = &mut self.lanes[lane as usize];
        let new = own.max(value);
        let changed = state.at < at || new > state.new;
        state.new = new;
        state.at = state.at.max(at);
        state.waits = false;
        changed
    }
}

/// The moment that is a recorded time, multiplied by a factor, after `from`.
fn later(from: i64, ns: i64, factor: f64) -> i64 {
    let ns = if factor == 1.0 {
        ns
    } else {
        rounded(ns as f64 * factor)
    };
    from.saturating_add(ns)
}

/// `number.round()` as an integer. `round` is a call on processors without an instruction for it, and a replay needs it
/// for every piece of work.
fn rounded(number: f64) -> i64 {
    let whole = number as i64;
    let rest = number - whole as f64;
    whole
        .saturating_add(i64::from(rest >= 0.5))
        .saturating_sub(i64::from(rest <= -0.5))
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn rounding_is_that_of_the_standard_library() {
        let near = [
            0.0,
            0.25,
            0.5,
            0.75,
            1.5,
            2.5,
            1e9 + 0.5,
            4_503_599_627_370_495.5,
            1e18,
            1e30,
        ];
        let near = near.into_iter().flat_map(|number: f64| {
            [
                number,
                number.next_down(),
                number.next_up(),
                -number,
                -number.next_down(),
            ]
        });
        for number in near.chain([f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]) {
            assert_eq!(rounded(number), number.round() as i64, "{number}");
        }
    }
}

//! The longest chain of work through lanes and edges.
//!
//! Lanes are walked in the order of time. Each carries the longest chain that reaches it so far; at an edge the
//! chain of one lane is offered to the other. Waiting adds nothing to a chain.

use super::edge::Edge;
use super::piece::Piece;
use crate::analyze::forest::NONE;
use crate::analyze::intervals::add_ns;

/// A stretch of work on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) node: u32,
    pub(super) lane: u32,
    before: u32,
}

impl Link {
    pub(super) fn length(&self) -> u64 {
        self.end.abs_diff(self.start)
    }
}

/// The links of the longest chain, in the order of time. Of equally long chains the one that was found first wins.
pub(super) fn longest_chain(pieces: &[Vec<Piece>], lanes: u32, edges: &[Edge]) -> Vec<Link> {
    let mut walk = Walk {
        pieces,
        lanes: vec![LaneState::default(); lanes as usize],
        links: Vec::new(),
    };
    walk.run(edges);
    let best = walk
        .lanes
        .iter()
        .map(|lane| lane.chain)
        .fold(Chain::default(), |best, chain| {
            if chain.ns > best.ns { chain } else { best }
        });
    let mut path = Vec::new();
    let mut at = best.link;
    while let Some(link) = walk.links.get(at as usize) {
        path.push(*link);
        at = link.before;
    }
    path.reverse();
    path
}

#[derive(Debug, Clone, Copy)]
struct Chain {
    ns: u64,
    /// Its last link.
    link: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { ns: 0, link: NONE }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct LaneState {
    chain: Chain,
    /// The piece that is next or has been walked in part.
    piece: u32,
    at: Option<i64>,
    /// The last link belongs to this lane alone and may grow.
    grows: bool,
}

struct Walk<'m> {
    pieces: &'m [Vec<Piece>],
    lanes: Vec<LaneState>,
    links: Vec<Link>,
}

/// At one moment: chains that were under way arrive, then edges without a length are passed, then chains leave.
const ARRIVES: u8 = 0;
const PASSES: u8 = 1;
const LEAVES: u8 = 2;

impl Walk<'_> {
    fn run(&mut self, edges: &[Edge]) {
        let mut events: Vec<(i64, u8, u32)> = Vec::with_capacity(2 * edges.len());
        for (number, edge) in (0..).zip(edges) {
            if edge.from_at == edge.to_at {
                events.push((edge.to_at, PASSES, number));
            } else {
                events.push((edge.from_at, LEAVES, number));
                events.push((edge.to_at, ARRIVES, number));
            }
        }
        events.sort_unstable();
        let mut under_way = vec![Chain::default(); edges.len()];
        for group in events.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (at, kind, _) = group[0];
            loop {
                let mut changed = false;
                for &(_, _, number) in group {
                    let edge = &edges[number as usize];
                    match kind {
                        LEAVES => under_way[number as usize] = self.leave(edge.from, at),
                        ARRIVES => {
                            self.arrive(edge.to, at, under_way[number as usize]);
                        }
                        _ => {
                            let chain = self.leave(edge.from, at);
                            changed |= self.arrive(edge.to, at, chain);
                        }
                    }
                }
                // Edges of one moment may lead on to each other, in any order.
                if !changed || group.len() == 1 {
                    break;
                }
            }
        }
        for lane in 0..self.pieces.len() as u32 {
            self.walk_until(lane, i64::MAX);
        }
    }

    fn leave(&mut self, lane: u32, at: i64) -> Chain {
        self.walk_until(lane, at);
        let state = &mut self.lanes[lane as usize];
        state.grows = false;
        state.chain
    }

    fn arrive(&mut self, lane: u32, at: i64, chain: Chain) -> bool {
        self.walk_until(lane, at);
        let state = &mut self.lanes[lane as usize];
        let longer = chain.ns > state.chain.ns;
        if longer {
            state.chain = chain;
            state.grows = false;
        }
        longer
    }

    /// Adds the work of a lane up to `until` to its chain.
    fn walk_until(&mut self, lane: u32, until: i64) {
        let Some(pieces) = self.pieces.get(lane as usize) else {
            return;
        };
        let state = &mut self.lanes[lane as usize];
        while let Some(piece) = pieces.get(state.piece as usize).filter(|p| p.start < until) {
            let start = state.at.map_or(piece.start, |at| at.max(piece.start));
            let end = piece.end.min(until);
            if start < end && piece.is_work() {
                add_ns(&mut state.chain.ns, end.abs_diff(start));
                let last = self.links.get_mut(state.chain.link as usize);
                match last {
                    Some(last) if state.grows && last.node == piece.node && last.end == start => {
                        last.end = end;
                    }
                    _ => {
                        self.links.push(Link {
                            start,
                            end,
                            node: piece.node,
                            lane,
                            before: state.chain.link,
                        });
                        state.chain.link = self.links.len() as u32 - 1;
                        state.grows = true;
                    }
                }
            }
            state.at = Some(end);
            if piece.end > until {
                return;
            }
            state.piece += 1;
        }
    }
}

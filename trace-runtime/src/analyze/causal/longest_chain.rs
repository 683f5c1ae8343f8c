//! The longest chain of work through lanes and edges.
//!
//! Lanes are walked in the order of time. Each lane has the longest chain that reaches it so far. At an edge, the chain
//! of one lane replaces that of the other if it is longer. Waiting adds nothing to a chain.

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
}

impl Link {
    pub(super) fn length(&self) -> u64 {
        self.end.abs_diff(self.start)
    }
}

/// The longest chain: the lanes that it follows, in the order of time. A list of its links could be as large as the
/// list of all pieces.
#[derive(Debug, Default)]
pub(super) struct Path {
    stretches: Vec<Stretch>,
}

/// A part of a chain on one lane.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    lane: u32,
    start: i64,
    end: i64,
}

impl Path {
    /// The links of the chain, in the order of time. The pieces are those that it was found in.
    pub(super) fn links(&self, pieces: &[Vec<Piece>]) -> impl Iterator<Item = Link> {
        self.stretches.iter().flat_map(move |stretch| {
            let Stretch { lane, start, end } = *stretch;
            let pieces = pieces.get(lane as usize).map_or(&[][..], Vec::as_slice);
            let first = pieces.partition_point(|piece| piece.end <= start);
            let works = pieces[first..]
                .iter()
                .take_while(move |piece| piece.start < end)
                .filter(|piece| piece.is_work());
            works.map(move |piece| Link {
                start: piece.start.max(start),
                end: piece.end.min(end),
                node: piece.node,
                lane,
            })
        })
    }
}

/// The longest chain. If several chains are equally long, the one that was found first is returned.
pub(super) fn longest_chain(pieces: &[Vec<Piece>], lanes: u32, edges: &[Edge]) -> Path {
    let mut walk = Walk {
        pieces,
        lanes: vec![LaneState::default(); lanes as usize],
        segments: Vec::new(),
    };
    walk.run(edges);
    let mut best = (0, Chain::default());
    for lane in (0..).zip(&walk.lanes) {
        if lane.1.ns > best.1.ns {
            best = (lane.0, lane.1.chain(lane.0, i64::MAX));
        }
    }
    walk.path(best.1)
}

/// The longest chain that reaches a lane at a moment. It consists of the work of the lane since the start of its
/// segment, and of the chain that arrived at that start.
#[derive(Debug, Clone, Copy)]
struct Chain {
    ns: u64,
    lane: u32,
    segment: u32,
    until: i64,
}

impl Default for Chain {
    fn default() -> Self {
        Chain {
            ns: 0,
            lane: NONE,
            segment: NONE,
            until: i64::MIN,
        }
    }
}

/// The arrival of a longer chain from another lane.
#[derive(Debug, Clone, Copy)]
struct Segment {
    start: i64,
    before: Chain,
}

#[derive(Debug, Clone, Copy)]
struct LaneState {
    ns: u64,
    /// [`NONE`] until a chain from another lane becomes part of this one.
    segment: u32,
    /// The piece that is walked next; a part of it may have been walked.
    piece: u32,
    at: Option<i64>,
}

impl Default for LaneState {
    fn default() -> Self {
        LaneState {
            ns: 0,
            segment: NONE,
            piece: 0,
            at: None,
        }
    }
}

impl LaneState {
    fn chain(&self, lane: u32, until: i64) -> Chain {
        Chain {
            ns: self.ns,
            lane,
            segment: self.segment,
            until,
        }
    }
}

struct Walk<'m> {
    pieces: &'m [Vec<Piece>],
    lanes: Vec<LaneState>,
    segments: Vec<Segment>,
}

/// Order of events at one moment: chains that left earlier arrive, then edges without a length are passed, then chains
/// leave.
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
                // Edges of the same moment can depend on each other, in any order.
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
        self.lanes[lane as usize].chain(lane, at)
    }

    fn arrive(&mut self, lane: u32, at: i64, chain: Chain) -> bool {
        self.walk_until(lane, at);
        let state = &mut self.lanes[lane as usize];
        let longer = chain.ns > state.ns;
        if longer {
            state.ns = chain.ns;
            state.segment = self.segments.len() as u32;
            self.segments.push(Segment {
                start: at,
                before: chain,
            });
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
                add_ns(&mut state.ns, end.abs_diff(start));
            }
            state.at = Some(end);
            if piece.end > until {
                return;
            }
            state.piece += 1;
        }
    }

    /// The lanes of a chain, in the order of time.
    fn path(&self, mut chain: Chain) -> Path {
        let mut stretches = Vec::new();
        while chain.lane != NONE {
            let segment = self.segments.get(chain.segment as usize);
            stretches.push(Stretch {
                lane: chain.lane,
                start: segment.map_or(i64::MIN, |segment| segment.start),
                end: chain.until,
            });
            chain = segment.map_or_else(Chain::default, |segment| segment.before);
        }
        stretches.reverse();
        stretches.shrink_to_fit();
        Path { stretches }
    }
}

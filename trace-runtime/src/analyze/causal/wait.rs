//! Waits: times in which a lane only waits for another.

use super::lane::Lanes;
use super::piece::{Piece, rewrite};
use crate::analyze::forest::NONE;
use crate::model::hash::FastMap;

/// The target of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum WaitFor {
    /// Work on another lane: a host thread waits for a stream, or a thread for another thread.
    Lane(u32),
    /// A rank that arrives later at a collective.
    Rank(u32),
}

impl WaitFor {
    /// The name of the target.
    pub(super) fn label(self, lanes: &Lanes<'_>) -> String {
        match self {
            WaitFor::Lane(lane) => lanes.label(lane),
            WaitFor::Rank(rank) => format!("rank {rank}"),
        }
    }
}

/// A stretch of a lane in which it waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) lane: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) target: WaitFor,
    /// If set, only pieces of this node are waiting; [`NONE`] means everything in the stretch.
    pub(super) only: u32,
    /// The node that the waiting belongs to while no op runs.
    pub(super) node: u32,
}

/// Marks the pieces of each lane that are waiting. A piece that waits only in part is split.
///
/// If two waits for the same pieces overlap, the one that began first counts. The indices of waits do not change.
pub(super) fn mark(lanes: &mut [Vec<Piece>], waits: &[Wait]) {
    let mut order: Vec<u32> = (0..waits.len() as u32).collect();
    order.sort_by_key(|&wait| {
        let wait = &waits[wait as usize];
        (wait.lane, wait.only, wait.start, wait.end)
    });
    for group in order.chunk_by(|&a, &b| waits[a as usize].lane == waits[b as usize].lane) {
        let lane = waits[group[0] as usize].lane as usize;
        let of_all = group.partition_point(|&wait| waits[wait as usize].only != NONE);
        let (of_nodes, of_all) = group.split_at(of_all);
        if !of_nodes.is_empty() {
            let pieces = std::mem::take(&mut lanes[lane]);
            lanes[lane] = mark_nodes(pieces, waits, of_nodes);
        }
        if !of_all.is_empty() {
            rewrite(&mut lanes[lane], |pieces, push| {
                mark_all(pieces, waits, of_all, push);
            });
        }
    }
}

/// Marks the pieces of the nodes that wait.
fn mark_nodes(pieces: Vec<Piece>, waits: &[Wait], order: &[u32]) -> Vec<Piece> {
    let by_node: FastMap<u32, &[u32]> = order
        .chunk_by(|&a, &b| waits[a as usize].only == waits[b as usize].only)
        .map(|group| (waits[group[0] as usize].only, group))
        .collect();
    // By node, the first wait that has not been handled: the pieces of a node are in order.
    let mut next: FastMap<u32, usize> = FastMap::default();
    let mut marked = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Some(own) = by_node.get(&piece.node) else {
            marked.push(piece);
            continue;
        };
        let first = next.entry(piece.node).or_default();
        let mut at = piece.start;
        for position in *first..own.len() {
            let wait = &waits[own[position] as usize];
            if wait.start >= piece.end {
                break;
            }
            let (start, end) = (wait.start.max(at), wait.end.min(piece.end));
            if start < end {
                if at < start {
                    marked.push(Piece {
                        start: at,
                        end: start,
                        ..piece
                    });
                }
                marked.push(Piece {
                    start,
                    end,
                    wait: own[position],
                    ..piece
                });
                at = end;
            }
            if wait.end <= piece.end && position == *first {
                *first += 1;
            }
        }
        if at < piece.end {
            marked.push(Piece { start: at, ..piece });
        }
    }
    marked
}

/// Marks every piece of the lane during the waits, and fills the gaps.
fn mark_all(
    pieces: &mut dyn Iterator<Item = Piece>,
    waits: &[Wait],
    order: &[u32],
    push: &mut dyn FnMut(Piece),
) {
    let mut next = pieces.peekable();
    let mut rest: Option<Piece> = None;
    let mut from = i64::MIN;
    for &number in order {
        let wait = &waits[number as usize];
        let mut at = wait.start.max(from);
        if at >= wait.end {
            continue;
        }
        from = wait.end;
        while let Some(piece) = rest.take().or_else(|| next.next_if(|p| p.start < wait.end)) {
            if piece.start >= wait.end {
                rest = Some(piece);
                break;
            }
            if piece.end <= at {
                push(piece);
                continue;
            }
            if piece.start < at {
                push(Piece { end: at, ..piece });
            }
            let start = piece.start.max(at);
            fill(push, at, start, wait, number);
            let end = piece.end.min(wait.end);
            push(Piece {
                start,
                end,
                wait: if piece.is_work() { number } else { piece.wait },
                ..piece
            });
            at = end;
            if piece.end > wait.end {
                rest = Some(Piece {
                    start: wait.end,
                    ..piece
                });
                break;
            }
        }
        fill(push, at, wait.end, wait, number);
    }
    rest.into_iter().chain(next).for_each(push);
}

/// Adds waiting for a period in which nothing ran on the lane.
fn fill(push: &mut dyn FnMut(Piece), start: i64, end: i64, wait: &Wait, number: u32) {
    if start < end {
        push(Piece {
            start,
            end,
            node: wait.node,
            wait: number,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: i64, end: i64, node: u32) -> Piece {
        Piece {
            start,
            end,
            node,
            wait: NONE,
        }
    }

    #[test]
    fn pieces_are_split_at_the_ends_of_waits_and_gaps_are_filled() {
        let wait = |start, end, only| Wait {
            lane: 0,
            start,
            end,
            target: WaitFor::Rank(0),
            only,
            node: 9,
        };
        let mut lanes = vec![vec![piece(0, 10, 1), piece(10, 20, 2), piece(30, 40, 3)]];
        mark(
            &mut lanes,
            &[
                wait(15, 35, NONE),
                wait(2, 4, NONE),
                wait(33, 38, 3),
                wait(8, 12, 2),
            ],
        );
        let got: Vec<_> = lanes[0]
            .iter()
            .map(|p| (p.start, p.end, p.node, p.wait as i32))
            .collect();
        assert_eq!(
            got,
            [
                (0, 2, 1, -1),
                (2, 4, 1, 1),
                (4, 10, 1, -1),
                (10, 12, 2, 3),
                (12, 15, 2, -1),
                (15, 20, 2, 0),
                (20, 30, 9, 0),
                (30, 33, 3, 0),
                (33, 35, 3, 2),
                (35, 38, 3, 2),
                (38, 40, 3, -1),
            ]
        );
    }
}

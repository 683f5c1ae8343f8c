//! The working, waiting and idle time of each rank: one row of pieces per rank, from all of its lanes.

use super::CausalModel;
use super::piece::Piece;
use crate::analyze::communication::CommunicationRule;
use crate::analyze::forest::NONE;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The working, waiting and idle time of a rank, in nanoseconds. `working_ns + waiting_ns + idle_ns = span_ns`.
///
/// A rank works at a moment if any of its threads or streams does, and waits if one of them waits and none works.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// The time from the first start to the last end, in nanoseconds.
    pub span_ns: u64,
    /// Time in which the rank worked.
    pub working_ns: u64,
    /// Time in which the rank waited for another rank, a thread or a device.
    pub waiting_ns: u64,
    /// Time in which nothing was traced on the rank.
    pub idle_ns: u64,
    /// Time that other ranks waited because of this one. It may be longer than `span_ns`, because several ranks can
    /// wait at once.
    pub caused_ns: u64,
}

json_struct!(RankTime {
    required: [rank, span_ns, working_ns, waiting_ns, idle_ns, caused_ns],
    optional: [],
});

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// The pieces of each rank, in the order of time and without overlap.
    ///
    /// If several lanes of a rank are busy at a moment, work comes before waiting, and other work before communication.
    pub(super) fn rank_rows(&self) -> BTreeMap<u32, Cow<'_, [Piece]>> {
        let mut lanes: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (number, lane) in (0..).zip(&self.lanes.all) {
            if let Some(rank) = lane.rank
                && !self.pieces[number as usize].is_empty()
            {
                lanes.entry(rank).or_default().push(number);
            }
        }
        let mut rule = CommunicationRule::default();
        lanes
            .into_iter()
            .map(|(rank, lanes)| match lanes.as_slice() {
                [only] => (rank, Cow::Borrowed(self.pieces[*only as usize].as_slice())),
                lanes => (rank, Cow::Owned(self.flattened(lanes, &mut rule))),
            })
            .collect()
    }

    fn flattened<'t>(&'t self, lanes: &[u32], rule: &mut CommunicationRule<'t>) -> Vec<Piece> {
        let mut all: Vec<(u8, Piece)> = Vec::new();
        for &lane in lanes {
            for &piece in &self.pieces[lane as usize] {
                let communicates = (piece.node as usize) < self.trace.entry_count()
                    && rule.holds(&self.trace.view(piece.node as usize));
                let order = match (piece.is_work(), piece.node, communicates) {
                    (true, NONE, _) => 3,
                    (true, _, false) => 0,
                    (true, _, true) => 1,
                    (false, ..) => 2,
                };
                all.push((order, piece));
            }
        }
        flatten(&mut all)
    }
}

/// Work, waiting and idle time of each rank, in the order of ranks; empty if the trace has no ranks.
pub(super) fn rank_times(rows: &BTreeMap<u32, Cow<'_, [Piece]>>) -> Vec<RankTime> {
    rows.iter()
        .map(|(&rank, row)| {
            let mut time = RankTime {
                rank,
                ..RankTime::default()
            };
            if let (Some(first), Some(last)) = (row.first(), row.last()) {
                time.span_ns = last.end.abs_diff(first.start);
            }
            for piece in row.iter() {
                match (piece.is_work(), piece.node) {
                    (true, NONE) => {}
                    (true, _) => add_ns(&mut time.working_ns, piece.length()),
                    (false, _) => add_ns(&mut time.waiting_ns, piece.length()),
                }
            }
            time.idle_ns = time.span_ns - time.working_ns - time.waiting_ns;
            time
        })
        .collect()
}

/// One row from pieces that overlap: at each moment the piece with the lowest number counts. If several have it, the
/// one that began first counts.
fn flatten(all: &mut [(u8, Piece)]) -> Vec<Piece> {
    all.sort_by_key(|(_, piece)| piece.start);
    let mut row: Vec<Piece> = Vec::with_capacity(all.len());
    let mut active: BTreeSet<(u8, usize)> = BTreeSet::new();
    let mut at = i64::MIN;
    let mut next = 0;
    while next < all.len() || !active.is_empty() {
        while let Some(&first) = active.first()
            && all[first.1].1.end <= at
        {
            active.remove(&first);
        }
        let start = all.get(next).map_or(i64::MAX, |(_, piece)| piece.start);
        let Some(&(_, number)) = active.first() else {
            if next == all.len() {
                break;
            }
            at = start;
            active.insert((all[next].0, next));
            next += 1;
            continue;
        };
        let piece = all[number].1;
        let until = piece.end.min(start.max(at));
        if at < until {
            match row.last_mut() {
                Some(last)
                    if last.end == at && (last.node, last.wait) == (piece.node, piece.wait) =>
                {
                    last.end = until;
                }
                _ => row.push(Piece {
                    start: at,
                    end: until,
                    ..piece
                }),
            }
            at = until;
        }
        if start <= at && next < all.len() {
            active.insert((all[next].0, next));
            next += 1;
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_hides_waiting_and_gaps_stay() {
        let piece = |start, end, node, wait| Piece {
            start,
            end,
            node,
            wait,
        };
        let mut all = vec![
            (2, piece(0, 100, 7, 0)),
            (0, piece(10, 20, 1, NONE)),
            (1, piece(15, 40, 2, NONE)),
            (0, piece(120, 130, 3, NONE)),
        ];
        let got: Vec<_> = flatten(&mut all)
            .iter()
            .map(|piece| (piece.start, piece.end, piece.node))
            .collect();
        assert_eq!(
            got,
            [
                (0, 10, 7),
                (10, 20, 1),
                (20, 40, 2),
                (40, 100, 7),
                (120, 130, 3)
            ]
        );
    }
}

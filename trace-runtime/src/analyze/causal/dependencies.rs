//! The model as a graph of entries: how long each worked, and which others came before it.

use super::CausalModel;
use crate::analyze::forest::NONE;
use crate::analyze::nesting::parent_index;
use crate::model::TraceView;
use std::collections::HashMap;

/// The entries of a trace as nodes of a graph without cycles: an entry depends on earlier ones only.
///
/// An entry is one node, although its work may be in several pieces, and its node comes before those of the ops inside
/// it. Therefore work of the entry after an inner op, or after a wait for another thread, counts as done before it.
#[derive(Debug)]
pub(crate) struct Dependencies {
    /// By entry, the time that it worked, without waiting and without the ops inside it. 0 for entries that repeat the
    /// time of others.
    pub(crate) work_ns: Vec<u64>,
    /// By entry: the thread, stream or task that it ran on; the maximum for entries without a start.
    pub(crate) lane: Vec<u32>,
    /// By entry: the op around it, if that has the same rank and an earlier start; otherwise the maximum.
    pub(crate) inside: Vec<u32>,
    /// Pairs of an entry and one of the same rank that it depends on: the one before it on its lane, and those that
    /// launched it, handed it over or ended a wait. Sorted, each once.
    pub(crate) needs: Vec<(u32, u32)>,
}

impl Dependencies {
    /// The entries that an entry depends on.
    pub(crate) fn of(&self, entry: u32) -> impl Iterator<Item = u32> {
        let first = self.needs.partition_point(|pair| pair.0 < entry);
        self.needs[first..]
            .iter()
            .take_while(move |pair| pair.0 == entry)
            .map(|pair| pair.1)
    }
}

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// The graph of entries.
    pub(crate) fn dependencies(&self) -> Dependencies {
        let count = self.trace.entry_count();
        let mut position = vec![0u32; count];
        for (at, entry) in (0..).zip(self.order.iter()) {
            position[entry as usize] = at;
        }
        let mut found = Dependencies {
            work_ns: vec![0; count],
            lane: vec![NONE; count],
            inside: vec![NONE; count],
            needs: Vec::with_capacity(count),
        };
        for piece in self.pieces.iter().flatten() {
            if piece.is_work() && (piece.node as usize) < count {
                found.work_ns[piece.node as usize] += piece.length();
            }
        }
        // Entries of each lane with their starts, in order.
        let mut rows: Vec<Vec<(i64, u32)>> = vec![Vec::new(); self.lanes.all.len()];
        let mut without_start: HashMap<(Option<u32>, Option<u64>), u32> = HashMap::new();
        for entry in self.order.iter() {
            let index = entry as usize;
            let view = self.trace.view(index);
            let above = parent_index(self.trace, index, &view);
            if let Some(above) = above
                && position[above] < position[index]
                && self.trace.view(above).rank() == view.rank()
            {
                found.inside[index] = above as u32;
            }
            let before = match (view.start_ns(), self.lanes.of_entry(index)) {
                (Some(start), Some(lane)) => {
                    found.lane[index] = lane;
                    let row = &mut rows[lane as usize];
                    let before = row.last().map(|last| last.1);
                    row.push((start, entry));
                    before
                }
                (Some(_), None) => None,
                (None, _) => {
                    found.work_ns[index] = view.duration_ns();
                    without_start.insert((view.rank(), view.thread()), entry)
                }
            };
            found.needs.extend(before.map(|before| (entry, before)));
        }
        let rank = |lane: u32| self.lanes.all[lane as usize].rank;
        for edge in &self.edges {
            let (Some(from), Some(to)) = (rows.get(edge.from as usize), rows.get(edge.to as usize))
            else {
                continue;
            };
            let began = from.partition_point(|one| one.0 <= edge.from_at);
            let Some(&(_, earlier)) = began.checked_sub(1).and_then(|at| from.get(at)) else {
                continue;
            };
            let next = to.partition_point(|one| one.0 < edge.to_at);
            if let Some(&(_, later)) = to.get(next)
                && position[earlier as usize] < position[later as usize]
                && rank(edge.from) == rank(edge.to)
            {
                found.needs.push((later, earlier));
            }
        }
        found.needs.sort_unstable();
        found.needs.dedup();
        found
    }
}

//! The work of host threads at each moment, and their waits.

use super::CausalModel;
use super::lane::LaneKind;
use super::node_names::NodeNames;
use super::piece::{Node, Piece};
use super::wait::WaitFor;
use crate::analyze::device_time::is_accelerator;
use crate::analyze::forest::NONE;
use crate::analyze::intervals::{Intervals, add_ns};
use crate::model::TraceView;
use crate::model::hash::FastMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A wait of a host thread for a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceWait<'a> {
    pub(crate) rank: Option<u32>,
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// The op that waited, or the runtime call outside ops.
    pub(crate) operation: &'a str,
}

impl<'a, T: TraceView + ?Sized> CausalModel<'a, T> {
    /// For each set of intervals of a rank, the time of each host op within them, longest first.
    ///
    /// Waiting, time outside ops and the work of devices are left out. If several threads work at one moment, the one
    /// whose piece of work began last counts. The time of an entry is counted for the entry that `charged` returns for
    /// it.
    pub(crate) fn host_ops_during(
        &self,
        rank: Option<u32>,
        sets: &[&Intervals],
        charged: impl Fn(usize) -> usize,
    ) -> Vec<Vec<(String, u64)>> {
        let mut names = NodeNames::default();
        // By set: the first interval that has not ended yet, and the time by the number of the name.
        let mut sums: Vec<(usize, Vec<u64>)> = vec![(0, Vec::new()); sets.len()];
        self.most_recent_work(rank, |start, end, node| {
            let node = match Node::of(node, self.trace.entry_count()) {
                Node::Entry(index) => charged(index) as u32,
                _ => node,
            };
            let name = names.number(self, node) as usize;
            for (set, (first, by_name)) in sets.iter().zip(&mut sums) {
                let moments = set.as_slice();
                while moments.get(*first).is_some_and(|moment| moment.1 <= start) {
                    *first += 1;
                }
                for moment in moments[*first..].iter().take_while(|moment| moment.0 < end) {
                    if name >= by_name.len() {
                        by_name.resize(name + 1, 0);
                    }
                    let ns = moment.1.min(end).abs_diff(moment.0.max(start));
                    add_ns(&mut by_name[name], ns);
                }
            }
        });
        let names = names.names();
        let listed = sums.into_iter().map(|(_, by_name)| {
            let ops = names.iter().zip(by_name).filter(|op| op.1 > 0);
            let mut ops: Vec<(String, u64)> =
                ops.map(|(name, ns)| ((*name).to_owned(), ns)).collect();
            ops.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            ops
        });
        listed.collect()
    }

    /// Calls `visit` with the start, the end and the node of each piece of host work of a rank, in order. The pieces of
    /// its lanes are merged one by one: a merged list would be as large as the model.
    fn most_recent_work(&self, rank: Option<u32>, mut visit: impl FnMut(i64, i64, u32)) {
        let lanes = self.lanes.all.iter().zip(&self.pieces);
        let mut lanes: Vec<_> = lanes
            .filter(|(lane, _)| lane.kind != LaneKind::Device && lane.rank == rank)
            .map(|(_, pieces)| pieces.iter().filter(|piece| self.is_host_work(piece)))
            .collect();
        let count = lanes.len();
        // A heap of the next piece of each lane. The earliest is on top.
        let mut next: BinaryHeap<Reverse<(i64, i64, u32, usize)>> = BinaryHeap::new();
        let mut advance = |lane: usize, next: &mut BinaryHeap<_>| {
            if let Some(piece) = lanes[lane].next() {
                next.push(Reverse((piece.start, piece.end, piece.node, lane)));
            }
        };
        for lane in 0..count {
            advance(lane, &mut next);
        }
        // Running pieces, the latest to begin on top; those that have ended are dropped when they reach the top.
        let mut running: BinaryHeap<(i64, i64, u32)> = BinaryHeap::new();
        let mut now = i64::MIN;
        loop {
            let upcoming = next.pop();
            let until = upcoming.map_or(i64::MAX, |Reverse(piece)| piece.0);
            while let Some(&(_, end, node)) = running.peek() {
                if end <= now {
                    running.pop();
                    continue;
                }
                if now >= until {
                    break;
                }
                visit(now, end.min(until), node);
                now = end.min(until);
            }
            let Some(Reverse((start, end, node, lane))) = upcoming else {
                return;
            };
            now = until;
            running.push((start, end, node));
            advance(lane, &mut next);
        }
    }

    /// False for waiting, for time outside ops, and for work of a device that is recorded on a host thread.
    fn is_host_work(&self, piece: &Piece) -> bool {
        piece.is_work()
            && match Node::of(piece.node, self.trace.entry_count()) {
                Node::Entry(index) => !is_accelerator(&self.trace.view(index)),
                Node::Call(_) => true,
                Node::Nothing => false,
            }
    }

    /// For each entry on the host that only waited during a part of its own time, the length of that part.
    pub(crate) fn waiting_ns(&self) -> FastMap<u32, u64> {
        let entries = self.trace.entry_count();
        let mut waiting: FastMap<u32, u64> = FastMap::default();
        for (lane, pieces) in self.lanes.all.iter().zip(&self.pieces) {
            if lane.kind == LaneKind::Device {
                continue;
            }
            for piece in pieces.iter().filter(|piece| !piece.is_work()) {
                if (piece.node as usize) < entries {
                    add_ns(waiting.entry(piece.node).or_default(), piece.length());
                }
            }
        }
        waiting
    }

    /// The waits of host threads for devices, in the order in which they began.
    pub(crate) fn device_waits(&self) -> Vec<DeviceWait<'a>> {
        let mut found: Vec<DeviceWait<'a>> = Vec::new();
        for wait in &self.waits {
            let WaitFor::Lane(target) = wait.target else {
                continue;
            };
            let for_device = self.lanes.kind(target) == LaneKind::Device;
            if !for_device || self.lanes.kind(wait.lane) == LaneKind::Device {
                continue;
            }
            let node = match wait.node {
                NONE => {
                    let mut running = self.pieces_between(wait.lane, wait.start, wait.end);
                    running.next().map_or(NONE, |(piece, _)| piece.node)
                }
                node => node,
            };
            found.push(DeviceWait {
                rank: self.lanes.all[wait.lane as usize].rank,
                start: wait.start,
                end: wait.end,
                operation: self.name(node),
            });
        }
        found.sort_by_key(|wait| (wait.start, wait.end));
        found
    }
}

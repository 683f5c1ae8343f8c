//! The edges of a replay: those of the model, the meetings of ranks, and the observed order of lanes.

use super::super::CausalModel;
use super::super::edge::Found;
use super::super::lane::LaneKind;
use super::super::meeting::MeetingClass;
use super::super::piece::Piece;
use super::super::rank::Part;
use super::replay::Replay;
use crate::model::TraceView;
use std::collections::{BTreeMap, BTreeSet};

/// If all parts of a meeting begin within this time, their waits were not recorded: each part was recorded from the
/// moment when the last rank arrived.
const TOGETHER_NS: u64 = 20_000;
/// Work that overlaps the start of other work by at most this share of the shorter one still counts as before it.
const OVERLAP: f64 = 0.1;

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// The replay of the model. The second value is true if the observed order of some lanes had to be used.
    pub(super) fn replay(&self) -> (Replay<'_>, bool) {
        let mut found = Found {
            edges: self.edges.clone(),
            lanes: self.edge_lanes,
            ..Found::default()
        };
        let unconnected = self.unconnected_lanes();
        let mut together = BTreeSet::new();
        let mut meetings = Found::default();
        let mut parts: Vec<Part> = Vec::new();
        for meeting in &self.meetings.all {
            let calls = meeting.entries.iter();
            parts.clear();
            parts.extend(
                calls.filter_map(|&call| Part::of(self.trace, &self.lanes, &self.meetings, call)),
            );
            if parts.len() < meeting.entries.len() {
                continue;
            }
            let latest = parts.iter().map(|part| part.arrived).max().unwrap_or(0);
            let first = parts.iter().map(|part| part.arrived).min().unwrap_or(0);
            let begin_together = latest.abs_diff(first) <= TOGETHER_NS
                && meeting.entries.len() > 1
                && parts
                    .iter()
                    .any(|part| unconnected.contains_key(&part.rank));
            if begin_together {
                let point = found.meeting_point();
                for part in &parts {
                    together.insert(part.call);
                    let lanes = unconnected.get(&part.rank);
                    let span = (part.start, part.end);
                    for &lane in lanes.map_or(&[part.lane][..], Vec::as_slice) {
                        if let Some(end) = last_end(&self.pieces[lane as usize], span) {
                            found.edge(lane, end, point, latest);
                        }
                    }
                    found.edge(point, latest, part.lane, latest.max(part.start));
                }
                continue;
            }
            meetings.lanes = found.lanes;
            meet(meeting.class, meeting.root, &parts, latest, &mut meetings);
            found.lanes = meetings.lanes;
        }
        for lanes in unconnected.values() {
            self.observed_order(lanes, &together, &mut found);
        }
        let first_meeting = found.edges.len();
        found.edges.append(&mut meetings.edges);
        let replay = Replay::new(
            &self.pieces,
            found.lanes,
            found.edges,
            first_meeting,
            self.first_start,
        );
        (replay.with_unknown_waits(together), !unconnected.is_empty())
    }

    /// By rank: the lanes of ranks that have a separate lane for communication and whose lanes are not connected by
    /// anything in the trace.
    fn unconnected_lanes(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut lanes: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (number, lane) in (0..).zip(&self.lanes.all) {
            if let Some(rank) = lane.rank
                && lane.kind != LaneKind::Task
                && !self.pieces[number as usize].is_empty()
            {
                lanes.entry(rank).or_default().push(number);
            }
        }
        let connected: BTreeSet<u32> = self
            .edges
            .iter()
            .flat_map(|edge| [edge.from, edge.to])
            .collect();
        let mut with_meetings = BTreeSet::new();
        for meeting in &self.meetings.all {
            for &entry in &meeting.entries {
                with_meetings.extend(self.lanes.of_entry(entry as usize));
            }
        }
        lanes.retain(|_, lanes| {
            let meets = lanes
                .iter()
                .filter(|lane| with_meetings.contains(lane))
                .count();
            meets > 0 && meets < lanes.len() && !lanes.iter().any(|lane| connected.contains(lane))
        });
        lanes
    }

    /// Adds edges by which work on one lane of a rank comes after the work that had ended on its other lanes.
    fn observed_order(&self, lanes: &[u32], together: &BTreeSet<u32>, found: &mut Found) {
        for &lane in lanes {
            let mut last = None;
            for piece in &self.pieces[lane as usize] {
                let starts = last != Some(piece.node);
                last = Some(piece.node);
                if !starts || !piece.is_work() || together.contains(&piece.node) {
                    continue;
                }
                let span = (piece.start, piece.end);
                for &other in lanes.iter().filter(|&&other| other != lane) {
                    if let Some(end) = last_end(&self.pieces[other as usize], span) {
                        found.edge(other, end, lane, piece.start);
                    }
                }
            }
        }
    }
}

/// The end of the last work of a lane that came before a piece of another lane; never after the start of that piece.
fn last_end(pieces: &[Piece], (start, end): (i64, i64)) -> Option<i64> {
    let began = pieces.partition_point(|piece| piece.start < start);
    let before = |piece: &&Piece| {
        let overlap = piece.end.saturating_sub(start).max(0);
        let shorter = piece.length().min(end.abs_diff(start));
        piece.is_work() && overlap as f64 <= OVERLAP * shorter as f64
    };
    let last = pieces[..began].iter().rev().take(3).find(before)?;
    Some(last.end.min(start))
}

/// Adds the edges of a meeting whose parts begin when their ranks arrive.
fn meet(class: MeetingClass, root: Option<u32>, parts: &[Part], latest: i64, found: &mut Found) {
    let root = parts.iter().find(|part| Some(part.call) == root);
    let mut depends = |part: &Part, on: &Part, at: i64| {
        let at = at.max(part.start);
        if at <= part.end {
            found.edge(on.from_lane, on.arrived, part.lane, at);
        }
    };
    match (class, root, parts) {
        (MeetingClass::FromRoot, Some(root), _) => {
            for part in parts.iter().filter(|part| part.call != root.call) {
                depends(part, root, root.arrived);
            }
        }
        (MeetingClass::ToRoot, Some(root), _) => {
            for part in parts.iter().filter(|part| part.call != root.call) {
                depends(root, part, latest);
            }
        }
        (MeetingClass::Message, _, [send, receive]) => {
            if send.start < receive.arrived && receive.arrived < send.end {
                depends(send, receive, receive.arrived);
            }
            depends(receive, send, send.arrived);
        }
        _ => {
            let point = found.meeting_point();
            for part in parts {
                found.edge(part.from_lane, part.arrived, point, latest);
                if latest <= part.end {
                    found.edge(point, latest, part.lane, latest.max(part.start));
                }
            }
        }
    }
}

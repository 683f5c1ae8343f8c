//! The causal model of a trace: which work waited for which. Every analysis of waiting is derived from it.
//!
//! A trace is split into *lanes* (host threads, device streams, async tasks), each a row of *pieces* of work or
//! waiting, and *edges* between lanes. Rules add the edges and the waits, one file each:
//!
//! | file | what it finds |
//! |---|---|
//! | `sync` | launch → device work; host waits at synchronisations and blocking copies; stream waits for events |
//! | `thread` | work handed to another thread and the wait for it; the backward pass on its own thread |
//! | `meeting`, `rank` | collectives among the ranks of their process group; send ↔ receive |
//!
//! The order of the pieces within a lane is part of the model but is not listed. Nothing here assumes a certain
//! profiler: names of runtime calls are recognised by their parts, and the facts that a trace lacks are in
//! [`CausalModel::missing`].

mod call;
mod caused_waits;
mod communication_calls;
mod critical_path;
mod dependencies;
mod edge;
mod host_work;
mod idle;
mod idle_causes;
mod lane;
mod lane_time;
mod last_met;
mod launch_summary;
mod longest_chain;
mod meeting;
mod node_names;
mod piece;
mod rank;
mod rank_time;
mod sync;
mod task_time;
mod thread;
mod wait;
mod wait_cause;
mod wait_state;
mod what_if;
mod work;

pub(crate) use caused_waits::CausedWaits;
pub(crate) use communication_calls::{CallKind, CollectiveKind, CommunicationCalls};
pub use critical_path::{CriticalOp, CriticalPath, Crossed, PathStep};
pub(crate) use dependencies::Dependencies;
pub(crate) use host_work::DeviceWait;
pub(crate) use idle::IdleTimes;
pub use idle::{DeviceIdle, IdleCause, IdleClass, StreamIdle};
pub use lane::LaneKind;
pub use lane_time::{LaneTime, LaneWait};
pub use launch_summary::LaunchSummary;
pub use rank::WaitClass;
pub use rank_time::RankTime;
pub use task_time::{TaskTime, task_times};
pub use wait_state::{Blame, WaitState, WaitStates, WaitSum};
pub use what_if::{Heatmap, JobTime, Scenario, Slowdown, SlowdownPart, Usual, WhatIf};

use super::forest::NONE;
use super::own_time::TaskTimes;
use crate::model::TraceView;
use crate::model::hash::FastMap;
use call::{CallFacts, Calls};
use edge::{Edge, Found};
use lane::Lanes;
use longest_chain::Path;
pub(in crate::analyze) use meeting::{MeetingClass, Meetings};
use piece::{Order, Piece};
use rank::RankWait;
use sync::{StreamWait, Syncs};
use wait::{Wait, WaitFor};
use work::{DeviceWork, Work};

/// The causal model of a trace: which work waited for which. Build it once and call its methods; each is an analysis.
///
/// ```
/// use trace_runtime::analyze::CausalModel;
/// use trace_runtime::read;
///
/// let trace = read::from_slice(br#"[
///   {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
///   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 5,
///    "args": {"correlation": 7}},
///   {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12, "dur": 80,
///    "args": {"device": 0, "stream": 7, "correlation": 7}},
///   {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 10, "dur": 85,
///    "args": {"correlation": 8}}
/// ]"#)?;
/// let model = CausalModel::new(&trace);
/// let path = model.critical_path();
/// assert_eq!((path.device_ns, path.host_ns), (80_000, 7_000));
/// let host = &model.lanes()[0];
/// assert_eq!((host.working_ns, host.waiting_ns), (10_000, 85_000));
/// # Ok::<(), trace_runtime::TraceError>(())
/// ```
#[derive(Debug)]
pub struct CausalModel<'a, T: ?Sized> {
    trace: &'a T,
    lanes: Lanes<'a>,
    /// By lane.
    pieces: Vec<Vec<Piece>>,
    waits: Vec<Wait>,
    /// All edges except those between ranks, which are derived from the meetings.
    edges: Vec<Edge>,
    /// Number of lanes that those edges refer to.
    edge_lanes: u32,
    meetings: Meetings,
    rank_waits: Vec<RankWait>,
    work: DeviceWork,
    calls: CallFacts<'a>,
    tasks: TaskTimes,
    stream_waits: FastMap<u32, StreamWait>,
    order: Order,
    path: Path,
    first_start: i64,
    last_end: i64,
    missing: Vec<String>,
}

impl<'a, T: TraceView + ?Sized> CausalModel<'a, T> {
    /// Builds the model. The time is proportional to the size of the trace, times the logarithm of its number of edges.
    pub fn new(trace: &'a T) -> Self {
        let lanes = Lanes::of(trace);
        let calls = Calls::of(trace, &lanes);
        let order = Order::of(trace);
        let work = DeviceWork::of(trace, &lanes, &calls.all, &order);
        let tasks = TaskTimes::of(trace);
        let mut pieces = piece::pieces(trace, &lanes, &order, &tasks);
        let mut found = Found {
            lanes: lanes.all.len() as u32,
            ..Found::default()
        };
        let mut syncs = Syncs {
            lanes: &lanes,
            work: &work,
            calls: &calls,
            streams: sync::streams_by_rank(&lanes),
            stream_waits: FastMap::default(),
            unnamed_events: 0,
            found: &mut found,
        };
        syncs.find(trace);
        let (stream_waits, unnamed_events) = (syncs.stream_waits, syncs.unnamed_events);
        let calls = calls.facts();
        thread::handoffs(trace, &lanes, &mut found);
        thread::backward(trace, &lanes, &pieces, &mut found);
        let meetings = Meetings::of(trace);
        let (rank_edges, edge_lanes) = (found.edges.len(), found.lanes);
        let rank_waits = rank::meetings(trace, &lanes, &meetings, &mut found);
        wait::mark(&mut pieces, &found.waits);
        piece::fill_steps(&mut pieces, &lanes, trace.steps(), calls.synchronise);
        for lane in &mut pieces {
            lane.shrink_to_fit();
        }
        let path = longest_chain::longest_chain(&pieces, found.lanes, &found.edges);
        found.edges.truncate(rank_edges);
        found.edges.shrink_to_fit();
        let (first_start, last_end) = span(trace, &pieces);
        let mut model = CausalModel {
            trace,
            lanes,
            pieces,
            waits: found.waits,
            edges: found.edges,
            edge_lanes,
            meetings,
            rank_waits,
            work,
            calls,
            tasks,
            stream_waits,
            order,
            path,
            first_start,
            last_end,
            missing: Vec::new(),
        };
        model.missing = model.find_missing(unnamed_events);
        model
    }

    /// The facts that the trace lacks for a complete analysis, one sentence each; empty if nothing is missing.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    fn find_missing(&self, unnamed_events: usize) -> Vec<String> {
        let mut missing = Vec::new();
        missing.extend(self.meetings.notes());
        // No calls are needed for the work that ops with the option `sync` wait for.
        let on_streams = |(lane, _): &(u32, &Work)| self.lanes.all[*lane as usize].thread.is_some();
        let works = self.work.all().filter(on_streams).count();
        if works == 0 {
            return missing;
        }
        let unknown = self
            .work
            .all()
            .filter(|(_, work)| work.launch.is_none())
            .count();
        if self.calls.none {
            missing.push(
                "the trace has no runtime calls: launch delays and waits for devices are not known"
                    .to_owned(),
            );
        } else if !self.calls.synchronise {
            missing.push(
                "the trace has no synchronisation calls: waits of the host for devices are not known"
                    .to_owned(),
            );
        }
        if !self.calls.synchronise && !self.trace.steps().is_empty() {
            missing.push(
                "while a device is busy, time of the host outside of ops does not count as work: it may be a wait"
                    .to_owned(),
            );
        }
        if unknown > 0 {
            missing.push(format!(
                "the launch of {unknown} of {works} pieces of device work is not in the trace"
            ));
        }
        if unnamed_events > 0 {
            missing.push(format!(
                "{unnamed_events} stream waits do not name their event: the work that ended last before the wait is assumed"
            ));
        }
        missing
    }

    /// The pieces of a lane that overlap a stretch, each with the length of the overlap.
    fn pieces_between(
        &self,
        lane: u32,
        start: i64,
        end: i64,
    ) -> impl Iterator<Item = (&Piece, u64)> {
        let pieces = &self.pieces[lane as usize];
        let first = pieces.partition_point(|piece| piece.end <= start);
        pieces[first..]
            .iter()
            .take_while(move |piece| piece.start < end)
            .map(move |piece| {
                let ns = piece.end.min(end).abs_diff(piece.start.max(start));
                (piece, ns)
            })
    }

    fn wait_of(&self, piece: &Piece) -> Option<WaitFor> {
        (piece.wait != NONE).then(|| self.waits[piece.wait as usize].target)
    }
}

/// The critical path of a trace. For more than one analysis, build a [`CausalModel`] once.
pub fn critical_path<T: TraceView + ?Sized>(trace: &T) -> CriticalPath {
    CausalModel::new(trace).critical_path()
}

/// The first start and the last end of all entries and pieces; zeros if there are none.
fn span<T: TraceView + ?Sized>(trace: &T, pieces: &[Vec<Piece>]) -> (i64, i64) {
    let entries = trace
        .views()
        .filter_map(|view| view.start_ns().zip(view.end_ns()));
    let lanes = pieces
        .iter()
        .filter_map(|lane| Some((lane.first()?.start, lane.last()?.end)));
    entries
        .chain(lanes)
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        .unwrap_or((0, 0))
}

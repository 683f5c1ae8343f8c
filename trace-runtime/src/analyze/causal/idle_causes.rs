//! Divides the gaps between the work of a device among the causes of idle time.

use super::CausalModel;
use super::idle::{DeviceIdle, IdleCause, IdleClass, IdleTimes, StreamIdle};
use super::lane::LaneKind;
use super::node_names::{NO_NAME, NodeNames};
use super::wait::WaitFor;
use super::work::LaunchPoint;
use crate::analyze::communication::CommunicationRule;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The longest time from a launch call to the start of its work that counts as the delay of the launch.
const LONGEST_DELAY_NS: u64 = 1_000_000;

/// The times at which a device or a stream was busy, and the entries that ended its gaps.
#[derive(Debug, Default)]
pub(super) struct Device {
    pub(super) lanes: Vec<u32>,
    /// The start of the first entry, and the entry.
    first: Option<(i64, u32)>,
    end: i64,
    busy_ns: u64,
    /// Start and end of each gap, and the entry that began at its end.
    gaps: Vec<(i64, i64, u32)>,
    /// Stretches of async ops. They are not added in the order of their starts.
    later: BinaryHeap<Reverse<(i64, i64, u32)>>,
}

impl Device {
    /// Adds an entry. Call it in the order of starts.
    pub(super) fn add(&mut self, start: i64, end: i64, entry: u32) {
        while let Some(&Reverse((from, to, task))) = self.later.peek() {
            if from > start {
                break;
            }
            self.later.pop();
            self.add_in_order(from, to, task);
        }
        self.add_in_order(start, end, entry);
    }

    /// Adds a stretch of an async op, in any order.
    pub(super) fn add_later(&mut self, start: i64, end: i64, entry: u32) {
        self.later.push(Reverse((start, end, entry)));
    }

    /// Called after the last entry.
    pub(super) fn finish(&mut self) {
        while let Some(Reverse((start, end, entry))) = self.later.pop() {
            self.add_in_order(start, end, entry);
        }
    }

    fn add_in_order(&mut self, start: i64, end: i64, entry: u32) {
        if self.first.is_none() {
            self.first = Some((start, entry));
            self.end = start;
        }
        if self.end < start {
            self.gaps.push((self.end, start, entry));
        }
        if end > self.end {
            add_ns(&mut self.busy_ns, end.abs_diff(start.max(self.end)));
            self.end = end;
        }
    }

    fn span_ns(&self) -> u64 {
        self.first.map_or(0, |first| self.end.abs_diff(first.0))
    }
}

/// Divides gaps among classes.
pub(super) struct Causes<'m, 'a, T: ?Sized> {
    model: &'m CausalModel<'a, T>,
    communication: CommunicationRule<'a>,
    /// The names of the host's work.
    names: NodeNames<'a>,
    /// By class.
    sums: [ClassSum; IdleClass::ALL.len()],
    /// The idle times of the device, by class; `None` for a stream.
    times: Option<[Vec<(i64, i64)>; IdleClass::ALL.len()]>,
    /// The lanes of the device or the stream.
    own: Vec<u32>,
}

/// Idle time of one class.
#[derive(Debug, Default)]
struct ClassSum {
    ns: u64,
    /// By the number of the name.
    by_name: Vec<u64>,
}

impl<'m, 'a, T: TraceView + ?Sized> Causes<'m, 'a, T> {
    pub(super) fn new(model: &'m CausalModel<'a, T>) -> Self {
        Causes {
            model,
            communication: CommunicationRule::default(),
            names: NodeNames::default(),
            sums: Default::default(),
            times: None,
            own: Vec::new(),
        }
    }

    /// The number of a node's name. A device has a gap for nearly every piece of work.
    fn name(&mut self, node: u32) -> u32 {
        self.names.number(self.model, node)
    }

    pub(super) fn device(
        &mut self,
        rank: Option<u32>,
        device: &'a str,
        known: &Device,
    ) -> (DeviceIdle, IdleTimes) {
        let model = self.model;
        self.times = Some(Default::default());
        self.own.clone_from(&known.lanes);
        for &(start, end, entry) in &known.gaps {
            self.divide(start, end, entry);
        }
        let causes = self.causes();
        let mut times = self.times.take().unwrap_or_default();
        // The first work may be late too, although the device's span begins with it.
        if let Some((start, entry)) = known.first
            && let Some(launch) = self.launch_of(entry, start)
        {
            times[IdleClass::LaunchDelay as usize].push((launch.start.min(start), start));
        }
        let mut streams = Vec::new();
        for &lane in &known.lanes {
            let Some(works) = model.work.lane(lane) else {
                continue;
            };
            self.own = vec![lane];
            let mut stream = Device::default();
            for work in &works.works {
                stream.add(work.start, work.end, work.entry);
                for (start, end, entry) in stream.gaps.drain(..) {
                    self.divide(start, end, entry);
                }
            }
            let causes = self.causes();
            streams.push(StreamIdle {
                stream: model.lanes.all[lane as usize].plain_label(),
                span_ns: stream.span_ns(),
                idle_ns: stream.span_ns() - stream.busy_ns,
                causes,
            });
        }
        let by_class = IdleClass::ALL.into_iter().zip(times);
        let has_launch = |&lane: &u32| {
            let works = model.work.lane(lane);
            works.is_none_or(|lane| lane.works.iter().any(|work| work.launch.is_some()))
        };
        let times = IdleTimes {
            rank,
            device: device.to_owned(),
            launches_known: known.lanes.iter().any(has_launch),
            by_class: by_class
                .map(|(class, times)| (class, times.into_iter().collect()))
                .collect::<BTreeMap<_, _>>(),
        };
        let idle = DeviceIdle {
            rank,
            device: device.to_owned(),
            span_ns: known.span_ns(),
            busy_ns: known.busy_ns,
            idle_ns: known.span_ns() - known.busy_ns,
            causes,
            streams,
        };
        (idle, times)
    }

    /// The causes of the gaps that were divided since the last call.
    fn causes(&mut self) -> Vec<IdleCause> {
        let mut causes: Vec<IdleCause> = IdleClass::ALL
            .into_iter()
            .zip(std::mem::take(&mut self.sums))
            .filter(|(_, sum)| sum.ns > 0)
            .map(|(class, sum)| {
                let ops = self
                    .names
                    .names()
                    .iter()
                    .zip(sum.by_name)
                    .filter(|op| op.1 > 0);
                let mut ops: Vec<(&str, u64)> = ops.map(|(&name, ns)| (name, ns)).collect();
                if !matches!(class, IdleClass::NothingLaunched) {
                    ops.retain(|op| !op.0.is_empty());
                }
                ops.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
                ops.truncate(IdleCause::MOST_OPS);
                IdleCause {
                    cause: class.name().to_owned(),
                    ns: sum.ns,
                    ops: ops
                        .into_iter()
                        .map(|(name, ns)| (name.to_owned(), ns))
                        .collect(),
                }
            })
            .collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.ns));
        causes
    }

    /// The launch of a device entry, if it is known.
    fn launch_of(&self, entry: u32, start: i64) -> Option<LaunchPoint> {
        let lane = self.model.lanes.of_entry(entry as usize)?;
        let work = self.model.work.lane(lane)?.of_entry(entry, start)?;
        work.launch
    }

    /// Divides the gap before an entry.
    fn divide(&mut self, start: i64, end: i64, entry: u32) {
        let model = self.model;
        let Some(lane) = model.lanes.of_entry(entry as usize) else {
            return self.add(IdleClass::Unknown, start, end, NO_NAME);
        };
        if model.lanes.kind(lane) != LaneKind::Device {
            // The work ran on a host thread, and in the gap that thread did something else.
            return self.on_host(lane, start, end);
        }
        // A gap ends where its entry begins.
        let Some(launch) = self.launch_of(entry, end) else {
            return self.add(IdleClass::Unknown, start, end, NO_NAME);
        };
        let begun = launch.start.clamp(start, end);
        self.on_host(launch.lane, start, begun);
        let mut at = begun;
        if let Some(wait) = model.stream_waits.get(&entry) {
            let until = wait.source_end.clamp(at, end);
            // The launch call takes its time even if the work also waits for an event.
            let launched = launch.end.clamp(at, until);
            self.add(IdleClass::LaunchDelay, at, launched, NO_NAME);
            self.on_stream(wait.source, launched, until);
            at = until;
        }
        let called = launch.end.clamp(at, end);
        self.add(IdleClass::LaunchDelay, at, called, NO_NAME);
        // A stream may also wait for a device that is busy with other streams.
        let is_device = self.times.is_some();
        let class = if is_device && end.abs_diff(called) > LONGEST_DELAY_NS {
            IdleClass::HeldUp
        } else {
            IdleClass::LaunchDelay
        };
        self.add(class, called, end, NO_NAME);
    }

    /// Time in which the host thread did something other than launching.
    fn on_host(&mut self, lane: u32, start: i64, end: i64) {
        let model = self.model;
        let mut at = start;
        for (piece, _) in model.pieces_between(lane, start, end) {
            let (from, to) = (piece.start.max(start), piece.end.min(end));
            self.add(IdleClass::NothingLaunched, at, from, NO_NAME);
            let name = self.name(piece.node);
            let class = match model.wait_of(piece) {
                Some(WaitFor::Rank(_)) => IdleClass::SlowerRank,
                Some(WaitFor::Lane(other)) if self.is_other_stream(other) => IdleClass::OtherStream,
                _ if self.communicates(piece.node) => IdleClass::Communication,
                _ => IdleClass::NothingLaunched,
            };
            self.add(class, from, to, name);
            at = to;
        }
        self.add(IdleClass::NothingLaunched, at, end, NO_NAME);
    }

    fn is_other_stream(&self, lane: u32) -> bool {
        self.model.lanes.kind(lane) == LaneKind::Device && !self.own.contains(&lane)
    }

    /// Time in which the work waited for an entry of another stream.
    fn on_stream(&mut self, source: u32, start: i64, end: i64) {
        let model = self.model;
        let name = self.name(source);
        let class = if self.communicates(source) {
            IdleClass::Communication
        } else {
            IdleClass::OtherStream
        };
        let Some(lane) = model.lanes.of_entry(source as usize) else {
            return self.add(class, start, end, name);
        };
        let mut at = start;
        for (piece, _) in model.pieces_between(lane, start, end) {
            if let Some(WaitFor::Rank(_)) = model.wait_of(piece) {
                let (from, to) = (piece.start.max(start), piece.end.min(end));
                self.add(class, at, from, name);
                self.add(IdleClass::SlowerRank, from, to, name);
                at = to;
            }
        }
        self.add(class, at, end, name);
    }

    fn communicates(&mut self, node: u32) -> bool {
        let entries = self.model.trace.entry_count();
        (node as usize) < entries && {
            let view = self.model.trace.view(node as usize);
            self.communication.holds(&view)
        }
    }

    fn add(&mut self, class: IdleClass, start: i64, end: i64, name: u32) {
        if start < end {
            let ns = end.abs_diff(start);
            let sum = &mut self.sums[class as usize];
            add_ns(&mut sum.ns, ns);
            let name = name as usize;
            if name >= sum.by_name.len() {
                sum.by_name.resize(name + 1, 0);
            }
            add_ns(&mut sum.by_name[name], ns);
            if let Some(times) = &mut self.times {
                times[class as usize].push((start, end));
            }
        }
    }
}

//! Launches, synchronisations and stream waits, from the calls into a device's runtime.

use super::call::{Call, Calls};
use super::edge::Found;
use super::lane::{LaneKind, Lanes};
use super::wait::{Wait, WaitFor};
use super::work::{DeviceWork, Work};
use crate::analyze::forest::NONE;
use crate::analyze::nesting::parent_index;
use crate::model::hash::FastMap;
use crate::model::{OpKind, RuntimeCall, TraceView};
use std::collections::HashSet;
use std::rc::Rc;

/// The effect of a runtime call on threads and streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    /// The caller waits until all streams of the device are done.
    DeviceSync,
    /// The caller waits for one stream or one event.
    StreamSync,
    /// A stream waits for an event; the caller does not.
    StreamWait,
    /// A copy. The caller waits for it if the copy ended before the call.
    Copy,
    Other,
}

impl CallKind {
    /// Recognises the effect by the name of the function. CUDA, HIP and other runtimes use similar names.
    pub(super) fn of(name: &str) -> CallKind {
        let name = name.to_ascii_lowercase();
        let has = |part: &str| name.contains(part);
        if has("waitevent") {
            CallKind::StreamWait
        } else if has("synchronize") {
            if has("device") || has("ctx") || has("context") {
                CallKind::DeviceSync
            } else {
                CallKind::StreamSync
            }
        } else if has("memcpy") {
            CallKind::Copy
        } else if ["cudafree", "hipfree", "cumemfree_v2", "cumemfree"].contains(&name.as_str()) {
            // Freeing memory waits for the device, unless the free is queued (`cudaFreeAsync`).
            CallKind::DeviceSync
        } else {
            CallKind::Other
        }
    }
}

/// The work on another stream that a device entry had to wait for.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamWait {
    /// The entry waited for.
    pub(super) source: u32,
    pub(super) source_end: i64,
}

/// Finds launches, synchronisations and stream waits.
pub(super) struct Syncs<'m, 'a> {
    pub(super) lanes: &'m Lanes<'a>,
    pub(super) work: &'m DeviceWork,
    pub(super) calls: &'m Calls<'a>,
    pub(super) streams: FastMap<Option<u32>, Rc<[u32]>>,
    /// By the device entry that waits.
    pub(super) stream_waits: FastMap<u32, StreamWait>,
    /// Stream waits whose event the trace does not name.
    pub(super) unnamed_events: usize,
    pub(super) found: &'m mut Found,
}

impl Syncs<'_, '_> {
    pub(super) fn find<T: TraceView + ?Sized>(&mut self, trace: &T) {
        self.launches();
        let work = self.work;
        let by_call = work.by_call();
        let launched = |call: usize| {
            let first = by_call.partition_point(|one| (one.0 as usize) < call);
            let own = by_call[first..].iter();
            own.take_while(move |one| one.0 as usize == call)
                .filter_map(|&(_, lane, index)| {
                    let work = work.lane(lane)?.works.get(index as usize)?;
                    Some((lane, *work))
                })
        };
        // By thread: the time at which it requested that a stream waits for an event that is not named.
        let mut pending: FastMap<u32, i64> = FastMap::default();
        for (number, call) in trace.runtime_calls().enumerate() {
            let Call {
                lane: host, kind, ..
            } = self.calls.all[number];
            if host == NONE {
                continue;
            }
            match kind {
                CallKind::DeviceSync | CallKind::StreamSync => self.sync(number, &call, host),
                CallKind::Copy => {
                    if let Some((lane, work)) = launched(number).last() {
                        self.blocking_copy(&call, host, lane, &work);
                    }
                }
                CallKind::StreamWait if call.event_stream.is_some() => self.named_wait(&call),
                CallKind::StreamWait => {
                    self.unnamed_events += 1;
                    pending.insert(host, call.start_ns);
                }
                CallKind::Other => {}
            }
            if pending.contains_key(&host)
                && let Some((lane, work)) = launched(number).min_by_key(|(_, work)| work.start)
                && let Some(asked_at) = pending.remove(&host)
            {
                self.unnamed_wait(call.rank, lane, &work, asked_at);
            }
        }
        if !self.calls.synchronise() {
            self.waiting_ops(trace);
        }
        self.own_syncs();
    }

    /// Ops with the option `sync` wait for their device.
    fn own_syncs(&mut self) {
        let work = self.work;
        for lane in self.lanes.synchronised_lanes() {
            for one in work.lane(lane).map_or(&[][..], |lane| &lane.works) {
                let Some(host) = self.lanes.of_entry(one.entry as usize) else {
                    continue;
                };
                self.found.edge(lane, one.end, host, one.end);
                self.found.waits.push(Wait {
                    lane: host,
                    start: one.start,
                    end: one.end,
                    target: WaitFor::Lane(lane),
                    only: NONE,
                    node: one.entry,
                });
            }
        }
    }

    /// Launch → device work.
    fn launches(&mut self) {
        self.found.edges.reserve_exact(self.work.all().count());
        for (lane, work) in self.work.all() {
            if let Some(launch) = work.launch {
                self.found.edge(launch.lane, launch.end, lane, work.start);
            }
        }
    }

    /// The caller waits for the work that had been launched and had not ended.
    fn sync(&mut self, number: usize, call: &RuntimeCall<'_>, host: u32) {
        let (start, end) = (call.start_ns, call.end_ns());
        let all = self.calls.all[number].kind == CallKind::DeviceSync;
        // An event covers the work that had been launched when it was recorded.
        let recorded = call.event.and_then(|event| self.calls.all.get(event));
        let launched_by = recorded.map_or(start, |event| event.start);
        let named = [call.event_stream, call.stream]
            .into_iter()
            .flatten()
            .find_map(|stream| self.lanes.of_thread(call.rank, Some(stream)));
        let is_named = call.event_stream.is_some() || call.stream.is_some();
        if !all && is_named && named.is_none() {
            // Nothing ran on the stream.
            return;
        }
        let mut last: Option<(u32, i64)> = None;
        for &lane in &*self.streams(call.rank) {
            if named.is_some_and(|named| named != lane) {
                continue;
            }
            let Some(works) = self.work.lane(lane) else {
                continue;
            };
            let work = if all || named.is_some() {
                works.launched_until(launched_by)
            } else {
                works.ended_until(launched_by, end)
            };
            let Some(done) = work.map(|work| work.end).filter(|&done| done > start) else {
                continue;
            };
            let done = done.min(end);
            if all || named.is_some() {
                self.found.edge(lane, done, host, end);
            }
            if last.is_none_or(|(_, known)| done > known) {
                last = Some((lane, done));
            }
        }
        let Some((lane, done)) = last else { return };
        if !all && named.is_none() {
            // The stream is not recorded. The stream whose work ended last is assumed to have ended the wait.
            self.found.edge(lane, done, host, end);
        }
        self.wait(host, (start, end), lane);
    }

    fn blocking_copy(&mut self, call: &RuntimeCall<'_>, host: u32, lane: u32, copy: &Work) {
        if copy.end > call.end_ns() {
            return;
        }
        // If work is before it on its stream, the caller waits from the start; otherwise the caller first prepares the
        // copy.
        let before = self.work.lane(lane).and_then(|works| {
            let index = works.works.partition_point(|work| work.start < copy.start);
            works.works.get(index.checked_sub(1)?)
        });
        let queued = before.is_some_and(|before| before.end > call.start_ns);
        let start = if queued { call.start_ns } else { copy.start };
        self.found.edge(lane, copy.end, host, copy.end);
        self.wait(host, (start.max(call.start_ns), copy.end), lane);
    }

    /// A stream waits for an event whose stream is known.
    fn named_wait(&mut self, call: &RuntimeCall<'_>) {
        let recorded = call.event.and_then(|event| self.calls.all.get(event));
        let recorded_at = recorded.map_or(call.start_ns, |event| event.start);
        let lane_of = |stream: Option<u64>| self.lanes.of_thread(call.rank, Some(stream?));
        let (Some(to), Some(from)) = (lane_of(call.stream), lane_of(call.event_stream)) else {
            return;
        };
        let waiting = self
            .work
            .lane(to)
            .and_then(|works| works.launched_after(call.start_ns));
        let source = self
            .work
            .lane(from)
            .and_then(|works| works.launched_until(recorded_at));
        if let (Some(waiting), Some(source)) = (waiting, source) {
            self.stream_wait(to, *waiting, from, *source);
        }
    }

    /// The next work that a thread launches waits for an event that is not named. Candidates are the work that had been
    /// launched on other streams when the wait was requested; the event is assumed to be the one that ended last.
    fn unnamed_wait(&mut self, rank: Option<u32>, to: u32, waiting: &Work, asked_at: i64) {
        let mut last: Option<(u32, Work)> = None;
        for &lane in &*self.streams(rank) {
            if lane == to {
                continue;
            }
            if let Some(works) = self.work.lane(lane)
                && let Some(work) = works.ended_until(asked_at, waiting.start)
                && last.is_none_or(|(_, known)| work.end > known.end)
            {
                last = Some((lane, *work));
            }
        }
        if let Some((from, source)) = last {
            self.stream_wait(to, *waiting, from, source);
        }
    }

    fn stream_wait(&mut self, to: u32, waiting: Work, from: u32, source: Work) {
        if from == to {
            return;
        }
        self.found.edge(from, source.end, to, waiting.start);
        let known = self
            .stream_waits
            .entry(waiting.entry)
            .or_insert(StreamWait {
                source: source.entry,
                source_end: source.end,
            });
        if source.end > known.source_end {
            *known = StreamWait {
                source: source.entry,
                source_end: source.end,
            };
        }
    }

    /// If no synchronisation was traced, ops that read a value of the device wait for its copy.
    fn waiting_ops<T: TraceView + ?Sized>(&mut self, trace: &T) {
        let reads: HashSet<&str> = ["aten::item", "aten::_local_scalar_dense"].into();
        for (lane, work) in self.work.all() {
            let view = trace.view(work.entry as usize);
            if view.kind() != Some(OpKind::Memory) {
                continue;
            }
            let Some(op) = parent_index(trace, work.entry as usize, &view) else {
                continue;
            };
            let above = trace.view(op);
            let (Some(host), Some(until)) = (self.lanes.of_entry(op), above.end_ns()) else {
                continue;
            };
            let launched = work.launch.map_or(work.start, |launch| launch.end);
            if reads.contains(above.operation()) && work.end <= until && launched < work.end {
                self.found.edge(lane, work.end, host, work.end);
                self.found.waits.push(Wait {
                    lane: host,
                    start: launched,
                    end: work.end,
                    target: WaitFor::Lane(lane),
                    only: NONE,
                    node: op as u32,
                });
            }
        }
    }

    fn wait(&mut self, host: u32, (start, end): (i64, i64), lane: u32) {
        self.found.waits.push(Wait {
            lane: host,
            start,
            end,
            target: WaitFor::Lane(lane),
            only: NONE,
            node: NONE,
        });
    }

    /// The device lanes of a rank.
    fn streams(&self, rank: Option<u32>) -> Rc<[u32]> {
        self.streams.get(&rank).cloned().unwrap_or_default()
    }
}

/// The device lanes of each rank.
pub(super) fn streams_by_rank(lanes: &Lanes<'_>) -> FastMap<Option<u32>, Rc<[u32]>> {
    let mut streams: FastMap<Option<u32>, Vec<u32>> = FastMap::default();
    for lane in lanes.numbers(LaneKind::Device) {
        let rank = lanes.all[lane as usize].rank;
        streams.entry(rank).or_default().push(lane);
    }
    streams
        .into_iter()
        .map(|(rank, lanes)| (rank, lanes.into()))
        .collect()
}

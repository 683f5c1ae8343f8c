//! Device work with its launch, for questions such as "what had been launched on this stream at that time?".

use super::call::Call;
use super::lane::{LaneKind, Lanes};
use super::piece::Order;
use crate::analyze::forest::NONE;
use crate::analyze::nesting::parent_index;
use crate::model::{EntryView, TraceView};

/// The launch of a piece of device work: its lane and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LaunchPoint {
    /// The host lane that launched it.
    pub(super) lane: u32,
    /// The number of the runtime call; [`NONE`] if only the op that made it is known.
    pub(super) call: u32,
    pub(super) start: i64,
    pub(super) end: i64,
}

/// One entry on a device lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) entry: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) launch: Option<LaunchPoint>,
}

impl Work {
    /// The time of its launch; its own start if that is unknown.
    pub(super) fn launched_at(&self) -> i64 {
        self.launch.map_or(self.start, |launch| launch.start)
    }
}

/// The work of each device lane.
#[derive(Debug, Default)]
pub(super) struct DeviceWork {
    /// By the number of the lane; empty for host threads.
    by_lane: Vec<LaneWork>,
}

/// The work of one device lane, by start and by launch.
#[derive(Debug, Default)]
pub(super) struct LaneWork {
    /// In the order of their starts.
    pub(super) works: Vec<Work>,
    /// Indices into `works` in the order of their launches.
    by_launch: Vec<u32>,
    /// For each position of `by_launch`: of the works up to that position, the one that ends last.
    last_to_end: Vec<u32>,
}

impl DeviceWork {
    pub(super) fn of<'a, T: TraceView + ?Sized>(
        trace: &'a T,
        lanes: &Lanes<'a>,
        calls: &[Call],
        order: &Order,
    ) -> DeviceWork {
        let mut call_of: Vec<u32> = Vec::new();
        for launch in trace.launches() {
            if let Some(index) = trace.index_of_step(launch.step)
                && launch.call < calls.len()
            {
                if call_of.is_empty() {
                    call_of = vec![NONE; trace.entry_count()];
                }
                call_of[index] = launch.call as u32;
            }
        }
        let mut work = DeviceWork::default();
        let counts = lanes.entry_counts().into_iter().zip(&lanes.all);
        work.by_lane
            .extend(counts.map(|(count, lane)| match lane.kind {
                LaneKind::Device => LaneWork {
                    works: Vec::with_capacity(count),
                    ..LaneWork::default()
                },
                LaneKind::Host | LaneKind::Task => LaneWork::default(),
            }));
        for entry in order.iter() {
            let index = entry as usize;
            let Some(lane) = lanes.of_entry(index) else {
                continue;
            };
            if lanes.synchronises() {
                work.synchronised(lanes, lane, entry, &trace.view(index));
            }
            if lanes.kind(lane) != LaneKind::Device {
                continue;
            }
            let view = trace.view(index);
            let Some((start, end)) = view.start_ns().zip(view.end_ns()) else {
                continue;
            };
            let call = call_of.get(index).copied().unwrap_or(NONE);
            let launch = match calls.get(call as usize) {
                Some(made) => (made.lane != NONE).then_some(LaunchPoint {
                    lane: made.lane,
                    call,
                    start: made.start,
                    end: made.end,
                }),
                None => launching_op(trace, lanes, index, &view),
            };
            work.by_lane[lane as usize].works.push(Work {
                entry,
                start,
                end,
                launch: launch.filter(|launch| launch.start <= start),
            });
        }
        for lane in &mut work.by_lane {
            lane.works.shrink_to_fit();
            lane.sort();
        }
        work
    }

    /// Adds the work that an op with the option `sync` launched and waited for. Its start on the device is not known,
    /// so it is assumed to start when the op began to wait.
    fn synchronised<'a>(&mut self, lanes: &Lanes<'a>, host: u32, entry: u32, view: &EntryView<'a>) {
        if let Some((lane, start, end)) = lanes.sync_of(view) {
            self.by_lane[lane as usize].works.push(Work {
                entry,
                start,
                end,
                launch: view.start_ns().map(|launched_at| LaunchPoint {
                    lane: host,
                    call: NONE,
                    start: launched_at,
                    end: start,
                }),
            });
        }
    }

    pub(super) fn lane(&self, lane: u32) -> Option<&LaneWork> {
        let known = self.by_lane.get(lane as usize);
        known.filter(|lane| !lane.works.is_empty())
    }

    /// The launched work by the number of its call: call, lane, index in the lane.
    pub(super) fn by_call(&self) -> Vec<(u32, u32, u32)> {
        let mut by_call: Vec<(u32, u32, u32)> = Vec::new();
        for (lane, work) in (0..).zip(&self.by_lane) {
            let launched = (0..).zip(&work.works).filter_map(|(index, work)| {
                let call = work.launch?.call;
                (call != NONE).then_some((call, lane, index))
            });
            by_call.extend(launched);
        }
        by_call.sort_unstable();
        by_call
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &Work)> {
        (0..)
            .zip(&self.by_lane)
            .flat_map(|(lane, work)| work.works.iter().map(move |work| (lane, work)))
    }
}

/// The op on a host lane that launched an entry, if no runtime call is known.
fn launching_op<T: TraceView + ?Sized>(
    trace: &T,
    lanes: &Lanes<'_>,
    index: usize,
    view: &EntryView<'_>,
) -> Option<LaunchPoint> {
    let parent = parent_index(trace, index, view)?;
    let lane = lanes.of_entry(parent)?;
    if lanes.kind(lane) == LaneKind::Device {
        return None;
    }
    let op = trace.view(parent);
    let (start, end) = op.start_ns().zip(op.end_ns())?;
    Some(LaunchPoint {
        lane,
        call: NONE,
        start,
        end,
    })
}

impl LaneWork {
    fn sort(&mut self) {
        // Ops of two threads can wait for one device.
        self.works.sort_by_key(|work| work.start);
        self.by_launch = (0..self.works.len() as u32).collect();
        let launched_at = |&work: &u32| self.works[work as usize].launched_at();
        if !self.by_launch.iter().map(launched_at).is_sorted() {
            let works = &self.works;
            self.by_launch
                .sort_by_key(|&work| works[work as usize].launched_at());
        }
        let mut last: Option<u32> = None;
        self.last_to_end = self
            .by_launch
            .iter()
            .map(|&work| {
                let end = |work: u32| self.works[work as usize].end;
                let winner = match last {
                    Some(last) if end(last) > end(work) => last,
                    _ => work,
                };
                last = Some(winner);
                winner
            })
            .collect();
    }

    /// The work of an entry.
    pub(super) fn of_entry(&self, entry: u32, start: i64) -> Option<&Work> {
        let first = self.works.partition_point(|work| work.start < start);
        let same = self.works[first..].iter();
        same.take_while(|work| work.start == start)
            .find(|work| work.entry == entry)
    }

    /// Of the work launched at `at` or before, the one that ends last.
    pub(super) fn launched_until(&self, at: i64) -> Option<&Work> {
        let position = self.position(at).checked_sub(1)?;
        Some(&self.works[self.last_to_end[position] as usize])
    }

    /// The first work launched after `at`.
    pub(super) fn launched_after(&self, at: i64) -> Option<&Work> {
        let work = *self.by_launch.get(self.position(at))?;
        Some(&self.works[work as usize])
    }

    /// The work in the order of its launches.
    pub(super) fn in_launch_order(&self) -> impl Iterator<Item = &Work> {
        self.by_launch
            .iter()
            .map(|&work| &self.works[work as usize])
    }

    /// Of the work launched at `launched` or before, the one that ends last but not after `until`.
    pub(super) fn ended_until(&self, launched: i64, until: i64) -> Option<&Work> {
        // Streams run their work in order, so the search goes backwards and the first match is the answer.
        let position = self.position(launched);
        let positions = self.by_launch[..position].iter().rev();
        positions
            .map(|&work| &self.works[work as usize])
            .find(|work| work.end <= until)
    }

    fn position(&self, at: i64) -> usize {
        self.by_launch
            .partition_point(|&work| self.works[work as usize].launched_at() <= at)
    }
}

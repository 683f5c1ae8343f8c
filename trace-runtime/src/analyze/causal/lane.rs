//! Lanes: host threads, streams of devices and async tasks. A lane does one thing at a time.

use crate::analyze::device_time::is_accelerator;
use crate::analyze::forest::NONE;
use crate::model::hash::FastMap;
use crate::model::{EntryView, PauseKind, TraceView};
use std::collections::{HashMap, HashSet};

/// The kind of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LaneKind {
    /// A host thread.
    Host,
    /// A stream of a device: work runs on it in the order in which it was launched.
    Device,
    /// One async op, which moves between threads and can be suspended.
    Task,
}

impl LaneKind {
    /// `host`, `device` or `task`.
    pub fn name(self) -> &'static str {
        match self {
            LaneKind::Host => "host",
            LaneKind::Device => "device",
            LaneKind::Task => "task",
        }
    }
}

/// One lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane<'a> {
    pub(super) kind: LaneKind,
    pub(super) rank: Option<u32>,
    pub(super) thread: Option<u64>,
    /// The device of a device lane.
    pub(super) device: Option<&'a str>,
    /// The name of its thread.
    pub(super) name: Option<&'a str>,
}

impl Lane<'_> {
    /// The name of its thread, else its number.
    pub(super) fn plain_label(&self) -> String {
        match (self.name, self.thread) {
            (Some(name), _) => name.to_owned(),
            (None, Some(thread)) => format!("thread {thread}"),
            (None, None) => "thread".to_owned(),
        }
    }
}

/// All lanes of a trace, and the lane of each entry.
#[derive(Debug)]
pub(super) struct Lanes<'a> {
    pub(super) all: Vec<Lane<'a>>,
    /// By entry; [`NONE`] for entries without a start and for rows that repeat the time of others.
    of_entry: Vec<u32>,
    by_thread: FastMap<(Option<u32>, Option<u64>), u32>,
    /// The lanes of devices that ops with the option `sync` waited for, by rank and device.
    synchronised: HashMap<(Option<u32>, Option<&'a str>), u32>,
    /// Number of ranks.
    ranks: usize,
}

/// The lane number of a thread whose rows repeat the time of other rows.
const REPEATED: u32 = NONE - 1;

impl<'a> Lanes<'a> {
    pub(super) fn of<T: TraceView + ?Sized>(trace: &'a T) -> Lanes<'a> {
        let mut lanes = Lanes {
            all: Vec::new(),
            of_entry: Vec::with_capacity(trace.entry_count()),
            by_thread: FastMap::default(),
            synchronised: HashMap::new(),
            ranks: 0,
        };
        let mut callers = HashSet::new();
        let mut last = None;
        for call in trace.runtime_calls() {
            // Consecutive calls are mostly of one thread.
            let caller = (call.rank, call.thread);
            if last != Some(caller) {
                callers.insert(caller);
                last = Some(caller);
            }
        }
        let mut last = None;
        for view in trace.views() {
            if view.start_ns().is_none() {
                lanes.of_entry.push(NONE);
                continue;
            }
            let key = (view.rank(), view.thread());
            // Consecutive entries are mostly of one thread.
            let thread = match last {
                Some((known, lane)) if known == key => lane,
                _ => lanes.thread(trace, key, &view, callers.contains(&key)),
            };
            last = Some((key, thread));
            let lane = if view.suspended_ns() > 0 && thread != REPEATED {
                lanes.task(&view)
            } else {
                thread
            };
            lanes
                .of_entry
                .push(if lane == REPEATED { NONE } else { lane });
            if sync_span(&view).is_some() {
                lanes.synchronised(&view);
            }
        }
        for key in callers {
            lanes.by_thread.entry(key).or_insert_with(|| {
                lanes.all.push(Lane {
                    kind: LaneKind::Host,
                    rank: key.0,
                    thread: key.1,
                    device: None,
                    name: key.1.and_then(|thread| trace.thread_name(key.0, thread)),
                });
                lanes.all.len() as u32 - 1
            });
        }
        for launch in trace.launches() {
            let Some(index) = trace.index_of_step(launch.step) else {
                continue;
            };
            let view = trace.view(index);
            if let Some(lane) = lanes.all.get_mut(lanes.of_entry[index] as usize)
                && is_accelerator(&view)
            {
                lane.kind = LaneKind::Device;
                lane.device = lane.device.or(view.device_id());
            }
        }
        let ranks: HashSet<_> = lanes.all.iter().map(|lane| lane.rank).collect();
        lanes.ranks = ranks.len();
        lanes
    }

    fn thread<T: TraceView + ?Sized>(
        &mut self,
        trace: &'a T,
        key: (Option<u32>, Option<u64>),
        first: &EntryView<'a>,
        calls: bool,
    ) -> u32 {
        if let Some(&known) = self.by_thread.get(&key) {
            return known;
        }
        let name = key.1.and_then(|thread| trace.thread_name(key.0, thread));
        // Readers name the rows of interpreter frames and runtime calls after the thread of the ops.
        let repeats = name.is_some_and(|name| {
            name.ends_with(", python") || (name.ends_with(", runtime") && !calls)
        });
        let lane = if repeats {
            REPEATED
        } else {
            // Readers name a stream after its device.
            let on = first.device_id().filter(|_| is_accelerator(first));
            let device = on.filter(|device| {
                let rest = name.and_then(|name| name.strip_prefix(device));
                rest.is_some_and(|rest| rest.starts_with(' '))
            });
            self.all.push(Lane {
                kind: match device {
                    Some(_) => LaneKind::Device,
                    None => LaneKind::Host,
                },
                rank: key.0,
                thread: key.1,
                device,
                name,
            });
            self.all.len() as u32 - 1
        };
        self.by_thread.insert(key, lane);
        lane
    }

    fn task(&mut self, view: &EntryView<'a>) -> u32 {
        self.all.push(Lane {
            kind: LaneKind::Task,
            rank: view.rank(),
            thread: None,
            device: None,
            name: Some(view.operation()),
        });
        self.all.len() as u32 - 1
    }

    fn synchronised(&mut self, view: &EntryView<'a>) {
        let device = view.device_id().filter(|_| is_accelerator(view));
        let key = (view.rank(), device);
        self.synchronised.entry(key).or_insert_with(|| {
            self.all.push(Lane {
                kind: LaneKind::Device,
                rank: key.0,
                thread: None,
                device,
                name: Some(device.unwrap_or("device")),
            });
            self.all.len() as u32 - 1
        });
    }

    /// The lane of the device that an op with the option `sync` waited for, and when it waited.
    pub(super) fn sync_of(&self, view: &EntryView<'a>) -> Option<(u32, i64, i64)> {
        let (start, end) = sync_span(view)?;
        let device = view.device_id().filter(|_| is_accelerator(view));
        let lane = self.synchronised.get(&(view.rank(), device))?;
        Some((*lane, start, end))
    }

    /// The lanes of devices that ops with the option `sync` waited for.
    pub(super) fn synchronised_lanes(&self) -> Vec<u32> {
        let mut lanes: Vec<u32> = self.synchronised.values().copied().collect();
        lanes.sort_unstable();
        lanes
    }

    /// True if some op has the option `sync`.
    pub(super) fn synchronises(&self) -> bool {
        !self.synchronised.is_empty()
    }

    /// The lane of an entry; `None` for entries that are not in the model.
    pub(super) fn of_entry(&self, index: usize) -> Option<u32> {
        self.of_entry
            .get(index)
            .copied()
            .filter(|&lane| lane != NONE)
    }

    /// The number of entries of each lane. Lists with an item per entry reserve their memory: while they grow, the list
    /// and its copy are in memory, and the holes that are left are as large as the list.
    pub(super) fn entry_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.all.len()];
        for &lane in &self.of_entry {
            if let Some(count) = counts.get_mut(lane as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// The lane of a thread.
    pub(super) fn of_thread(&self, rank: Option<u32>, thread: Option<u64>) -> Option<u32> {
        let lane = self.by_thread.get(&(rank, thread)).copied()?;
        (lane != REPEATED).then_some(lane)
    }

    pub(super) fn kind(&self, lane: u32) -> LaneKind {
        self.all[lane as usize].kind
    }

    /// Numbers of the lanes of a kind.
    pub(super) fn numbers(&self, kind: LaneKind) -> impl Iterator<Item = u32> {
        (0..)
            .zip(&self.all)
            .filter(move |(_, lane)| lane.kind == kind)
            .map(|(number, _)| number)
    }

    /// The name of a lane in results: the name of its thread, else its number; with its rank if there are several.
    pub(super) fn label(&self, lane: u32) -> String {
        let lane = &self.all[lane as usize];
        let label = lane.plain_label();
        match lane.rank {
            Some(rank) if self.ranks > 1 => format!("rank {rank}, {label}"),
            _ => label,
        }
    }
}

/// The time in which an op ran the expression of its option `sync`, that is, waited for its device.
pub(super) fn sync_span(view: &EntryView<'_>) -> Option<(i64, i64)> {
    let mut pauses = view.pauses().iter();
    let pause = pauses.find(|pause| pause.kind == PauseKind::Sync)?;
    let (first, last) = view.start_ns().zip(view.end_ns())?;
    let start = first.saturating_add_unsigned(pause.start_ns).min(last);
    let end = start.saturating_add_unsigned(pause.length_ns).min(last);
    (start < end).then_some((start, end))
}

//! The causes of the idle time of each device and each of its streams.

use super::CausalModel;
use super::idle_causes::{Causes, Device};
use crate::analyze::device_time::is_accelerator;
use crate::analyze::forest::NONE;
use crate::analyze::intervals::{Intervals, SaturatingSum as _};
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::BTreeMap;

/// The cause of idle time of a device.
///
/// The idle time before a piece of work is divided at the moments of its launch. Before the launch call began, nothing
/// had been launched. During the call, and from its end to the start of the work, the work was launched late or waited
/// for an event of another stream. A launch takes microseconds: if the device is idle for more than a millisecond after
/// the call, the work was held up by something that is not in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum IdleClass {
    /// Nothing had been launched: the host was busy with something else.
    NothingLaunched,
    /// The work had been launched and had not begun.
    LaunchDelay,
    /// The work had been launched and began much later than a launch takes; the trace does not show why.
    HeldUp,
    /// The work waited for an event of another stream, or for a copy; or the host waited for another stream or
    /// device before it launched the work.
    OtherStream,
    /// The work waited for communication, or the host communicated before it launched.
    Communication,
    /// The device waited for a rank that arrived late at a collective.
    SlowerRank,
    /// The trace does not have the launch of the work.
    Unknown,
}

impl IdleClass {
    /// All classes, in the order in which reports show them.
    pub const ALL: [IdleClass; 7] = [
        IdleClass::NothingLaunched,
        IdleClass::LaunchDelay,
        IdleClass::HeldUp,
        IdleClass::OtherStream,
        IdleClass::Communication,
        IdleClass::SlowerRank,
        IdleClass::Unknown,
    ];

    /// The class in a few words.
    pub fn name(self) -> &'static str {
        match self {
            IdleClass::NothingLaunched => "nothing launched",
            IdleClass::LaunchDelay => "launch delay",
            IdleClass::HeldUp => "held up for an unknown reason",
            IdleClass::OtherStream => "waiting for another stream",
            IdleClass::Communication => "waiting for communication",
            IdleClass::SlowerRank => "waiting for a slower rank",
            IdleClass::Unknown => "launch unknown",
        }
    }
}

/// The idle time of one device by cause, in nanoseconds. The causes add up to `idle_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeviceIdle {
    /// The rank of the device.
    pub rank: Option<u32>,
    /// The device.
    pub device: String,
    /// The time from the first start to the last end, in nanoseconds.
    pub span_ns: u64,
    /// Time in which at least one entry ran on the device.
    pub busy_ns: u64,
    /// Time of the span in which no entry ran.
    pub idle_ns: u64,
    /// The causes that have any time, longest first.
    pub causes: Vec<IdleCause>,
    /// The idle time of each stream of the device, within the span of the stream. Empty if the device's work is
    /// recorded on host threads.
    pub streams: Vec<StreamIdle>,
}

json_struct!(DeviceIdle {
    required: [device, span_ns, busy_ns, idle_ns, causes, streams],
    optional: [rank],
});

impl DeviceIdle {
    /// The idle time of a class.
    pub fn of(&self, class: IdleClass) -> u64 {
        let named = self
            .causes
            .iter()
            .filter(|cause| cause.cause == class.name());
        named.map(|cause| cause.ns).saturating_sum()
    }
}

/// The idle time of one stream by cause, in nanoseconds. The causes add up to `idle_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StreamIdle {
    /// The name of the stream.
    pub stream: String,
    /// The time from the first start to the last end, in nanoseconds.
    pub span_ns: u64,
    /// Time of the span in which nothing ran on the stream.
    pub idle_ns: u64,
    /// The causes that have any time, longest first.
    pub causes: Vec<IdleCause>,
}

json_struct!(StreamIdle {
    required: [stream, span_ns, idle_ns, causes],
    optional: [],
});

/// Idle time of one class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct IdleCause {
    /// The class: see [`IdleClass::name`].
    pub cause: String,
    /// The time, in nanoseconds.
    pub ns: u64,
    /// The ops that ran on the launching thread during that time, or that the work waited for; longest first, at most
    /// [`MOST_OPS`](Self::MOST_OPS). Time outside ops has an empty name. Empty for a launch delay.
    pub ops: Vec<(String, u64)>,
}

json_struct!(IdleCause {
    required: [cause, ns, ops],
    optional: [],
});

impl IdleCause {
    /// The longest list of ops.
    pub const MOST_OPS: usize = 8;
}

/// The times at which a device was idle, by class.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdleTimes {
    /// The rank it belongs to.
    pub(crate) rank: Option<u32>,
    pub(crate) device: String,
    /// False if the trace does not have the launches of its work.
    pub(crate) launches_known: bool,
    /// The idle times of each class, within the span of the device and in order.
    pub(crate) by_class: BTreeMap<IdleClass, Intervals>,
}

impl IdleTimes {
    /// The times at which it was idle although work had been launched. All other idle time is caused by the host,
    /// including the time before the first work and after the last.
    pub(crate) fn launched(&self) -> Intervals {
        let others = self.by_class.iter();
        others
            .filter(|class| *class.0 != IdleClass::NothingLaunched)
            .flat_map(|class| class.1.as_slice().iter().copied())
            .collect()
    }
}

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// The causes of the idle time of each device other than `cpu`, by rank and name.
    pub fn idle_causes(&self) -> Vec<DeviceIdle> {
        self.idle().into_iter().map(|device| device.0).collect()
    }

    /// The causes for each device, with the times at which it was idle.
    pub(crate) fn idle(&self) -> Vec<(DeviceIdle, IdleTimes)> {
        let mut devices: BTreeMap<(Option<u32>, &str), Device> = BTreeMap::new();
        for entry in self.order.iter() {
            let view = self.trace.view(entry as usize);
            let Some(device) = view.device_id().filter(|_| is_accelerator(&view)) else {
                continue;
            };
            if view.start_ns().is_none() {
                continue;
            }
            let lane = self.lanes.of_entry(entry as usize).unwrap_or(NONE);
            let known = devices.entry((view.rank(), device)).or_default();
            if known.lanes.last() != Some(&lane) && !known.lanes.contains(&lane) {
                known.lanes.push(lane);
            }
            for (start, end) in self.tasks.stretches(entry as usize, &view) {
                if view.suspended_ns() > 0 {
                    known.add_later(start, end, entry);
                } else {
                    known.add(start, end, entry);
                }
            }
        }
        let mut causes = Causes::new(self);
        devices
            .into_iter()
            .map(|((rank, device), mut known)| {
                known.finish();
                causes.device(rank, device, &known)
            })
            .collect()
    }
}

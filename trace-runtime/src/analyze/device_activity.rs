//! The busy time of each device by kind of work, and its exposed communication.

use super::communication::CommunicationRule;
use super::grouping::Grouping;
use super::intervals::Intervals;
use super::own_time::own_stretches;
use super::structure::Structure;
use crate::model::hash::FastMap;
use crate::model::json_struct::json_struct;
use crate::model::{OpKind, TraceView};
use std::collections::BTreeMap;

/// The busy and idle time of one device in nanoseconds, as lengths of unions of intervals.
///
/// At each moment, the innermost op of a thread decides whether the time is *compute*, *communication* or *memory*. So
/// an op around a collective does not compute while the collective runs. An async op counts only while it runs.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct DeviceActivity {
    /// The rank of the device.
    pub rank: Option<u32>,
    /// The device; empty for all accelerators of the rank together.
    pub device: String,
    /// Number of entries that ran on it.
    pub entries: usize,
    /// The time from the first start to the last end, in nanoseconds.
    pub span_ns: u64,
    /// Time in which at least one entry ran on the device.
    pub busy_ns: u64,
    /// Time of the span in which no entry ran.
    pub idle_ns: u64,
    /// Time in which it computed.
    pub compute_ns: u64,
    /// Time in which it communicated.
    pub communication_ns: u64,
    /// Time in which it copied or filled memory.
    pub memory_ns: u64,
    /// Time in which it communicated and computed.
    pub overlap_ns: u64,
    /// Time in which it communicated and did not compute.
    pub exposed_communication_ns: u64,
    /// Time in which it moved memory and neither computed nor communicated.
    pub exposed_memory_ns: u64,
}

json_struct!(DeviceActivity {
    required: [
        device,
        entries,
        span_ns,
        busy_ns,
        idle_ns,
        compute_ns,
        communication_ns,
        memory_ns,
        overlap_ns,
        exposed_communication_ns,
        exposed_memory_ns,
    ],
    optional: [rank],
});

impl DeviceActivity {
    /// The share of the communication that overlapped with computation; `None` if the device did not communicate.
    pub fn overlap_share(&self) -> Option<f64> {
        (self.communication_ns > 0).then(|| self.overlap_ns as f64 / self.communication_ns as f64)
    }

    /// The share of the span in which the device did nothing; 0 for an empty span.
    pub fn idle_share(&self) -> f64 {
        if self.span_ns == 0 {
            return 0.0;
        }
        self.idle_ns as f64 / self.span_ns as f64
    }
}

/// The cost of an uneven spread of work over devices.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Imbalance {
    /// Number of devices that are compared: the accelerators, or all devices if there are none.
    pub devices: usize,
    /// The busy time of the busiest device.
    pub max_busy_ns: u64,
    /// The mean busy time.
    pub mean_busy_ns: u64,
    /// `max_busy_ns - mean_busy_ns`: the most that an even spread would save.
    pub cost_ns: u64,
}

json_struct!(Imbalance {
    required: [devices, max_busy_ns, mean_busy_ns, cost_ns],
    optional: [],
});

/// The busy and idle time of all devices.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Activity {
    /// Each device of each rank, by rank and name.
    pub devices: Vec<DeviceActivity>,
    /// All accelerators of each rank together, that is every device but `cpu`.
    pub ranks: Vec<DeviceActivity>,
    /// The cost of an uneven spread of work; `None` for fewer than two devices.
    pub imbalance: Option<Imbalance>,
}

json_struct!(Activity {
    required: [devices, ranks],
    optional: [imbalance],
});

/// The busy and idle time of each device. Entries without a device or a start are left out.
pub fn activity<T: TraceView + ?Sized>(trace: &T) -> Activity {
    activity_of(&device_sets(trace, &Structure::of(trace)))
}

pub(crate) fn activity_of(devices: &[DeviceSets]) -> Activity {
    let mut whole: BTreeMap<Option<u32>, DeviceSets> = BTreeMap::new();
    for device in devices.iter().filter(|one| one.is_accelerator()) {
        let first = || DeviceSets {
            device: String::new(),
            ..device.clone()
        };
        let together = whole.entry(device.rank);
        together
            .and_modify(|rank| rank.extend(device))
            .or_insert_with(first);
    }
    let devices: Vec<DeviceActivity> = devices.iter().map(DeviceSets::measure).collect();
    Activity {
        imbalance: imbalance(&devices),
        devices,
        ranks: whole.values().map(DeviceSets::measure).collect(),
    }
}

fn imbalance(devices: &[DeviceActivity]) -> Option<Imbalance> {
    let accelerators = devices.iter().filter(|one| one.device != "cpu");
    let mut busy: Vec<u64> = accelerators.map(|one| one.busy_ns).collect();
    if busy.is_empty() {
        busy = devices.iter().map(|one| one.busy_ns).collect();
    }
    if busy.len() < 2 {
        return None;
    }
    let sum: u128 = busy.iter().map(|&one| u128::from(one)).sum();
    let max = busy.iter().copied().max().unwrap_or(0);
    let mean = (sum / busy.len() as u128) as u64;
    Some(Imbalance {
        devices: busy.len(),
        max_busy_ns: max,
        mean_busy_ns: mean,
        cost_ns: max - mean,
    })
}

/// The times at which a device was busy, by kind of work.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeviceSets {
    pub(crate) rank: Option<u32>,
    /// Empty for all accelerators of the rank together.
    pub(crate) device: String,
    pub(crate) entries: usize,
    pub(crate) busy: Intervals,
    pub(crate) compute: Intervals,
    pub(crate) communication: Intervals,
    pub(crate) memory: Intervals,
    /// First start and last end.
    pub(crate) span: (i64, i64),
}

impl DeviceSets {
    pub(crate) fn is_accelerator(&self) -> bool {
        self.device != "cpu"
    }

    fn extend(&mut self, other: &DeviceSets) {
        self.entries += other.entries;
        self.span = (self.span.0.min(other.span.0), self.span.1.max(other.span.1));
        for (own, more) in [
            (&mut self.busy, &other.busy),
            (&mut self.compute, &other.compute),
            (&mut self.communication, &other.communication),
            (&mut self.memory, &other.memory),
        ] {
            *own = own.union(more);
        }
    }

    fn measure(&self) -> DeviceActivity {
        let (busy, compute) = (self.busy.length(), self.compute.length());
        let communication = self.communication.length();
        let overlap = self.communication.intersection(&self.compute).length();
        let exposed_memory = self
            .memory
            .difference(&self.compute)
            .difference(&self.communication);
        let span = self.span.1.abs_diff(self.span.0);
        DeviceActivity {
            rank: self.rank,
            device: self.device.clone(),
            entries: self.entries,
            span_ns: span,
            busy_ns: busy,
            idle_ns: span - busy,
            compute_ns: compute,
            communication_ns: communication,
            memory_ns: self.memory.length(),
            overlap_ns: overlap,
            exposed_communication_ns: communication - overlap,
            exposed_memory_ns: exposed_memory.length(),
        }
    }
}

/// The busy times of each device, by rank and name; entries without a device or a start are left out.
pub(crate) fn device_sets<T: TraceView + ?Sized>(
    trace: &T,
    structure: &Structure,
) -> Vec<DeviceSets> {
    collect(trace, structure)
        .into_iter()
        .map(|((rank, device), lane)| lane.unite(rank, device))
        .collect()
}

/// The intervals of one device, not yet united.
#[derive(Default)]
struct DeviceIntervals {
    entries: usize,
    busy: Vec<(i64, i64)>,
    compute: Vec<(i64, i64)>,
    communication: Vec<(i64, i64)>,
    memory: Vec<(i64, i64)>,
}

impl DeviceIntervals {
    fn unite(self, rank: Option<u32>, device: &str) -> DeviceSets {
        let first = self.busy.iter().map(|span| span.0).min().unwrap_or(0);
        let last = self.busy.iter().map(|span| span.1).max().unwrap_or(0);
        let united = |spans: Vec<(i64, i64)>| spans.into_iter().collect::<Intervals>();
        DeviceSets {
            rank,
            device: device.to_owned(),
            entries: self.entries,
            busy: united(self.busy),
            compute: united(self.compute),
            communication: united(self.communication),
            memory: united(self.memory),
            span: (first, last),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum WorkKind {
    Compute,
    Communication,
    Memory,
    Neither,
}

fn collect<'a, T: TraceView + ?Sized>(
    trace: &'a T,
    structure: &Structure,
) -> BTreeMap<(Option<u32>, &'a str), DeviceIntervals> {
    let mut rule = CommunicationRule::default();
    let mut grouping = Grouping::new();
    let groups: Vec<u32> = trace
        .views()
        .map(|view| {
            grouping.group(&view, |view| {
                let device = view.device_id()?;
                let work = if rule.holds(view) {
                    WorkKind::Communication
                } else {
                    match view.kind() {
                        None | Some(OpKind::Compute) => WorkKind::Compute,
                        Some(OpKind::Memory) => WorkKind::Memory,
                        Some(_) => WorkKind::Neither,
                    }
                };
                Some((device, work))
            })
        })
        .collect();
    let mut lanes = DeviceTable::new(grouping.keys());
    for (index, view) in trace.views().enumerate() {
        if view.start_ns().is_some()
            && let Some((lane, _)) = lanes.of(view.rank(), groups[index])
        {
            lane.entries += 1;
            lane.busy.extend(structure.tasks.stretches(index, &view));
        }
    }
    own_stretches(trace, structure, |index, start, end| {
        let view = trace.view(index);
        if let Some((lane, work)) = lanes.of(view.rank(), groups[index]) {
            match work {
                WorkKind::Compute => lane.compute.push((start, end)),
                WorkKind::Communication => lane.communication.push((start, end)),
                WorkKind::Memory => lane.memory.push((start, end)),
                WorkKind::Neither => {}
            }
        }
    });
    let mut by_name = BTreeMap::new();
    for ((rank, device), slot) in lanes.slots {
        let lane = std::mem::take(&mut lanes.all[slot]);
        by_name.insert((rank, lanes.devices[device as usize]), lane);
    }
    by_name
}

/// A lane for each device of each rank. It is looked up by number, because comparing names is slower.
struct DeviceTable<'a> {
    devices: Vec<&'a str>,
    /// For each group of entries the number of its device, and its kind of work.
    groups: Vec<(u32, WorkKind)>,
    slots: FastMap<(Option<u32>, u32), usize>,
    all: Vec<DeviceIntervals>,
    /// The lane of the last entry: entries of one device often follow each other.
    last: Option<((Option<u32>, u32), usize)>,
}

impl<'a> DeviceTable<'a> {
    fn new(keys: &[(&'a str, WorkKind)]) -> DeviceTable<'a> {
        let mut devices: Vec<&str> = keys.iter().map(|key| key.0).collect();
        devices.sort_unstable();
        devices.dedup();
        let number = |device| devices.partition_point(|&other| other < device) as u32;
        DeviceTable {
            groups: keys
                .iter()
                .map(|&(device, work)| (number(device), work))
                .collect(),
            devices,
            slots: FastMap::default(),
            all: Vec::new(),
            last: None,
        }
    }

    /// The lane of a rank's group, and its kind of work; `None` for entries without a device.
    fn of(&mut self, rank: Option<u32>, group: u32) -> Option<(&mut DeviceIntervals, WorkKind)> {
        let (device, work) = *self.groups.get(group as usize)?;
        let key = (rank, device);
        let slot = match self.last {
            Some((last, slot)) if last == key => slot,
            _ => *self.slots.entry(key).or_insert_with(|| {
                self.all.push(DeviceIntervals::default());
                self.all.len() - 1
            }),
        };
        self.last = Some((key, slot));
        Some((&mut self.all[slot], work))
    }
}

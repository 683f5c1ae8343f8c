//! What the host ran at each moment, and while a device was idle.

use super::super::causal::{DeviceIdle, IdleClass};
use super::super::device_activity::DeviceSets;
use super::super::device_time::is_accelerator;
use super::super::forest::NONE;
use super::super::grouping::Grouping;
use super::super::intervals::Intervals;
use super::super::own_time::own_stretches;
use super::super::structure::Structure;
use crate::analyze::intervals::add_ns;
use crate::model::{EntryView, TraceView};
use std::collections::{BTreeMap, BinaryHeap};

/// The idle time of one accelerator within the time that counts.
#[derive(Debug, Default)]
pub(crate) struct IdleTime {
    pub(crate) rank: Option<u32>,
    pub(crate) device: String,
    pub(crate) idle_ns: u64,
    pub(crate) idle: Intervals,
    /// By class, with the time before the first and after the last work of the device as nothing launched.
    pub(crate) classes: BTreeMap<IdleClass, u64>,
    /// Host ops that ran meanwhile, longest first.
    pub(crate) host_ops: Vec<(String, u64)>,
}

impl IdleTime {
    /// Idle time in which a host op ran.
    pub(crate) fn in_host_ops_ns(&self) -> u64 {
        self.host_ops
            .iter()
            .fold(0, |sum, op| sum.saturating_add(op.1))
    }
}

/// What the host of each rank ran at each moment.
pub(crate) struct HostTimelines<'a> {
    by_rank: BTreeMap<Option<u32>, Vec<Stretch>>,
    /// The name of each op, by its number.
    operations: Vec<&'a str>,
}

impl<'a> HostTimelines<'a> {
    /// Of several threads the one that moved on last counts: a thread that waits for another has been in
    /// its op for longer.
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &'a T, structure: &Structure) -> Self {
        let mut grouping = Grouping::new();
        let mut stretches: BTreeMap<Option<u32>, Vec<Stretch>> = BTreeMap::new();
        own_stretches(trace, structure, |index, start, end| {
            let view = trace.view(index);
            let host = |view: &EntryView<'a>| (!is_accelerator(view)).then(|| view.operation());
            let operation = grouping.group(&view, host);
            if operation != NONE {
                let of_rank = stretches.entry(view.rank()).or_default();
                of_rank.push((start, end, operation));
            }
        });
        let timelines = stretches.into_iter().map(|(rank, mut stretches)| {
            // Stable, because that is linear for stretches of one thread, which are in order.
            stretches.sort_by(Stretch::cmp);
            (rank, most_recent(&stretches))
        });
        HostTimelines {
            by_rank: timelines.collect(),
            operations: grouping.keys().to_vec(),
        }
    }

    /// The time of each op of a rank within a set of moments, longest first.
    pub(crate) fn ops_during(&self, rank: Option<u32>, moments: &Intervals) -> Vec<(String, u64)> {
        let timeline = self.by_rank.get(&rank).map_or(&[][..], Vec::as_slice);
        let mut by_op: Vec<u64> = vec![0; self.operations.len()];
        for (operation, ns) in during(timeline, moments) {
            add_ns(&mut by_op[operation as usize], ns);
        }
        let mut ops: Vec<(String, u64)> = self
            .operations
            .iter()
            .zip(by_op)
            .filter(|op| op.1 > 0)
            .map(|(name, ns)| ((*name).to_owned(), ns))
            .collect();
        ops.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        ops
    }
}

/// The idle time of every accelerator, and the host op of its rank at each idle moment.
pub(crate) fn idle_times(
    devices: &[DeviceSets],
    windows: &BTreeMap<Option<u32>, Intervals>,
    hosts: &HostTimelines<'_>,
    causes: &[DeviceIdle],
) -> Vec<IdleTime> {
    let accelerators = devices.iter().filter(|one| one.is_accelerator());
    accelerators
        .map(|device| {
            let window = windows.get(&device.rank).cloned().unwrap_or_default();
            let idle = window.difference(&device.busy);
            let within = causes
                .iter()
                .find(|one| (one.rank, &one.device) == (device.rank, &device.device));
            IdleTime {
                classes: classes(idle.length(), within),
                rank: device.rank,
                device: device.device.clone(),
                idle_ns: idle.length(),
                host_ops: hosts.ops_during(device.rank, &idle),
                idle,
            }
        })
        .collect()
}

/// The idle time by class. The classes of a device are known for its span, which may be longer or shorter
/// than the time that counts: what is left over is time in which nothing was launched.
fn classes(idle_ns: u64, within: Option<&DeviceIdle>) -> BTreeMap<IdleClass, u64> {
    let mut left = idle_ns;
    let mut classes = BTreeMap::new();
    for class in IdleClass::ALL {
        if class != IdleClass::NothingLaunched {
            let ns = within.map_or(0, |one| one.of(class)).min(left);
            left -= ns;
            classes.insert(class, ns);
        }
    }
    classes.insert(IdleClass::NothingLaunched, left);
    classes
}

/// Start, end and number of the host op of a stretch.
type Stretch = (i64, i64, u32);

/// Cuts overlapping stretches, sorted by start, so that at each moment only the latest to begin is left.
fn most_recent(stretches: &[Stretch]) -> Vec<Stretch> {
    let mut timeline: Vec<Stretch> = Vec::with_capacity(stretches.len());
    // Running stretches by start, the latest on top; ended ones are dropped when they surface.
    let mut running: BinaryHeap<Stretch> = BinaryHeap::new();
    let mut now = i64::MIN;
    let mut run_until = |running: &mut BinaryHeap<Stretch>, now: &mut i64, until: i64| {
        while let Some(&(_, end, operation)) = running.peek() {
            if end <= *now {
                running.pop();
                continue;
            }
            if *now >= until {
                break;
            }
            timeline.push((*now, end.min(until), operation));
            *now = end.min(until);
        }
        *now = until;
    };
    for &stretch in stretches {
        run_until(&mut running, &mut now, stretch.0);
        running.push(stretch);
    }
    run_until(&mut running, &mut now, i64::MAX);
    timeline
}

/// The parts of a timeline inside a set of moments.
fn during<'a>(
    timeline: &'a [Stretch],
    moments: &'a Intervals,
) -> impl Iterator<Item = (u32, u64)> + 'a {
    let mut first = 0;
    timeline.iter().flat_map(move |&(start, end, operation)| {
        let moments = moments.as_slice();
        while moments.get(first).is_some_and(|moment| moment.1 <= start) {
            first += 1;
        }
        moments[first..]
            .iter()
            .take_while(move |moment| moment.0 < end)
            .map(move |moment| (operation, moment.1.min(end).abs_diff(moment.0.max(start))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_op_counts_at_each_moment() {
        let timeline = most_recent(&[(0, 100, 0), (20, 40, 1), (60, 70, 2)]);
        assert_eq!(
            timeline,
            [
                (0, 20, 0),
                (20, 40, 1),
                (40, 60, 0),
                (60, 70, 2),
                (70, 100, 0)
            ]
        );
        let idle: Intervals = [(10, 30), (65, 200)].into_iter().collect();
        let found: Vec<_> = during(&timeline, &idle).collect();
        assert_eq!(found, [(0, 10), (1, 10), (2, 5), (0, 30)]);
    }
}

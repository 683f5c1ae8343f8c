//! The idle time of accelerators, its causes, and the host ops that ran at that time.

use super::super::causal::{CausalModel, IdleClass, IdleTimes};
use super::super::device_activity::DeviceSets;
use super::super::intervals::Intervals;
use super::data_loading::Loaders;
use super::facts::mean;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
use std::collections::{BTreeMap, HashMap};

/// The idle time of one accelerator, within the time that shares refer to.
#[derive(Debug, Default)]
pub(crate) struct IdleTime {
    pub(crate) rank: Option<u32>,
    pub(crate) device: String,
    pub(crate) idle_ns: u64,
    pub(crate) idle: Intervals,
    /// By class. The time before the first and after the last work of the device counts as nothing launched.
    pub(crate) classes: BTreeMap<IdleClass, u64>,
    /// Host ops that ran in the idle time, longest first.
    pub(crate) host_ops: Vec<(String, u64)>,
}

impl IdleTime {
    /// Idle time in which a host op ran.
    pub(crate) fn in_host_ops_ns(&self) -> u64 {
        self.host_ops
            .iter()
            .fold(0, |sum, op| sum.saturating_add(op.1))
    }

    fn of(device: &DeviceSets, window: Option<&Intervals>, times: &[IdleTimes]) -> IdleTime {
        let window = window.cloned().unwrap_or_default();
        let idle = window.difference(&device.busy);
        let within = times
            .iter()
            .find(|one| (one.rank, &one.device) == (device.rank, &device.device));
        IdleTime {
            classes: classes(&idle, within),
            rank: device.rank,
            device: device.device.clone(),
            idle_ns: idle.length(),
            host_ops: Vec::new(),
            idle,
        }
    }
}

/// The idle time of every accelerator, with the host op of its rank at each idle moment; and the host ops of all ranks
/// by the time in which they worked, longest first, as the mean over ranks. Ops inside one that loads data are part of
/// that op.
pub(crate) fn idle_times<T: TraceView + ?Sized>(
    model: &CausalModel<'_, T>,
    devices: &[DeviceSets],
    windows: &BTreeMap<Option<u32>, Intervals>,
    times: &[IdleTimes],
    loaders: &Loaders<'_, T>,
) -> (Vec<IdleTime>, Vec<(String, u64)>) {
    let accelerators = devices.iter().filter(|one| one.is_accelerator());
    let mut idle: Vec<IdleTime> = accelerators
        .map(|device| IdleTime::of(device, windows.get(&device.rank), times))
        .collect();
    let mut by_op: HashMap<String, u64> = HashMap::new();
    for (&rank, window) in windows {
        let of_rank = || idle.iter().filter(|one| one.rank == rank);
        let sets: Vec<&Intervals> = [window]
            .into_iter()
            .chain(of_rank().map(|one| &one.idle))
            .collect();
        let mut ops = model
            .host_ops_during(rank, &sets, |index| loaders.around(index))
            .into_iter();
        for (name, ns) in ops.next().unwrap_or_default() {
            add_ns(by_op.entry(name).or_default(), ns);
        }
        for (device, ops) in idle.iter_mut().filter(|one| one.rank == rank).zip(ops) {
            device.host_ops = ops;
        }
    }
    let mut host_ops: Vec<(String, u64)> = by_op
        .into_iter()
        .map(|(name, ns)| (name, mean(ns, windows.len())))
        .collect();
    host_ops.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    (idle, host_ops)
}

/// The idle time by class. Before the first and after the last work of the device, nothing was launched.
fn classes(idle: &Intervals, times: Option<&IdleTimes>) -> BTreeMap<IdleClass, u64> {
    let mut left = idle.length();
    let mut classes = BTreeMap::new();
    for (&class, moments) in times.into_iter().flat_map(|times| &times.by_class) {
        if class != IdleClass::NothingLaunched {
            let ns = idle.intersection(moments).length().min(left);
            left -= ns;
            classes.insert(class, ns);
        }
    }
    classes.insert(IdleClass::NothingLaunched, left);
    classes
}

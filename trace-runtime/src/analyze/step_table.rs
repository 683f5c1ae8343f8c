//! Figures for each step of a loop, and the ops that made the slowest step slow.

use super::causal::{CausalModel, IdleTimes};
use super::communication::CommunicationRule;
use super::device_time::is_accelerator;
use super::grouping::Grouping;
use super::intervals::Intervals;
use super::nesting::Nesting;
use super::row_key::{ByShape, RowKey as _};
use super::step_of::step_of_entries;
use crate::model::hash::FastMap;
use crate::model::json_struct::json_struct;
use crate::model::{EntryView, TraceView};
use std::collections::BTreeMap;

/// One step of one rank. Times are in nanoseconds; those of devices count only between the step's start and end.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct StepRow {
    /// The number of the step.
    pub number: u64,
    /// The rank that ran the step.
    pub rank: Option<u32>,
    /// The duration of the step, in nanoseconds.
    pub length_ns: u64,
    /// The time in which at least one accelerator of the rank was busy; `None` if there are none.
    pub device_busy_ns: Option<u64>,
    /// The time in which accelerators communicated and computed nothing.
    pub exposed_communication_ns: Option<u64>,
    /// The time in which no accelerator was busy.
    pub device_idle_ns: Option<u64>,
    /// The part of the idle time in which nothing had been launched: [`IdleClass::NothingLaunched`](super::IdleClass).
    /// `None` if the trace does not have the launches.
    pub host_bound_ns: Option<u64>,
}

json_struct!(StepRow {
    required: [number, length_ns],
    optional: [
        rank,
        device_busy_ns,
        exposed_communication_ns,
        device_idle_ns,
        host_bound_ns
    ],
});

/// An op and its input shapes that took longer in the slowest step than in the others.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct StepDifference {
    /// The op's name.
    pub operation: String,
    /// The dims of its inputs.
    pub input_shapes: Vec<Vec<usize>>,
    /// True if it ran on an accelerator.
    pub accelerator: bool,
    /// Self time without waiting in the slowest step, in nanoseconds.
    pub self_ns: u64,
    /// The mean self time without waiting in the other steps of the rank, in nanoseconds.
    pub usual_ns: u64,
    /// Calls in the slowest step.
    pub calls: usize,
    /// Mean number of calls in the other steps of the rank.
    pub usual_calls: f64,
}

json_struct!(StepDifference {
    required: [
        operation,
        input_shapes,
        accelerator,
        self_ns,
        usual_ns,
        calls,
        usual_calls
    ],
    optional: [],
});

/// All steps of a trace.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct StepTable {
    /// A row for each step and rank, earliest first.
    pub steps: Vec<StepRow>,
    /// The mean length, in nanoseconds.
    pub mean_ns: u64,
    /// The standard deviation of the lengths (of the population), in nanoseconds.
    pub deviation_ns: u64,
    /// The index of the slowest step in `steps`; if several are equal, the first. `None` for fewer than two steps.
    pub slowest: Option<usize>,
    /// The ops that took longer in the slowest step than in the other steps of its rank, largest difference first.
    pub slower_ops: Vec<StepDifference>,
}

json_struct!(StepTable {
    required: [steps, mean_ns, deviation_ns, slowest, slower_ops],
    optional: [],
});

/// Length, device time and spread of every step; empty if the trace has no steps.
pub fn step_table<T: TraceView + ?Sized>(trace: &T) -> StepTable {
    if trace.steps().is_empty() {
        return StepTable::default();
    }
    let model = CausalModel::new(trace);
    let idle: Vec<IdleTimes> = model.idle().into_iter().map(|device| device.1).collect();
    step_table_in(trace, &idle, &model.waiting_ns())
}

/// `idle` and `waiting` are those of the causal model.
pub(crate) fn step_table_in<T: TraceView + ?Sized>(
    trace: &T,
    idle: &[IdleTimes],
    waiting: &FastMap<u32, u64>,
) -> StepTable {
    if trace.steps().is_empty() {
        return StepTable::default();
    }
    let devices = devices_by_rank(trace, idle);
    let steps: Vec<StepRow> = trace
        .steps()
        .iter()
        .map(|step| {
            let mut row = StepRow {
                number: step.number,
                rank: step.rank,
                length_ns: step.length_ns(),
                ..StepRow::default()
            };
            if let Some(devices) = devices.get(&step.rank) {
                devices.fill_in(&mut row, (step.start_ns, step.end_ns));
            }
            row
        })
        .collect();
    let lengths = || steps.iter().map(|step| step.length_ns as f64);
    let count = steps.len() as f64;
    let mean = lengths().sum::<f64>() / count;
    let variance = lengths().map(|length| (length - mean).powi(2)).sum::<f64>() / count;
    let slowest = (0..steps.len())
        .rev()
        .max_by_key(|&index| steps[index].length_ns)
        .filter(|_| steps.len() > 1);
    StepTable {
        mean_ns: mean.round() as u64,
        deviation_ns: variance.sqrt().round() as u64,
        slower_ops: slowest.map_or_else(Vec::new, |slowest| slower_ops(trace, waiting, slowest)),
        slowest,
        steps,
    }
}

/// The busy times of the accelerators of a rank, by kind of work.
#[derive(Default)]
struct RankDevices {
    busy: Intervals,
    exposed: Intervals,
    /// The times at which they were idle although work had been launched; `None` if the launches are not known.
    launched: Option<Intervals>,
}

impl RankDevices {
    fn fill_in(&self, row: &mut StepRow, (start, end): (i64, i64)) {
        let within = |set: &Intervals| part_of(set, start, end);
        let busy = within(&self.busy);
        let window: Intervals = [(start, end)].into_iter().collect();
        let idle = window.difference(&busy);
        row.device_busy_ns = Some(busy.length());
        row.exposed_communication_ns = Some(within(&self.exposed).length());
        row.device_idle_ns = Some(idle.length());
        row.host_bound_ns = self
            .launched
            .as_ref()
            .map(|launched| idle.difference(&within(launched)).length());
    }
}

/// The moments of a set from `start` to `end`.
fn part_of(set: &Intervals, start: i64, end: i64) -> Intervals {
    let all = set.as_slice();
    let first = all.partition_point(|interval| interval.1 <= start);
    let past = all.partition_point(|interval| interval.0 < end);
    all.get(first..past)
        .unwrap_or_default()
        .iter()
        .map(|&(from, to)| (from.max(start), to.min(end)))
        .collect()
}

fn devices_by_rank<T: TraceView + ?Sized>(
    trace: &T,
    idle: &[IdleTimes],
) -> BTreeMap<Option<u32>, RankDevices> {
    type Spans = Vec<(i64, i64)>;
    let mut rule = CommunicationRule::default();
    let mut found: BTreeMap<Option<u32>, (Spans, Spans)> = BTreeMap::new();
    for view in trace.views().filter(is_accelerator) {
        if let Some(span) = view.start_ns().zip(view.end_ns()) {
            let (compute, communication) = found.entry(view.rank()).or_default();
            if rule.holds(&view) {
                communication.push(span);
            } else {
                compute.push(span);
            }
        }
    }
    found
        .into_iter()
        .map(|(rank, (compute, communication))| {
            let compute: Intervals = compute.into_iter().collect();
            let communication: Intervals = communication.into_iter().collect();
            let devices = RankDevices {
                busy: compute.union(&communication),
                exposed: communication.difference(&compute),
                launched: launched(rank, idle),
            };
            (rank, devices)
        })
        .collect()
}

/// The times at which accelerators of a rank were idle although work had been launched.
fn launched(rank: Option<u32>, idle: &[IdleTimes]) -> Option<Intervals> {
    let of_rank = || idle.iter().filter(|device| device.rank == rank);
    let known = of_rank().any(|device| device.launches_known);
    known.then(|| {
        of_rank().fold(Intervals::default(), |all, device| {
            all.union(&device.launched())
        })
    })
}

/// Compares the slowest step with the mean of the other steps of its rank, by op and input shapes.
fn slower_ops<T: TraceView + ?Sized>(
    trace: &T,
    waiting: &FastMap<u32, u64>,
    slowest: usize,
) -> Vec<StepDifference> {
    let rank = trace.steps()[slowest].rank;
    let others = trace
        .steps()
        .iter()
        .filter(|step| step.rank == rank)
        .count()
        - 1;
    if others == 0 {
        return Vec::new();
    }
    let nesting = Nesting::of(trace);
    let step_of = step_of_entries(trace);
    let mut grouping: Grouping<ByShape<'_>> = Grouping::new();
    // Self time and calls, in the slowest step and in the others.
    let mut sums: Vec<[(u64, usize); 2]> = Vec::new();
    for (index, view) in trace.views().enumerate() {
        let Some(step) = step_of[index].filter(|&step| trace.steps()[step].rank == rank) else {
            continue;
        };
        let group = grouping.group(&view, |view: &EntryView<'_>| Some(ByShape(*view))) as usize;
        if group >= sums.len() {
            sums.resize(group + 1, Default::default());
        }
        let (time, calls) = &mut sums[group][usize::from(step != slowest)];
        let waited = waiting.get(&(index as u32)).copied().unwrap_or(0);
        *time = time.saturating_add(nesting.self_ns(index, &view).saturating_sub(waited));
        *calls += 1;
    }
    let mut rows: Vec<StepDifference> = grouping
        .keys()
        .iter()
        .zip(sums)
        .map(|(key, [slow, usual])| StepDifference {
            operation: key.operation().to_owned(),
            input_shapes: key.input_shapes().unwrap_or_default(),
            accelerator: key.accelerator(),
            self_ns: slow.0,
            usual_ns: usual.0 / others as u64,
            calls: slow.1,
            usual_calls: usual.1 as f64 / others as f64,
        })
        .filter(|row| row.self_ns > row.usual_ns)
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.self_ns - row.usual_ns));
    rows
}

//! The executions of each op, or of each op with the same input shapes, as a row of figures.

use super::communication::CommunicationRule;
use super::flops::{OpClass, flops_of};
use super::forest::NONE;
use super::grouping::Grouping;
use super::nesting::{Nesting, active_ns};
use crate::model::json_struct::json_struct;
use crate::model::{EntryView, TraceView};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// All executions of one op, or of one op with the same input shapes.
///
/// Percentiles are exact, by nearest rank: the smallest duration that at least this share of the
/// executions did not exceed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpRow {
    /// The op's name.
    pub operation: String,
    /// The dims of its inputs; `None` where all shapes of the op are in one row.
    pub input_shapes: Option<Vec<Vec<usize>>>,
    /// Whether some of it is communication, by its kind or else its name.
    pub communication: bool,
    /// How often it ran.
    pub count: usize,
    /// Time spent in it: an execution inside another one of this row adds nothing, nor does the time
    /// in which an async op was suspended.
    pub total_ns: u64,
    /// Of the total, the time spent in no op inside of it.
    pub self_ns: u64,
    /// Of the self time, what was spent on devices other than `cpu`.
    pub accelerator_ns: u64,
    /// Every execution's duration added up, whatever it ran inside of.
    pub sum_ns: u64,
    /// The shortest execution.
    pub min_ns: u64,
    /// The mean execution, rounded down.
    pub mean_ns: u64,
    /// Half of the executions were no longer.
    pub p50_ns: u64,
    /// 95 % of the executions were no longer.
    pub p95_ns: u64,
    /// 99 % of the executions were no longer.
    pub p99_ns: u64,
    /// The longest execution.
    pub max_ns: u64,
    /// The bytes of all outputs.
    pub memory_bytes: u64,
    /// Bytes read and written: as given, else every input and output once.
    pub bytes_moved: u64,
    /// Floating-point operations: as given, else inferred from name and shapes where they tell.
    pub flops: u64,
    /// Whether some of the FLOPs are inferred.
    pub flops_inferred: bool,
    /// FLOPs per second of the executions whose FLOPs are known.
    pub flops_per_s: Option<f64>,
    /// Bytes moved per second.
    pub bytes_per_s: Option<f64>,
    /// FLOPs per byte moved, over the executions whose FLOPs are known.
    pub arithmetic_intensity: Option<f64>,
}

json_struct!(OpRow {
    required: [
        operation,
        count,
        total_ns,
        self_ns,
        sum_ns,
        min_ns,
        mean_ns,
        p50_ns,
        p95_ns,
        p99_ns,
        max_ns,
        memory_bytes,
        bytes_moved,
    ],
    optional: [
        input_shapes,
        communication,
        accelerator_ns,
        flops,
        flops_inferred,
        flops_per_s,
        bytes_per_s,
        arithmetic_intensity,
    ],
});

/// A row for each op, by self time, longest first.
pub fn by_op<T: TraceView + ?Sized>(trace: &T) -> Vec<OpRow> {
    table(trace, |view| ByOp(view.operation()))
}

/// A row for each op with the same input shapes, by self time, longest first.
pub fn by_shape<T: TraceView + ?Sized>(trace: &T) -> Vec<OpRow> {
    table(trace, |view| ByShape(*view))
}

/// What tells rows apart.
pub(crate) trait RowKey: Copy + Eq + Hash {
    fn operation(&self) -> &str;
    fn input_shapes(&self) -> Option<Vec<Vec<usize>>>;
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ByOp<'a>(&'a str);

impl RowKey for ByOp<'_> {
    fn operation(&self) -> &str {
        self.0
    }

    fn input_shapes(&self) -> Option<Vec<Vec<usize>>> {
        None
    }
}

/// Any entry of the row stands for its op and shapes, so that no shape is copied to compare it.
#[derive(Clone, Copy)]
pub(crate) struct ByShape<'a>(pub(crate) EntryView<'a>);

impl RowKey for ByShape<'_> {
    fn operation(&self) -> &str {
        self.0.operation()
    }

    fn input_shapes(&self) -> Option<Vec<Vec<usize>>> {
        Some(self.0.inputs().map(|input| input.dims.to_vec()).collect())
    }
}

impl PartialEq for ByShape<'_> {
    fn eq(&self, other: &Self) -> bool {
        let dims = |key: &Self| key.0.inputs().map(|input| input.dims);
        self.0.operation() == other.0.operation() && dims(self).eq(dims(other))
    }
}

impl Eq for ByShape<'_> {}

impl Hash for ByShape<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.operation().hash(state);
        for input in self.0.inputs() {
            input.dims.hash(state);
        }
    }
}

/// The durations of the entries of each group, next to each other.
pub(crate) struct Durations {
    ends: Vec<usize>,
    ns: Vec<u64>,
}

impl Durations {
    /// `group` gives each entry's group, numbered from 0, or [`NONE`].
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &T, group: &[u32], groups: usize) -> Durations {
        let mut ends = vec![0; groups];
        for &group in group.iter().filter(|&&group| group != NONE) {
            ends[group as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            // For now where the group begins; filling it moves this to its end.
            sum += std::mem::replace(end, sum);
        }
        let mut ns = vec![0; sum];
        for (view, &group) in trace.views().zip(group) {
            if group != NONE {
                let next = &mut ends[group as usize];
                ns[*next] = view.duration_ns();
                *next += 1;
            }
        }
        Durations { ends, ns }
    }

    /// The durations of a group, for [`percentile`] to rearrange.
    pub(crate) fn group(&mut self, group: usize) -> &mut [u64] {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &mut self.ns[start..self.ends[group]]
    }
}

/// The nearest-rank percentile: the smallest value that at least `percent` % of the values do not
/// exceed; 0 of none.
pub(crate) fn percentile(values: &mut [u64], percent: usize) -> u64 {
    let rank = (values.len() * percent).div_ceil(100).max(1);
    if values.is_empty() {
        return 0;
    }
    *values.select_nth_unstable(rank.min(values.len()) - 1).1
}

fn table<'a, T, K>(trace: &'a T, key: impl Fn(&EntryView<'a>) -> K) -> Vec<OpRow>
where
    T: TraceView + ?Sized,
    K: RowKey,
{
    let nesting = Nesting::of(trace);
    let mut grouping = Grouping::new();
    let groups: Vec<u32> = trace
        .views()
        .map(|view| grouping.group(&view, |view| Some(key(view))))
        .collect();
    let inside = nesting.inside_own_group(&groups);
    let mut durations = Durations::of(trace, &groups, grouping.keys().len());
    let mut sums = vec![RowSums::default(); grouping.keys().len()];
    let mut classes: HashMap<&str, Option<OpClass>> = HashMap::new();
    let classes_of: Vec<Option<OpClass>> = grouping
        .keys()
        .iter()
        .map(|key| {
            let name = key.operation();
            *classes.entry(name).or_insert_with(|| OpClass::of(name))
        })
        .collect();
    let mut rule = CommunicationRule::default();
    for (index, view) in trace.views().enumerate() {
        let group = groups[index] as usize;
        let sum = &mut sums[group];
        let outermost = !inside.get(index).is_some_and(|&inside| inside);
        sum.add(&view, nesting.self_ns(index, &view), outermost);
        sum.add_work(&view, classes_of[group]);
        sum.communication |= rule.holds(&view);
    }
    let mut rows: Vec<OpRow> = grouping
        .keys()
        .iter()
        .zip(&sums)
        .enumerate()
        .map(|(group, (key, sum))| sum.row(key, durations.group(group)))
        .collect();
    rows.sort_by(|a, b| {
        b.self_ns
            .cmp(&a.self_ns)
            .then_with(|| a.operation.cmp(&b.operation))
            .then_with(|| a.input_shapes.cmp(&b.input_shapes))
    });
    rows
}

#[derive(Clone, Default)]
struct RowSums {
    communication: bool,
    total_ns: u64,
    self_ns: u64,
    accelerator_ns: u64,
    sum_ns: u64,
    memory_bytes: u64,
    bytes_moved: u64,
    flops: u64,
    inferred: bool,
    /// Of the executions whose FLOPs are known.
    working_ns: u64,
    working_bytes: u64,
}

impl RowSums {
    fn add(&mut self, view: &EntryView<'_>, self_ns: u64, outermost: bool) {
        let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
        add(&mut self.sum_ns, view.duration_ns());
        add(&mut self.self_ns, self_ns);
        if is_accelerator(view) {
            add(&mut self.accelerator_ns, self_ns);
        }
        add(&mut self.memory_bytes, view.memory_bytes() as u64);
        if outermost {
            add(&mut self.total_ns, active_ns(view));
        }
    }

    fn add_work(&mut self, view: &EntryView<'_>, class: Option<OpClass>) {
        let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
        let bytes = bytes_moved(view);
        add(&mut self.bytes_moved, bytes);
        let (flops, inferred) = match view.flops() {
            Some(given) => (Some(given), false),
            None => (class.and_then(|class| flops_of(class, view)), true),
        };
        if let Some(flops) = flops {
            add(&mut self.flops, flops);
            add(&mut self.working_ns, active_ns(view));
            add(&mut self.working_bytes, bytes);
            self.inferred |= inferred;
        }
    }

    fn row(&self, key: &impl RowKey, durations: &mut [u64]) -> OpRow {
        let count = durations.len();
        let over = |part: u64, whole: f64| (part > 0 && whole > 0.0).then(|| part as f64 / whole);
        OpRow {
            operation: key.operation().to_owned(),
            input_shapes: key.input_shapes(),
            communication: self.communication,
            count,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
            accelerator_ns: self.accelerator_ns,
            sum_ns: self.sum_ns,
            min_ns: durations.iter().copied().min().unwrap_or(0),
            mean_ns: self.sum_ns.checked_div(count as u64).unwrap_or(0),
            p50_ns: percentile(durations, 50),
            p95_ns: percentile(durations, 95),
            p99_ns: percentile(durations, 99),
            max_ns: durations.iter().copied().max().unwrap_or(0),
            memory_bytes: self.memory_bytes,
            bytes_moved: self.bytes_moved,
            flops: self.flops,
            flops_inferred: self.inferred,
            flops_per_s: over(self.flops, self.working_ns as f64 / 1e9),
            bytes_per_s: over(self.bytes_moved, self.sum_ns as f64 / 1e9),
            arithmetic_intensity: over(self.flops, self.working_bytes as f64),
        }
    }
}

/// Whether an entry ran on a device other than the host.
pub(crate) fn is_accelerator(view: &EntryView<'_>) -> bool {
    view.device_id().is_some_and(|device| device != "cpu")
}

/// Bytes read and written: as given, else every input and output once.
pub(crate) fn bytes_moved(view: &EntryView<'_>) -> u64 {
    view.bytes_moved().unwrap_or_else(|| {
        let read = view
            .inputs()
            .fold(0u64, |sum, input| sum.saturating_add(input.bytes() as u64));
        read.saturating_add(view.memory_bytes() as u64)
    })
}

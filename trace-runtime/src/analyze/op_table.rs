//! The executions of each op, or of each op with the same input shapes, as a row of figures.

use super::categories::Categorised;
use super::communication::CommunicationRule;
use super::device_time::{DeviceTimes, device_times_in, is_accelerator};
use super::durations::{Durations, percentile};
use super::forest::{Forest, NONE};
use super::grouping::Grouping;
use super::intervals::add_ns;
use super::nesting::{Nesting, active_ns};
use super::op_row::OpRow;
use super::op_work::{Work, Works};
use super::row_key::{ByOp, ByShape, RowKey};
use crate::model::hash::FastMap;
use crate::model::{EntryView, TraceView};
use std::cell::{OnceCell, RefCell};

/// A row for each op, by self time, longest first.
///
/// For the same by input shapes see [`by_shape`]; for a few sums by name, in microseconds, see
/// [`TraceAnalyzer::operation_summary`](super::TraceAnalyzer::operation_summary).
pub fn by_op<T: TraceView + ?Sized>(trace: &T) -> Vec<OpRow> {
    OpTables::of(trace, &Nesting::of(trace)).by_op()
}

/// A row for each op with the same input shapes, by self time, longest first.
pub fn by_shape<T: TraceView + ?Sized>(trace: &T) -> Vec<OpRow> {
    OpTables::of(trace, &Nesting::of(trace)).by_shape()
}

/// Adds the waiting time of entries to the rows of both tables, and sorts them by the self time without it.
pub(crate) fn add_waiting<T: TraceView + ?Sized>(
    trace: &T,
    waiting: &FastMap<u32, u64>,
    [ops, shapes]: [&mut Vec<OpRow>; 2],
) {
    type Key<'a> = (&'a str, Option<&'a str>, Option<Vec<Vec<usize>>>, bool);
    if waiting.is_empty() {
        return;
    }
    let mut sums: FastMap<Key<'_>, u64> = FastMap::default();
    for (&entry, &ns) in waiting {
        let view = trace.view(entry as usize);
        let host = (view.operation(), None, None, is_accelerator(&view));
        add_ns(sums.entry(host).or_default(), ns);
        let key = ByShape(view);
        let by_shape = (
            view.operation(),
            view.label(),
            key.input_shapes(),
            key.accelerator(),
        );
        add_ns(sums.entry(by_shape).or_default(), ns);
    }
    for row in ops.iter_mut().chain(shapes.iter_mut()) {
        let key = (
            row.operation.as_str(),
            row.label.as_deref(),
            row.input_shapes.clone(),
            row.accelerator,
        );
        let ns = sums.get(&key).copied().unwrap_or(0);
        row.waiting_ns = ns.min(row.self_ns);
    }
    // A stable sort: rows with equal working times keep their order.
    ops.sort_by_key(|row| std::cmp::Reverse(row.working_ns()));
    shapes.sort_by_key(|row| std::cmp::Reverse(row.working_ns()));
}

/// The data that both op tables need, computed once.
pub(crate) struct OpTables<'a, T: ?Sized> {
    trace: &'a T,
    nesting: &'a Nesting,
    device_times: DeviceTimes,
    /// The tree of `device_times`, built for the first table.
    launches: OnceCell<Forest>,
    works: RefCell<Works<'a>>,
}

impl<'a, T: TraceView + ?Sized> OpTables<'a, T> {
    pub(crate) fn of(trace: &'a T, nesting: &'a Nesting) -> Self {
        OpTables {
            device_times: device_times_in(trace, nesting),
            nesting,
            trace,
            launches: OnceCell::new(),
            works: RefCell::default(),
        }
    }

    pub(crate) fn categorised(&self) -> Categorised {
        Categorised::of(self.trace, self.nesting)
    }

    pub(crate) fn device_times(&self) -> &DeviceTimes {
        &self.device_times
    }

    pub(crate) fn by_op(&self) -> Vec<OpRow> {
        self.table(|view| ByOp(view.operation(), is_accelerator(view)))
    }

    pub(crate) fn by_shape(&self) -> Vec<OpRow> {
        self.table(|view| ByShape(*view))
    }

    fn table<K: RowKey>(&self, key: impl Fn(&EntryView<'a>) -> K) -> Vec<OpRow> {
        let OpTables {
            trace,
            nesting,
            device_times,
            launches,
            works,
        } = self;
        let mut grouping = Grouping::new();
        let mut located = Grouping::new();
        let groups: Vec<u32> = trace
            .views()
            .map(|view| {
                let group = grouping.group(&view, |view| Some(key(view)));
                located.group(&view, |view| Some((group, view.location()?)));
                group
            })
            .collect();
        let inside = nesting.inside_own_group(&groups);
        // If no op was handed to another thread, both trees of calls are the same.
        let handed_over = device_times
            .handed_over()
            .then(|| device_times.inside_own_group(&groups, launches));
        let launched_inside = handed_over.as_ref().unwrap_or(&inside);
        let mut durations = Durations::of(*trace, &groups, grouping.keys().len());
        let mut sums = vec![RowSums::default(); grouping.keys().len()];
        let mut rule = CommunicationRule::default();
        let mut communicating = Grouping::new();
        let mut works = works.borrow_mut();
        for (index, view) in trace.views().enumerate() {
            let group = groups[index] as usize;
            let sum = &mut sums[group];
            let outermost = !inside.get(index).is_some_and(|&inside| inside);
            sum.add(&view, nesting.self_ns(index, &view), outermost);
            let launched = device_times.total_ns(index);
            if launched > 0 {
                let outermost = !launched_inside.get(index).is_some_and(|&inside| inside);
                sum.add_launched(device_times.self_ns(index), launched, outermost);
            }
            let rated_ns = match launched {
                0 if is_accelerator(&view) || !device_times.launches_are_missing() => {
                    Some(active_ns(&view))
                }
                0 => None,
                launched => Some(launched),
            };
            sum.add_work(&view, works.of(&view), rated_ns);
            let communicates = communicating.group(&view, |view| rule.holds(view).then_some(()));
            sum.communication |= communicates != NONE;
        }
        let mut rows: Vec<OpRow> = grouping
            .keys()
            .iter()
            .zip(&sums)
            .enumerate()
            .map(|(group, (key, sum))| sum.row(key, durations.group(group)))
            .collect();
        for &(group, location) in located.keys() {
            rows[group as usize].locations.push(location.to_owned());
        }
        rows.sort_by(|a, b| {
            b.self_ns
                .cmp(&a.self_ns)
                .then_with(|| a.operation.cmp(&b.operation))
                .then_with(|| a.accelerator.cmp(&b.accelerator))
                .then_with(|| a.label.cmp(&b.label))
                .then_with(|| a.input_shapes.cmp(&b.input_shapes))
        });
        rows
    }
}

#[derive(Clone, Default)]
struct RowSums {
    communication: bool,
    outermost: usize,
    total_ns: u64,
    self_ns: u64,
    sum_ns: u64,
    suspended_ns: u64,
    device_self_ns: u64,
    device_total_ns: u64,
    memory_bytes: u64,
    bytes_moved: u64,
    flops: u64,
    inferred: bool,
    /// Bytes of the executions whose FLOPs are known.
    working_bytes: u64,
    /// Work and time of the executions whose time is known.
    rated: Rated,
}

#[derive(Clone, Copy, Default)]
struct Rated {
    flops: u64,
    flops_ns: u64,
    bytes: u64,
    bytes_ns: u64,
}

impl RowSums {
    fn add(&mut self, view: &EntryView<'_>, self_ns: u64, outermost: bool) {
        let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
        add(&mut self.sum_ns, view.duration_ns());
        add(&mut self.self_ns, self_ns);
        add(&mut self.suspended_ns, view.suspended_ns());
        add(&mut self.memory_bytes, view.memory_bytes() as u64);
        if outermost {
            self.outermost += 1;
            add(&mut self.total_ns, active_ns(view));
        }
    }

    fn add_launched(&mut self, self_ns: u64, total_ns: u64, outermost: bool) {
        self.device_self_ns = self.device_self_ns.saturating_add(self_ns);
        if outermost {
            self.device_total_ns = self.device_total_ns.saturating_add(total_ns);
        }
    }

    /// `rated_ns` is the time that the work took, if it is known.
    fn add_work(&mut self, view: &EntryView<'_>, work: Work, rated_ns: Option<u64>) {
        let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
        let bytes = work.bytes(view);
        add(&mut self.bytes_moved, bytes);
        if let Some(flops) = work.flops {
            add(&mut self.flops, flops);
            add(&mut self.working_bytes, bytes);
            self.inferred |= work.inferred;
        }
        if let Some(ns) = rated_ns {
            add(&mut self.rated.bytes, bytes);
            add(&mut self.rated.bytes_ns, ns);
            if let Some(flops) = work.flops {
                add(&mut self.rated.flops, flops);
                add(&mut self.rated.flops_ns, ns);
            }
        }
    }

    fn row(&self, key: &impl RowKey, durations: &mut [u64]) -> OpRow {
        let count = durations.len();
        let over =
            |part: u64, whole: u64| (part > 0 && whole > 0).then(|| part as f64 / whole as f64);
        let per_s = |part: u64, ns: u64| over(part, ns).map(|per_ns| per_ns * 1e9);
        OpRow {
            operation: key.operation().to_owned(),
            label: key.label().map(str::to_owned),
            locations: Vec::new(),
            input_shapes: key.input_shapes(),
            communication: self.communication,
            count,
            outermost: self.outermost,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
            waiting_ns: 0,
            accelerator: key.accelerator(),
            sum_ns: self.sum_ns,
            suspended_ns: self.suspended_ns,
            device_self_ns: self.device_self_ns,
            device_total_ns: self.device_total_ns,
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
            flops_per_s: per_s(self.rated.flops, self.rated.flops_ns),
            bytes_per_s: per_s(self.rated.bytes, self.rated.bytes_ns),
            arithmetic_intensity: over(self.flops, self.working_bytes),
        }
    }
}

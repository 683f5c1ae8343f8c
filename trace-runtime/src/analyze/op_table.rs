//! The executions of each op, or of each op with the same input shapes, as a row of figures.

use super::communication::CommunicationRule;
use super::durations::{Durations, percentile};
use super::flops::{OpClass, flops_of};
use super::forest::NONE;
use super::grouping::Grouping;
use super::nesting::{Nesting, active_ns, parent_index};
use super::row_key::{ByOp, ByShape, RowKey};
use crate::model::json_struct::json_struct;
use crate::model::{EntryView, TraceView};
use std::cell::OnceCell;

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
    /// Whether it ran on a device other than `cpu`. An op of the host and one of a device are never in
    /// one row, even under one name: the one starts the other.
    pub accelerator: bool,
    /// Whether some of it is communication, by its kind or else its name.
    pub communication: bool,
    /// How often it ran.
    pub count: usize,
    /// Of those, how often it did not run inside another execution of this row.
    pub outermost: usize,
    /// Time spent in it: an execution inside another one of this row adds nothing, nor does the time
    /// in which an async op was suspended.
    pub total_ns: u64,
    /// Of the total, the time spent in no op inside of it.
    pub self_ns: u64,
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
    /// FLOPs per second of the executions whose FLOPs are known. Executions that started work on an
    /// accelerator have no rate: the work took its time elsewhere.
    pub flops_per_s: Option<f64>,
    /// Bytes moved per second, by the same rule.
    pub bytes_per_s: Option<f64>,
    /// FLOPs per byte moved, over the executions whose FLOPs are known.
    pub arithmetic_intensity: Option<f64>,
}

json_struct!(OpRow {
    required: [
        operation,
        count,
        outermost,
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
        accelerator,
        communication,
        flops,
        flops_inferred,
        flops_per_s,
        bytes_per_s,
        arithmetic_intensity,
    ],
});

/// A row for each op, by self time, longest first.
pub fn by_op<T: TraceView + ?Sized>(trace: &T) -> Vec<OpRow> {
    table(trace, |view| ByOp(view.operation(), is_accelerator(view)))
}

/// A row for each op with the same input shapes, by self time, longest first.
pub fn by_shape<T: TraceView + ?Sized>(trace: &T) -> Vec<OpRow> {
    table(trace, |view| ByShape(*view))
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
    let mut rule = CommunicationRule::default();
    let mut communicating = Grouping::new();
    let launching = launching(trace, grouping.keys().iter().any(RowKey::accelerator));
    let mut works = Works::new(sums.len());
    for (index, view) in trace.views().enumerate() {
        let group = groups[index] as usize;
        let sum = &mut sums[group];
        let outermost = !inside.get(index).is_some_and(|&inside| inside);
        sum.add(&view, nesting.self_ns(index, &view), outermost);
        let launches = launching.get(index).is_some_and(|&launches| launches);
        sum.add_work(&view, works.of(&view, group), launches);
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
    rows.sort_by(|a, b| {
        b.self_ns
            .cmp(&a.self_ns)
            .then_with(|| a.operation.cmp(&b.operation))
            .then_with(|| a.accelerator.cmp(&b.accelerator))
            .then_with(|| a.input_shapes.cmp(&b.input_shapes))
    });
    rows
}

#[derive(Clone, Default)]
struct RowSums {
    communication: bool,
    outermost: usize,
    total_ns: u64,
    self_ns: u64,
    sum_ns: u64,
    memory_bytes: u64,
    bytes_moved: u64,
    flops: u64,
    inferred: bool,
    /// Bytes of the executions whose FLOPs are known.
    working_bytes: u64,
    /// Without executions that started work elsewhere.
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
        add(&mut self.memory_bytes, view.memory_bytes() as u64);
        if outermost {
            self.outermost += 1;
            add(&mut self.total_ns, active_ns(view));
        }
    }

    fn add_work(&mut self, view: &EntryView<'_>, work: Work, launches: bool) {
        let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
        let bytes = work.bytes(view);
        add(&mut self.bytes_moved, bytes);
        if let Some(flops) = work.flops {
            add(&mut self.flops, flops);
            add(&mut self.working_bytes, bytes);
            self.inferred |= work.inferred;
        }
        if !launches {
            let ns = active_ns(view);
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
            input_shapes: key.input_shapes(),
            communication: self.communication,
            count,
            outermost: self.outermost,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
            accelerator: key.accelerator(),
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
            flops_per_s: per_s(self.rated.flops, self.rated.flops_ns),
            bytes_per_s: per_s(self.rated.bytes, self.rated.bytes_ns),
            arithmetic_intensity: over(self.flops, self.working_bytes),
        }
    }
}

/// For each entry whether it, or one inside of it, started work on an accelerator; empty where there is
/// none.
fn launching<T: TraceView + ?Sized>(trace: &T, accelerators: bool) -> Vec<bool> {
    if !accelerators {
        return Vec::new();
    }
    let mut launching = vec![false; trace.entry_count()];
    // From the last on, so that what an inner entry started reaches the outer ones.
    for index in (0..trace.entry_count()).rev() {
        let view: EntryView<'_> = trace.entry(index).into();
        let on_accelerator = is_accelerator(&view);
        if (launching[index] || on_accelerator)
            && let Some(parent) = parent_index(trace, index, &view)
            && (!on_accelerator || !is_accelerator(&trace.entry(parent).into()))
        {
            launching[parent] = true;
        }
    }
    launching
}

/// Whether an entry ran on a device other than the host.
pub(crate) fn is_accelerator(view: &EntryView<'_>) -> bool {
    view.device_id().is_some_and(|device| device != "cpu")
}

/// Bytes read and written: as given, else every input and output once.
pub(crate) fn bytes_moved(view: &EntryView<'_>) -> u64 {
    Work::of(view, || None).bytes(view)
}

/// What an execution takes, as far as its op, kind, device and tensors say.
#[derive(Clone, Copy)]
struct Work {
    given_bytes: Option<u64>,
    input_bytes: u64,
    flops: Option<u64>,
    inferred: bool,
}

impl Work {
    fn of(view: &EntryView<'_>, class: impl FnOnce() -> Option<OpClass>) -> Work {
        let mut inputs = view.inputs().peekable();
        // A kernel's name may be long, and without shapes says nothing.
        let class = inputs.peek().and_then(|_| class());
        let given = view.flops();
        Work {
            given_bytes: view.bytes_moved(),
            input_bytes: inputs.fold(0, |sum, input| sum.saturating_add(input.bytes() as u64)),
            flops: given.or_else(|| flops_of(class?, view)),
            inferred: given.is_none(),
        }
    }

    fn bytes(&self, view: &EntryView<'_>) -> u64 {
        let both = || self.input_bytes.saturating_add(view.memory_bytes() as u64);
        self.given_bytes.unwrap_or_else(both)
    }
}

/// Finds out about each op and each signature once, where the storage numbers those.
struct Works {
    classes: Vec<OnceCell<Option<OpClass>>>,
    by_signature: Vec<Option<Work>>,
}

impl Works {
    fn new(groups: usize) -> Works {
        Works {
            classes: vec![OnceCell::new(); groups],
            by_signature: Vec::new(),
        }
    }

    fn of(&mut self, view: &EntryView<'_>, group: usize) -> Work {
        let class = &self.classes[group];
        let find = || {
            Work::of(view, || {
                *class.get_or_init(|| OpClass::of(view.operation()))
            })
        };
        let Some(signature) = view.signature() else {
            return find();
        };
        let signature = signature as usize;
        if signature >= self.by_signature.len() {
            self.by_signature.resize(signature + 1, None);
        }
        *self.by_signature[signature].get_or_insert_with(find)
    }
}

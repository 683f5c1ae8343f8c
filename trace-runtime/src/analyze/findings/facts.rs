//! What the rules look at: the tables of a trace, and the time that counts.

use super::super::categories::Categorised;
use super::super::causal::{CausalModel, IdleTimes, LaunchSummary};
use super::super::collectives::Collective;
use super::super::communication::CommunicationRule;
use super::super::device_activity::DeviceSets;
use super::super::device_time::is_accelerator;
use super::super::grouping::Grouping;
use super::super::intervals::Intervals;
use super::super::memory::{HeapRow, MemoryGrowth};
use super::super::op_row::OpRow;
use super::super::short_name::ShortNames;
use super::super::trust::UntrustedOp;
use super::data_loading::loads_data;
use super::finding::{Finding, FindingKind, FindingPart, Whole};
use super::idle::{IdleTime, idle_times};
use super::synchronisations::run_dry_ns;
use crate::analyze::intervals::{SaturatingSum as _, add_ns};
use crate::model::{OpKind, TraceStep, TraceView};
use crate::units::{percent, shapes};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Characters of a name in a sentence, at most.
const LONGEST_NAME: usize = 60;

/// The tables that a report has anyway.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(crate) ops: &'a [OpRow],
    pub(crate) shapes: &'a [OpRow],
    pub(crate) categorised: &'a Categorised,
    pub(crate) devices: &'a [DeviceSets],
    pub(crate) collectives: &'a [Collective],
    pub(crate) launches: &'a [LaunchSummary],
    pub(crate) untrusted: &'a [UntrustedOp],
    pub(crate) overhead_ns: Option<u64>,
    pub(crate) heap: &'a [HeapRow],
    pub(crate) growth: &'a [MemoryGrowth],
}

/// Everything that rules look at.
pub(crate) struct Facts<'a> {
    pub(crate) tables: Tables<'a>,
    pub(crate) whole: Whole,
    pub(crate) whole_ns: u64,
    /// For each rank the time that counts.
    pub(crate) windows: BTreeMap<Option<u32>, Intervals>,
    /// Idle time of each accelerator.
    pub(crate) idle: Vec<IdleTime>,
    /// Exposed communication on accelerators by op, longest first; the mean over ranks.
    pub(crate) exposed: Vec<(String, u64)>,
    /// Idle time of accelerators that began during a synchronisation, by host op; the mean over devices.
    pub(crate) run_dry: Vec<(String, u64)>,
    /// Host ops by the time in which they were the most recent of their rank, longest first; the mean
    /// over ranks.
    pub(crate) host_ops: Vec<(String, u64)>,
    pub(crate) steps: Vec<TraceStep>,
    /// Host ops of the kind `io`.
    input_ops: HashSet<String>,
    names: ShortNames,
}

/// What the rules need of the causal model. The model is as large as the trace: it can be dropped before they run.
#[derive(Debug)]
pub(crate) struct HostTimes {
    whole: Whole,
    windows: BTreeMap<Option<u32>, Intervals>,
    idle: Vec<IdleTime>,
    run_dry: Vec<(String, u64)>,
    host_ops: Vec<(String, u64)>,
}

impl HostTimes {
    /// `times` are those of the model.
    pub(crate) fn of<T: TraceView + ?Sized>(
        trace: &T,
        model: &CausalModel<'_, T>,
        devices: &[DeviceSets],
        times: &[IdleTimes],
    ) -> HostTimes {
        let (whole, windows) = windows(trace);
        let (idle, host_ops) = idle_times(model, devices, &windows, times);
        HostTimes {
            run_dry: run_dry_ns(&model.device_waits(), &idle),
            idle,
            host_ops,
            whole,
            windows,
        }
    }
}

impl<'a> Facts<'a> {
    pub(crate) fn of<T: TraceView + ?Sized>(
        trace: &T,
        host_times: HostTimes,
        tables: Tables<'a>,
    ) -> Facts<'a> {
        let HostTimes {
            whole,
            windows,
            idle,
            run_dry,
            mut host_ops,
        } = host_times;
        if windows.is_empty() {
            // Without start times, self times have to do.
            let rows = tables.ops.iter().filter(|row| !row.accelerator);
            host_ops.extend(rows.map(|row| (row.operation.clone(), row.self_ns)));
        }
        let longest = windows.values().map(Intervals::length).max().unwrap_or(0);
        let (whole, whole_ns) = if longest > 0 {
            (whole, longest)
        } else {
            let sum = |sum: u64, row: &OpRow| sum.saturating_add(row.self_ns);
            (Whole::Ops, tables.ops.iter().fold(0, sum))
        };
        Facts {
            exposed: exposed(trace, tables.devices, &windows),
            run_dry,
            host_ops,
            steps: trace.steps().to_vec(),
            input_ops: input_ops(trace),
            names: ShortNames::of(tables.ops.iter().map(|row| row.operation.as_str())),
            tables,
            whole,
            whole_ns,
            windows,
            idle,
        }
    }

    /// A time as a share of the whole.
    pub(crate) fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.whole_ns.max(1) as f64
    }

    /// True if something ran on an accelerator.
    pub(crate) fn has_accelerators(&self) -> bool {
        !self.idle.is_empty()
    }

    /// True if a host op communicates.
    pub(crate) fn communicates(&self, name: &str) -> bool {
        let mut rows = self.tables.ops.iter();
        rows.any(|row| row.communication && !row.accelerator && row.operation == name)
    }

    /// True if a host op loads the program's input.
    pub(crate) fn loads_data(&self, name: &str) -> bool {
        self.input_ops.contains(name) || loads_data(name)
    }

    /// Host ops by what they cost, longest first: with accelerators the time in which they kept them idle, the mean over
    /// devices; else the time in which they ran.
    pub(crate) fn costly_host_ops(&self) -> Vec<(&str, u64)> {
        if !self.has_accelerators() {
            let ops = self.host_ops.iter();
            return ops.map(|op| (op.0.as_str(), op.1)).collect();
        }
        let mut by_op: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, ns) in self.idle.iter().flat_map(|one| &one.host_ops) {
            add_ns(by_op.entry(name).or_default(), *ns);
        }
        let mut ops: Vec<(&str, u64)> = by_op
            .into_iter()
            .map(|(name, ns)| (name, mean(ns, self.idle.len())))
            .collect();
        ops.sort_by_key(|op| std::cmp::Reverse(op.1));
        ops
    }

    /// The mean of the busy time of all accelerators within the time that counts.
    pub(crate) fn busy_ns(&self) -> u64 {
        let busy = self.idle.iter().map(|one| {
            let window = self.windows.get(&one.rank).map_or(0, Intervals::length);
            window.saturating_sub(one.idle_ns)
        });
        mean(busy.saturating_sum(), self.idle.len())
    }

    /// A name for a sentence: its short form, cut at the end where it is still long.
    pub(crate) fn name(&self, name: &str) -> String {
        let short = self.names.get(name);
        if short.chars().count() <= LONGEST_NAME {
            return short.to_owned();
        }
        let mut cut: String = short.chars().take(LONGEST_NAME - 1).collect();
        cut.push('…');
        cut
    }

    /// `name (31 %)`, with the shapes of an op where the part has them.
    pub(crate) fn part_text(&self, part: &FindingPart) -> String {
        let dims = shapes(part.input_shapes.as_deref().unwrap_or(&[]));
        let space = if dims.is_empty() { "" } else { " " };
        let name = self.name(&part.name);
        format!("{name}{space}{dims} ({})", percent(part.share))
    }

    pub(crate) fn part(&self, name: &str, ns: u64) -> FindingPart {
        FindingPart {
            name: name.to_owned(),
            input_shapes: None,
            ns,
            share: self.share(ns),
        }
    }

    pub(crate) fn finding(
        &self,
        kind: FindingKind,
        subject: &str,
        cost_ns: u64,
        section: &str,
    ) -> Finding {
        Finding {
            kind,
            subject: subject.to_owned(),
            cost_ns,
            share: self.share(cost_ns),
            section: section.to_owned(),
            advice: kind.advice().to_owned(),
            ..Finding::default()
        }
    }
}

pub(super) fn mean(sum: u64, count: usize) -> u64 {
    sum.checked_div(count as u64).unwrap_or(0)
}

/// The names of the ops of the kind `io`.
fn input_ops<T: TraceView + ?Sized>(trace: &T) -> HashSet<String> {
    let mut grouping = Grouping::new();
    for view in trace.views() {
        grouping.group(&view, |view| {
            (view.kind() == Some(OpKind::Io)).then(|| view.operation())
        });
    }
    grouping
        .keys()
        .iter()
        .map(|&name| name.to_owned())
        .collect()
}

/// For each rank the time that counts: its steps, else the time from its first start to its last end.
fn windows<T: TraceView + ?Sized>(trace: &T) -> (Whole, BTreeMap<Option<u32>, Intervals>) {
    let mut steps: BTreeMap<Option<u32>, Vec<(i64, i64)>> = BTreeMap::new();
    for step in trace.steps() {
        let of_rank = steps.entry(step.rank).or_default();
        of_rank.push((step.start_ns, step.end_ns));
    }
    if steps.is_empty() {
        return (Whole::Span, spans(trace));
    }
    let windows = steps
        .into_iter()
        .map(|(rank, steps)| (rank, steps.into_iter().collect()));
    (Whole::Steps, windows.collect())
}

/// For each rank the time from its first start to its last end.
fn spans<T: TraceView + ?Sized>(trace: &T) -> BTreeMap<Option<u32>, Intervals> {
    let mut spans: BTreeMap<Option<u32>, (i64, i64)> = BTreeMap::new();
    let mut last: Option<(Option<u32>, (i64, i64))> = None;
    for view in trace.views() {
        let Some((start, end)) = view.start_ns().zip(view.end_ns()) else {
            continue;
        };
        // Entries of a rank mostly come together.
        match &mut last {
            Some((rank, span)) if *rank == view.rank() => {
                *span = (span.0.min(start), span.1.max(end));
            }
            _ => {
                if let Some((rank, span)) = last.replace((view.rank(), (start, end))) {
                    widen(&mut spans, rank, span);
                }
            }
        }
    }
    if let Some((rank, span)) = last {
        widen(&mut spans, rank, span);
    }
    spans
        .into_iter()
        .map(|(rank, span)| (rank, [span].into_iter().collect()))
        .collect()
}

fn widen(spans: &mut BTreeMap<Option<u32>, (i64, i64)>, rank: Option<u32>, by: (i64, i64)) {
    let span = spans.entry(rank).or_insert(by);
    *span = (span.0.min(by.0), span.1.max(by.1));
}

/// Communication on accelerators outside of the computation of its rank, by op, longest first.
fn exposed<T: TraceView + ?Sized>(
    trace: &T,
    devices: &[DeviceSets],
    windows: &BTreeMap<Option<u32>, Intervals>,
) -> Vec<(String, u64)> {
    let mut compute: BTreeMap<Option<u32>, Intervals> = BTreeMap::new();
    let accelerators = || devices.iter().filter(|one| one.is_accelerator());
    if accelerators().all(|one| one.communication.is_empty()) {
        return Vec::new();
    }
    for device in accelerators() {
        let of_rank = compute.entry(device.rank).or_default();
        *of_rank = of_rank.union(&device.compute);
    }
    let mut rule = CommunicationRule::default();
    let mut spans: HashMap<_, Vec<(i64, i64)>> = HashMap::new();
    for index in 0..trace.entry_count() {
        let view = trace.view(index);
        if is_accelerator(&view)
            && rule.holds(&view)
            && let Some(span) = view.start_ns().zip(view.end_ns())
        {
            let key = (view.rank(), view.operation());
            spans.entry(key).or_default().push(span);
        }
    }
    let mut by_op: HashMap<&str, u64> = HashMap::new();
    for ((rank, name), spans) in spans {
        let all: Intervals = spans.into_iter().collect();
        let window = windows.get(&rank).cloned().unwrap_or_default();
        let computing = compute.get(&rank).cloned().unwrap_or_default();
        let alone = all.intersection(&window).difference(&computing);
        add_ns(by_op.entry(name).or_default(), alone.length());
    }
    let mut list: Vec<(String, u64)> = by_op
        .into_iter()
        .map(|(name, ns)| (name.to_owned(), mean(ns, compute.len())))
        .filter(|op| op.1 > 0)
        .collect();
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list
}

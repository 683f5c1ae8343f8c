//! The input of the rules: the tables of a trace, and the time that shares refer to.

use super::super::categories::Categorised;
use super::super::causal::{CausalModel, CausedWaits, IdleTimes, LaunchSummary};
use super::super::collectives::Collective;
use super::super::device_activity::DeviceSets;
use super::super::intervals::Intervals;
use super::super::memory::{HeapRow, MemoryGrowth};
use super::super::op_row::OpRow;
use super::super::short_name::ShortNames;
use super::super::step_table::StepTable;
use super::super::trust::UntrustedOp;
use super::allocation::allocating_ns;
use super::data_loading::Loaders;
use super::exposed_communication::Exposed;
use super::finding::{Finding, FindingKind, FindingPart, Whole};
use super::idle::{IdleTime, idle_times};
use super::slow_step::in_ops;
use super::synchronisations::run_dry_ns;
use super::windows::Windows;
use crate::analyze::intervals::{SaturatingSum as _, add_ns};
use crate::model::wire::metadata::{STAGE, of_rank};
use crate::model::{TraceStep, TraceView};
use crate::units::{few_shapes, percent};
use std::collections::{BTreeMap, HashSet};

/// Characters of a name in a sentence, at most.
const LONGEST_NAME: usize = 60;

/// Tables that both a report and the findings need, so that they are computed once.
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
    pub(crate) steps: &'a StepTable,
    pub(crate) heap: &'a [HeapRow],
    pub(crate) growth: &'a [MemoryGrowth],
}

/// The input of the rules.
pub(crate) struct Facts<'a> {
    pub(crate) tables: Tables<'a>,
    pub(crate) whole: Whole,
    pub(crate) whole_ns: u64,
    /// For each rank the time that shares refer to.
    pub(crate) windows: BTreeMap<Option<u32>, Intervals>,
    /// Idle time of each accelerator.
    pub(crate) idle: Vec<IdleTime>,
    pub(crate) exposed: Exposed,
    /// Idle time of accelerators that began during a synchronisation, by host op; the mean over devices.
    pub(crate) run_dry: Vec<(String, u64)>,
    /// Host ops, each with the time in which it was the op of its rank that began last; longest first, as the mean over
    /// ranks.
    pub(crate) host_ops: Vec<(String, u64)>,
    /// Idle time of accelerators in which the host allocated or freed device memory, by runtime call; the mean over
    /// devices.
    pub(crate) allocating: Vec<(String, u64)>,
    /// The steps as they ran, device work included.
    pub(crate) steps: Vec<TraceStep>,
    /// For each rank the time in which its host is in an op; only computed if a step is slow.
    pub(crate) in_ops: BTreeMap<Option<u32>, Intervals>,
    /// The time for which devices work on steps after their end on the host, if that is long.
    pub(crate) overrun_ns: u64,
    /// The waiting of other ranks that each rank caused, most first.
    pub(crate) caused: Vec<CausedWaits>,
    /// The pipeline stage of each rank that has one.
    pub(crate) stages: BTreeMap<u32, String>,
    /// The work of each rank without communication, if ranks have stages.
    pub(crate) rank_work: BTreeMap<u32, u64>,
    /// Host ops that load the program's input.
    input_ops: HashSet<String>,
    names: ShortNames,
}

/// The results of the causal model that the rules need. The model is as large as the trace, so it can be dropped before
/// the rules run.
#[derive(Debug)]
pub(crate) struct HostTimes {
    windows: Windows,
    idle: Vec<IdleTime>,
    run_dry: Vec<(String, u64)>,
    allocating: Vec<(String, u64)>,
    host_ops: Vec<(String, u64)>,
    caused: Vec<CausedWaits>,
    stages: BTreeMap<u32, String>,
    rank_work: BTreeMap<u32, u64>,
    input_ops: HashSet<String>,
}

impl HostTimes {
    /// `times` are the results of the model.
    pub(crate) fn of<T: TraceView + ?Sized>(
        trace: &T,
        model: &CausalModel<'_, T>,
        devices: &[DeviceSets],
        times: &[IdleTimes],
    ) -> HostTimes {
        let windows = Windows::of(trace);
        let loaders = Loaders::of(trace);
        let (idle, host_ops) = idle_times(model, devices, &windows.by_rank, times, &loaders);
        let stages = stages(trace, &windows.by_rank);
        HostTimes {
            run_dry: run_dry_ns(&model.device_waits(), &idle),
            allocating: allocating_ns(trace, &idle),
            caused: model.caused_waits(),
            rank_work: if stages.is_empty() {
                BTreeMap::new()
            } else {
                model.rank_work()
            },
            stages,
            idle,
            host_ops,
            windows,
            input_ops: loaders.names(),
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
            windows:
                Windows {
                    whole,
                    by_rank: windows,
                    steps,
                    overrun_ns,
                },
            idle,
            run_dry,
            allocating,
            mut host_ops,
            caused,
            stages,
            rank_work,
            input_ops,
        } = host_times;
        if windows.is_empty() {
            // Without start times, self times are used.
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
            exposed: Exposed::of(trace, tables.devices, &windows),
            run_dry,
            host_ops,
            allocating,
            in_ops: in_ops(trace, &steps),
            steps,
            overrun_ns,
            caused,
            stages,
            rank_work,
            input_ops,
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
        self.input_ops.contains(name)
    }

    /// Host ops by their cost, highest first: with accelerators, the time in which the accelerators were idle while the
    /// op ran, as the mean over devices; else the time in which the op ran.
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

    /// The mean busy time of all accelerators, within the time that shares refer to.
    pub(crate) fn busy_ns(&self) -> u64 {
        let busy = self.idle.iter().map(|one| {
            let window = self.windows.get(&one.rank).map_or(0, Intervals::length);
            window.saturating_sub(one.idle_ns)
        });
        mean(busy.saturating_sum(), self.idle.len())
    }

    /// A name for a sentence: its short form, cut at the end if it is still long.
    pub(crate) fn name(&self, name: &str) -> String {
        let short = self.names.get(name);
        if short.chars().count() <= LONGEST_NAME {
            return short.to_owned();
        }
        let mut cut: String = short.chars().take(LONGEST_NAME - 1).collect();
        cut.push('…');
        cut
    }

    /// `name (31 %)`, with the shapes of an op if the part has them.
    pub(crate) fn part_text(&self, part: &FindingPart) -> String {
        let dims = few_shapes(part.input_shapes.as_deref().unwrap_or(&[]));
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

/// The pipeline stage of each rank whose metadata have one.
fn stages<T: TraceView + ?Sized>(
    trace: &T,
    ranks: &BTreeMap<Option<u32>, Intervals>,
) -> BTreeMap<u32, String> {
    let stage = |rank: u32| trace.metadata().get(&of_rank(rank, STAGE)).cloned();
    let ranks = ranks.keys().flatten();
    ranks
        .filter_map(|&rank| Some((rank, stage(rank)?)))
        .collect()
}

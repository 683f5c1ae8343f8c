//! The time that the shares of all findings refer to.

use super::finding::Whole;
use crate::analyze::intervals::{Intervals, SaturatingSum as _};
use crate::analyze::step_of::device_ends;
use crate::model::{TraceStep, TraceView};
use std::collections::BTreeMap;

/// If devices work on steps after their end on the host for at least this share of the time, the host only queued the
/// work, and the recorded lengths of steps are not the lengths of their work.
const RUNS_AHEAD: f64 = 0.05;

/// Time between steps that is a smaller share of the time from the first to the last step is normal.
const BETWEEN: f64 = 0.2;

/// The time that shares refer to.
#[derive(Debug)]
pub(super) struct Windows {
    pub(super) whole: Whole,
    pub(super) by_rank: BTreeMap<Option<u32>, Intervals>,
    /// The steps. If the host runs ahead of its devices, a step ends with the device work that was launched in it, and
    /// does not begin before the previous step has ended.
    pub(super) steps: Vec<TraceStep>,
    /// If the host runs ahead, the time for which devices work on steps after their end on the host: the largest of all
    /// ranks. Otherwise zero.
    pub(super) overrun_ns: u64,
    /// The time between steps, of the rank with the most, if it is long: it is not part of the whole.
    pub(super) between_ns: u64,
}

impl Windows {
    /// For each rank its steps, with the device work that was launched in them; without steps the time from its first
    /// start to its last end.
    pub(super) fn of<T: TraceView + ?Sized>(trace: &T) -> Windows {
        let marked = trace.steps();
        if marked.is_empty() {
            return Windows {
                whole: Whole::Span,
                by_rank: spans(trace),
                steps: Vec::new(),
                overrun_ns: 0,
                between_ns: 0,
            };
        }
        let ends: Vec<i64> = marked
            .iter()
            .zip(device_ends(trace))
            .map(|(step, end)| step.end_ns.max(end))
            .collect();
        let by_rank = union_by_rank(marked.iter().map(|step| step.start_ns), &ends, marked);
        // The host may wait for all of its work in the last step: that step then covers the work of the others.
        let overruns = union_by_rank(marked.iter().map(|step| step.end_ns), &ends, marked);
        let length =
            |sets: &BTreeMap<_, Intervals>| sets.values().map(Intervals::length).saturating_sum();
        let ahead = length(&overruns) as f64 > RUNS_AHEAD * length(&by_rank) as f64;
        Windows {
            whole: Whole::Steps,
            steps: if ahead {
                one_after_the_other(marked, &ends)
            } else {
                marked.to_vec()
            },
            overrun_ns: if ahead {
                overruns.values().map(Intervals::length).max().unwrap_or(0)
            } else {
                0
            },
            between_ns: by_rank.values().map(between_ns).max().unwrap_or(0),
            by_rank,
        }
    }
}

/// The time between the steps of a rank, if it is long.
fn between_ns(steps: &Intervals) -> u64 {
    let ends = steps.as_slice().first().zip(steps.as_slice().last());
    let whole = ends.map_or(0, |(first, last)| last.1.abs_diff(first.0));
    let between = whole.saturating_sub(steps.length());
    if between as f64 > BETWEEN * whole as f64 {
        between
    } else {
        0
    }
}

/// For each rank the union of the times from these starts to these ends, of all of its steps.
fn union_by_rank(
    starts: impl Iterator<Item = i64>,
    ends: &[i64],
    steps: &[TraceStep],
) -> BTreeMap<Option<u32>, Intervals> {
    let mut by_rank: BTreeMap<Option<u32>, Vec<(i64, i64)>> = BTreeMap::new();
    for ((step, start), &end) in steps.iter().zip(starts).zip(ends) {
        by_rank.entry(step.rank).or_default().push((start, end));
    }
    by_rank
        .into_iter()
        .map(|(rank, steps)| (rank, steps.into_iter().collect()))
        .collect()
}

/// The steps with these ends, each from the end of the step before it on its rank.
fn one_after_the_other(steps: &[TraceStep], ends: &[i64]) -> Vec<TraceStep> {
    let mut steps: Vec<TraceStep> = steps
        .iter()
        .zip(ends)
        .map(|(step, &end)| TraceStep {
            end_ns: end,
            ..*step
        })
        .collect();
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|&index| (steps[index].rank, steps[index].start_ns));
    let mut last: Option<(Option<u32>, i64)> = None;
    for index in order {
        let step = &mut steps[index];
        if let Some((_, end)) = last.filter(|last| last.0 == step.rank) {
            step.start_ns = step.start_ns.max(end).min(step.end_ns);
        }
        let before = last
            .filter(|last| last.0 == step.rank)
            .map_or(i64::MIN, |last| last.1);
        last = Some((step.rank, before.max(step.end_ns)));
    }
    steps
}

/// For each rank the time from its first start to its last end.
fn spans<T: TraceView + ?Sized>(trace: &T) -> BTreeMap<Option<u32>, Intervals> {
    let mut spans: BTreeMap<Option<u32>, (i64, i64)> = BTreeMap::new();
    let mut last: Option<(Option<u32>, (i64, i64))> = None;
    for view in trace.views() {
        let Some((start, end)) = view.start_ns().zip(view.end_ns()) else {
            continue;
        };
        // Entries of one rank are mostly next to each other.
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

//! The time that the shares of all findings refer to.

use super::finding::Whole;
use crate::analyze::intervals::{Intervals, SaturatingSum as _};
use crate::analyze::step_of::device_ends;
use crate::model::{TraceStep, TraceView};
use std::collections::BTreeMap;

/// If devices work on steps after their end on the host for at least this share of their time, the host only queued the
/// work, and the recorded lengths of steps are not the lengths of their work.
const RUNS_AHEAD: f64 = 0.05;

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
            };
        }
        let ends: Vec<i64> = marked
            .iter()
            .zip(device_ends(trace))
            .map(|(step, end)| step.end_ns.max(end))
            .collect();
        let by_rank = union_by_rank(marked, &ends);
        let host_ends: Vec<i64> = marked.iter().map(|step| step.end_ns).collect();
        let on_host = union_by_rank(marked, &host_ends);
        let length =
            |sets: &BTreeMap<_, Intervals>| sets.values().map(Intervals::length).saturating_sum();
        let ahead = length(&by_rank) as f64 > (1.0 + RUNS_AHEAD) * length(&on_host) as f64;
        let longer = |(rank, set): (&Option<u32>, &Intervals)| {
            let on_host = on_host.get(rank).map_or(0, Intervals::length);
            set.length().saturating_sub(on_host)
        };
        Windows {
            whole: Whole::Steps,
            steps: if ahead {
                one_after_the_other(marked, &ends)
            } else {
                marked.to_vec()
            },
            overrun_ns: if ahead {
                by_rank.iter().map(longer).max().unwrap_or(0)
            } else {
                0
            },
            by_rank,
        }
    }
}

fn union_by_rank(steps: &[TraceStep], ends: &[i64]) -> BTreeMap<Option<u32>, Intervals> {
    let mut by_rank: BTreeMap<Option<u32>, Vec<(i64, i64)>> = BTreeMap::new();
    for (step, &end) in steps.iter().zip(ends) {
        let of_rank = by_rank.entry(step.rank).or_default();
        of_rank.push((step.start_ns, end));
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

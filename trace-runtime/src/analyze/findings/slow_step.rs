//! Rule: one step is much slower than the others.

use super::facts::Facts;
use super::finding::{Finding, FindingKind, FindingPart};
use crate::analyze::device_time::is_accelerator;
use crate::analyze::intervals::Intervals;
use crate::model::{TraceStep, TraceView};
use crate::units::{duration, percent, prose};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Fewer steps do not show what is usual.
const LEAST_STEPS: usize = 3;
/// A slow step takes at least this many times the median.
const SLOW: f64 = 1.5;
/// Smaller shares are not listed.
const LEAST: f64 = 0.02;
/// An op explains a slow step if it causes at least this share of the additional time.
const EXPLAINS: f64 = 0.3;

/// For each rank the time in which its host is in an op or a runtime call, if there are enough steps to find a slow
/// one.
pub(super) fn in_ops<T: TraceView + ?Sized>(
    trace: &T,
    steps: &[TraceStep],
) -> BTreeMap<Option<u32>, Intervals> {
    let mut spans: BTreeMap<Option<u32>, Vec<(i64, i64)>> = BTreeMap::new();
    if slow(steps).is_none() {
        return BTreeMap::new();
    }
    for view in trace.views().filter(|view| !is_accelerator(view)) {
        if let Some(span) = view.start_ns().zip(view.end_ns()) {
            spans.entry(view.rank()).or_default().push(span);
        }
    }
    for call in trace.runtime_calls() {
        let of_rank = spans.entry(call.rank).or_default();
        of_rank.push((call.start_ns, call.end_ns()));
    }
    let union = |(rank, spans): (_, Vec<_>)| (rank, spans.into_iter().collect());
    spans.into_iter().map(union).collect()
}

/// The slowest of at least three steps and the median length, if it is slow.
fn slow(steps: &[TraceStep]) -> Option<(&TraceStep, u64)> {
    let slowest = steps.iter().max_by_key(|step| step.length_ns())?;
    let mut lengths: Vec<u64> = steps.iter().map(TraceStep::length_ns).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    let usual = (slowest.length_ns() as f64) < SLOW * median as f64;
    (steps.len() >= LEAST_STEPS && !usual).then_some((slowest, median))
}

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let Some((slowest, median)) = slow(&facts.steps) else {
        return Vec::new();
    };
    let length = slowest.length_ns();
    let cost_ns = length.saturating_sub(median);
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let kind = FindingKind::SlowStep;
    let mut finding = facts.finding(kind, &slowest.number.to_string(), cost_ns, "Steps");
    let of_rank = slowest
        .rank
        .map_or_else(String::new, |rank| format!(" of rank {rank}"));
    finding.sentence = format!(
        "step {}{of_rank} takes {}, {:.1} times the median; without it {} of the time would be saved",
        slowest.number,
        prose(&duration(length)),
        length as f64 / median.max(1) as f64,
        percent(finding.share)
    );
    finding.parts = reasons(facts, slowest, cost_ns);
    if let Some(first) = finding.parts.first() {
        let longer = prose(&duration(first.ns));
        let _ = write!(
            finding.sentence,
            "; {} takes {longer} longer in it",
            facts.name(&first.name)
        );
    } else if let Some(ns) = outside_longer(facts, slowest)
        && ns as f64 >= EXPLAINS * cost_ns as f64
    {
        let longer = prose(&duration(ns));
        let _ = write!(
            finding.sentence,
            "; the host is outside of traced ops for {longer} longer in it"
        );
    }
    vec![finding]
}

/// How much longer the host is outside of ops in a step than in the median of all.
fn outside_longer(facts: &Facts<'_>, slowest: &TraceStep) -> Option<u64> {
    let outside = |step: &TraceStep| {
        let in_ops = facts.in_ops.get(&step.rank)?;
        let window: Intervals = [(step.start_ns, step.end_ns)].into_iter().collect();
        Some(window.difference(in_ops).length())
    };
    let mut all: Vec<u64> = facts.steps.iter().filter_map(outside).collect();
    all.sort_unstable();
    let usual = *all.get(all.len() / 2)?;
    Some(outside(slowest)?.saturating_sub(usual))
}

/// Ops that explain much of the additional time of a step, with their own additional time in it.
fn reasons(facts: &Facts<'_>, slowest: &TraceStep, cost_ns: u64) -> Vec<FindingPart> {
    let table = facts.tables.steps;
    let same = table
        .slowest
        .and_then(|index| table.steps.get(index))
        .is_some_and(|row| (row.number, row.rank) == (slowest.number, slowest.rank));
    if !same {
        return Vec::new();
    }
    let longer = table
        .slower_ops
        .iter()
        .map(|op| (op, op.self_ns - op.usual_ns));
    longer
        .filter(|(_, ns)| *ns as f64 >= EXPLAINS * cost_ns as f64)
        .map(|(op, ns)| FindingPart {
            input_shapes: Some(op.input_shapes.clone()).filter(|dims| !dims.is_empty()),
            ..facts.part(&op.operation, ns)
        })
        .collect()
}

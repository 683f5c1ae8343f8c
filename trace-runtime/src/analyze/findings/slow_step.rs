//! Rule: one step is much slower than the others.

use super::facts::Facts;
use super::finding::{Finding, FindingKind, FindingPart};
use crate::model::TraceStep;
use crate::units::{duration, percent, prose};
use std::fmt::Write as _;

/// Fewer steps do not show what is usual.
const LEAST_STEPS: usize = 3;
/// A slow step takes at least this many times the median.
const SLOW: f64 = 1.5;
/// Smaller shares are not listed.
const LEAST: f64 = 0.02;
/// An op explains a slow step if it causes at least this share of the additional time.
const EXPLAINS: f64 = 0.3;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let steps = &facts.steps;
    let Some(slowest) = steps.iter().max_by_key(|step| step.length_ns()) else {
        return Vec::new();
    };
    let mut lengths: Vec<u64> = steps.iter().map(TraceStep::length_ns).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    let length = slowest.length_ns();
    let cost_ns = length.saturating_sub(median);
    let usual = (length as f64) < SLOW * median as f64;
    if steps.len() < LEAST_STEPS || usual || facts.share(cost_ns) < LEAST {
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
    }
    vec![finding]
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

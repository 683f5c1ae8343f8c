//! Rule: one step is much slower than the others.

use super::facts::Facts;
use super::finding::{Finding, FindingKind};
use crate::model::TraceStep;
use crate::units::{duration, percent, prose};

/// Fewer steps do not show what is usual.
const LEAST_STEPS: usize = 3;
/// A slow step takes at least this many times the median.
const SLOW: f64 = 1.5;
/// Smaller shares are not listed.
const LEAST: f64 = 0.02;

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
    vec![finding]
}

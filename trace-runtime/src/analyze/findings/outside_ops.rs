//! Rule: the host spends its time outside of traced ops.

use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use super::straggler::straggler;
use crate::analyze::intervals::{Intervals, SaturatingSum as _};
use crate::units::percent;

/// Smaller shares are not listed: some time between ops is normal.
const LEAST: f64 = 0.2;

/// What to try in a pipeline.
const PIPELINE: &str = "more and smaller microbatches, or a schedule with shorter bubbles; trace the waiting for messages \
     to see how much of it that is";

/// With accelerators, [`host_bound`](super::host_bound) reports this time if it matters.
pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.has_accelerators() || facts.windows.is_empty() {
        return Vec::new();
    }
    let ranks = facts.windows.len();
    let window = facts
        .windows
        .values()
        .map(Intervals::length)
        .saturating_sum();
    let in_ops = facts.host_ops.iter().map(|op| op.1).saturating_sum();
    // The time of ops that only wait does not count as time outside ops.
    let rows = || facts.tables.ops.iter();
    let waiting = rows().map(|row| row.waiting_ns).saturating_sum();
    let suspended = rows().map(|row| row.suspended_ns).max().unwrap_or(0);
    let cost_ns = mean(window, ranks)
        .saturating_sub(in_ops)
        .saturating_sub(mean(waiting, ranks))
        .saturating_sub(suspended);
    // Ranks of a pipeline have nothing to do until a message arrives. The cost of a long stage is another finding.
    let is_pipeline = !facts.stages.is_empty();
    let by_stage = straggler(facts).filter(|_| is_pipeline);
    let cost_ns = cost_ns.saturating_sub(by_stage.map_or(0, |one| one.cost_ns));
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let mut finding = facts.finding(FindingKind::OutsideOps, "host", cost_ns, "By op");
    let share = percent(finding.share);
    finding.sentence = if is_pipeline {
        PIPELINE.clone_into(&mut finding.advice);
        format!(
            "{share} of the time the ranks of the pipeline run no op and may wait for other stages"
        )
    } else {
        format!("{share} of the time is outside of traced ops")
    };
    vec![finding]
}

//! Rule: async ops are suspended and nothing else runs.

use super::facts::Facts;
use super::finding::{Finding, FindingKind};
use crate::units::percent;

/// Smaller shares are not listed.
const LEAST: f64 = 0.05;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let ops = facts.tables.ops;
    let Some(longest) = ops.iter().max_by_key(|row| row.suspended_ns) else {
        return Vec::new();
    };
    // The moments at which an op was suspended are not recorded, so the cost is at most the time in which no op ran.
    let running = ops
        .iter()
        .fold(0, |sum: u64, row| sum.saturating_add(row.self_ns));
    let cost_ns = longest
        .suspended_ns
        .min(facts.whole_ns.saturating_sub(running));
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let kind = FindingKind::Suspended;
    let mut finding = facts.finding(kind, &longest.operation, cost_ns, "By op");
    let mut rows: Vec<_> = ops.iter().filter(|row| row.suspended_ns > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.suspended_ns));
    finding.parts = rows
        .iter()
        .take(5)
        .map(|row| facts.part(&row.operation, row.suspended_ns))
        .collect();
    finding.sentence = format!(
        "{} of the time nothing runs while {} is suspended",
        percent(finding.share),
        facts.name(&longest.operation)
    );
    vec![finding]
}

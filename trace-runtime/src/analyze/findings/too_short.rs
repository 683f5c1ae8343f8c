//! Rule: ops so short that recording them costs a noticeable part of their time.

use super::facts::Facts;
use super::finding::{Finding, FindingKind};
use crate::analyze::intervals::SaturatingSum as _;
use crate::units::{count, percent};

/// Below this share the cost of recording is not a finding. The report still has a note about ops that are too short to
/// measure.
const LEAST: f64 = 0.01;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let untrusted = facts.tables.untrusted;
    let Some((overhead_ns, first)) = facts.tables.overhead_ns.zip(untrusted.first()) else {
        return Vec::new();
    };
    let calls = untrusted.iter().map(|op| op.count as u64).saturating_sum();
    let cost_ns = calls.saturating_mul(overhead_ns);
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let kind = FindingKind::TooShort;
    let mut finding = facts.finding(kind, &first.operation, cost_ns, "Too short to trust");
    finding.parts = untrusted
        .iter()
        .take(5)
        .map(|op| facts.part(&op.operation, (op.count as u64).saturating_mul(overhead_ns)))
        .collect();
    finding.sentence = format!(
        "{} calls are too short to trust: recording them takes {} of the time (most often {})",
        count(calls),
        percent(finding.share),
        facts.name(&first.operation)
    );
    vec![finding]
}

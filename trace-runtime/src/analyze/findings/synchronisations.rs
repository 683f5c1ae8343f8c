//! Rule: a device runs out of work while the host waits for it.

use super::super::causal::DeviceWait;
use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use super::idle::IdleTime;
use crate::analyze::intervals::add_ns;
use crate::units::percent;
use std::collections::HashMap;

/// Smaller shares are not listed.
const LEAST: f64 = 0.02;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let total = facts
        .run_dry
        .iter()
        .fold(0, |sum: u64, op| sum.saturating_add(op.1));
    let Some((first, _)) = facts.run_dry.first() else {
        return Vec::new();
    };
    if facts.share(total) < LEAST {
        return Vec::new();
    }
    let mut finding = facts.finding(
        FindingKind::Synchronisation,
        first,
        total,
        "By op, on the host",
    );
    finding.parts = facts
        .run_dry
        .iter()
        .map(|(name, ns)| facts.part(name, *ns))
        .collect();
    finding.sentence = format!(
        "{} of the time the device has run out of work at a synchronisation ({})",
        percent(finding.share),
        facts.name(first)
    );
    vec![finding]
}

/// Idle time that began while the host waited for the device, by the op that waited, longest first; the mean over
/// devices. A wait costs at most its own length: without it, the host would have launched the next work earlier by that
/// time.
pub(super) fn run_dry_ns(waits: &[DeviceWait<'_>], devices: &[IdleTime]) -> Vec<(String, u64)> {
    let mut by_op: HashMap<&str, u64> = HashMap::new();
    for device in devices {
        let gaps = device.idle.as_slice();
        // The first gap that has not been charged to a wait.
        let mut next = 0;
        for wait in waits.iter().filter(|wait| wait.rank == device.rank) {
            next = next.max(gaps.partition_point(|gap| gap.0 < wait.start));
            let mut left = wait.end.abs_diff(wait.start);
            while let Some(gap) = gaps.get(next).filter(|gap| gap.0 <= wait.end) {
                let cost = gap.1.abs_diff(gap.0).min(left);
                left -= cost;
                add_ns(by_op.entry(wait.operation).or_default(), cost);
                next += 1;
            }
        }
    }
    let mut list: Vec<(String, u64)> = by_op
        .into_iter()
        .map(|(name, ns)| (name.to_owned(), mean(ns, devices.len())))
        .filter(|op| op.1 > 0)
        .collect();
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list
}

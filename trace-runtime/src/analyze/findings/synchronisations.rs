//! Rule: a device runs out of work while the host waits for it.

use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use super::idle::IdleTime;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
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

/// Idle time that began while the host was inside a synchronisation, by op, longest first; the mean over
/// devices. A synchronisation outside of ops counts under its own name.
pub(super) fn run_dry_ns<T: TraceView + ?Sized>(
    trace: &T,
    devices: &[IdleTime],
) -> Vec<(String, u64)> {
    if devices.is_empty() {
        return Vec::new();
    }
    let mut by_op: HashMap<&str, u64> = HashMap::new();
    // By device: the first gap that no call is charged with yet.
    let mut next: Vec<usize> = vec![0; devices.len()];
    for call in trace.runtime_calls() {
        if !call.name.ends_with("Synchronize") {
            continue;
        }
        let op = call.during.and_then(|step| trace.index_of_step(step));
        let name = op.map_or(call.name, |index| trace.view(index).operation());
        for (device, next) in devices.iter().zip(&mut next) {
            if device.rank != call.rank {
                continue;
            }
            let gaps = device.idle.as_slice();
            *next = (*next).max(gaps.partition_point(|gap| gap.0 < call.start_ns));
            while let Some(gap) = gaps.get(*next).filter(|gap| gap.0 < call.end_ns()) {
                add_ns(by_op.entry(name).or_default(), gap.1.abs_diff(gap.0));
                *next += 1;
            }
        }
    }
    let mut list: Vec<(String, u64)> = by_op
        .into_iter()
        .map(|(name, ns)| (name.to_owned(), mean(ns, devices.len())))
        .collect();
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list
}

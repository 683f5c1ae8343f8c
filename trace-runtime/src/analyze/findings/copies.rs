//! Rule: copies that do not overlap with other work.

use super::super::op_category::OpCategory;
use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use crate::analyze::intervals::SaturatingSum as _;
use crate::units::percent;

/// Smaller shares are not listed.
const LEAST: f64 = 0.03;

/// The advice if nothing is copied between a host and a device.
const ON_HOST: &str = "write results in place or into outputs that exist, keep tensors in the layout that the next op needs";

/// The advice if most copies are from a device to the same device.
const ON_DEVICE: &str = "write results to where the next kernel reads them, avoid layout changes, and combine small copies";

/// The advice if most copies are from or to pinned memory: they do not block, but nothing runs meanwhile.
const PINNED: &str = "start them earlier on a separate stream, so that they overlap with computation; send less (smaller \
     types, data that stays on the device)";

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let (cost_ns, ops, section) = if facts.has_accelerators() {
        let accelerators = || {
            facts
                .tables
                .devices
                .iter()
                .filter(|one| one.is_accelerator())
        };
        let alone = |one: &super::super::device_activity::DeviceSets| {
            let window = facts.windows.get(&one.rank).cloned().unwrap_or_default();
            let alone = one
                .memory
                .difference(&one.compute)
                .difference(&one.communication);
            alone.intersection(&window).length()
        };
        let sum = accelerators().map(alone).saturating_sum();
        let copies = facts.tables.categorised.ops.iter().filter(|one| one.memory);
        let ops: Vec<(&str, u64)> = copies
            .map(|one| (one.operation.as_str(), mean(one.self_ns, facts.idle.len())))
            .collect();
        (mean(sum, accelerators().count()), ops, "Devices")
    } else {
        let ops = facts.host_ops.iter();
        let ops: Vec<(&str, u64)> = ops
            .filter(|op| OpCategory::of_op(&op.0) == Some(OpCategory::Copy))
            // A `reduce-scatter` is communication, for which there is a separate rule.
            .filter(|op| !facts.communicates(&op.0))
            .map(|op| (op.0.as_str(), op.1))
            .collect();
        (
            ops.iter().map(|op| op.1).saturating_sum(),
            ops,
            "By category",
        )
    };
    let Some((first, _)) = ops.first() else {
        return Vec::new();
    };
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let mut finding = facts.finding(FindingKind::Copies, first, cost_ns, section);
    if facts.has_accelerators() {
        let all = ops.iter().map(|op| op.1).saturating_sum();
        let most = |is: fn(&str) -> bool| {
            let of = ops.iter().filter(|op| is(op.0)).map(|op| op.1);
            of.saturating_sum() > all / 2
        };
        if most(stays_on_device) {
            ON_DEVICE.clone_into(&mut finding.advice);
        } else if most(|copy| copy.contains("Pinned")) {
            PINNED.clone_into(&mut finding.advice);
        }
    } else {
        ON_HOST.clone_into(&mut finding.advice);
    }
    finding.parts = ops
        .iter()
        .take(5)
        .map(|(name, ns)| facts.part(name, *ns))
        .collect();
    finding.sentence = format!(
        "{} of the time goes into copies, mostly {}",
        percent(finding.share),
        facts.name(first)
    );
    vec![finding]
}

/// True for a copy that does not leave its device (`Memcpy DtoD (Device -> Device)`).
fn stays_on_device(copy: &str) -> bool {
    copy.contains("DtoD") || copy.contains("Device -> Device")
}

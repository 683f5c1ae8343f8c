//! Rule: one host op takes much of the time.

use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind, FindingPart};
use crate::analyze::intervals::add_ns;
use crate::units::{percent, shapes};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Smaller shares are not listed.
const LEAST: f64 = 0.05;
/// Ops listed, at most.
const MOST: usize = 4;
/// Shapes listed for an op, at most.
const SHAPES: usize = 3;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let mut ops = if facts.has_accelerators() {
        while_devices_idle(facts)
    } else {
        in_all(facts)
    };
    ops.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    ops.retain(|op| facts.share(op.1) >= LEAST);
    ops.truncate(MOST);
    ops.into_iter()
        .map(|(name, cost_ns)| finding(facts, name, cost_ns))
        .collect()
}

/// Without accelerators, a host op costs the time in which it ran.
fn in_all<'b>(facts: &'b Facts<'_>) -> Vec<(&'b str, u64)> {
    let ops = facts.host_ops.iter();
    ops.filter(|op| !facts.communicates(&op.0))
        .map(|op| (op.0.as_str(), op.1))
        .collect()
}

/// With accelerators, a host op costs the time in which it kept them idle.
fn while_devices_idle<'b>(facts: &'b Facts<'_>) -> Vec<(&'b str, u64)> {
    let mut by_op: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, ns) in facts.idle.iter().flat_map(|one| &one.host_ops) {
        add_ns(by_op.entry(name).or_default(), *ns);
    }
    by_op
        .into_iter()
        .map(|(name, ns)| (name, mean(ns, facts.idle.len())))
        .collect()
}

fn finding(facts: &Facts<'_>, name: &str, cost_ns: u64) -> Finding {
    let on_devices = facts.has_accelerators();
    let section = if on_devices {
        "By op, on the host"
    } else {
        "By op"
    };
    let mut finding = facts.finding(FindingKind::HostOp, name, cost_ns, section);
    let rows = facts.tables.shapes.iter().filter(|row| {
        let shaped = row
            .input_shapes
            .as_ref()
            .is_some_and(|dims| !dims.is_empty());
        !row.accelerator && row.operation == name && shaped
    });
    finding.parts = rows
        .take(SHAPES)
        .map(|row| FindingPart {
            input_shapes: row.input_shapes.clone(),
            ..facts.part(name, row.self_ns)
        })
        .collect();
    let short = facts.name(name);
    let takes = percent(finding.share);
    finding.sentence = if on_devices {
        format!("{short} takes {takes} of the time while the device is idle")
    } else {
        format!("{short} takes {takes} of the time")
    };
    // One shape alone has the share of the op.
    if let [first, _, ..] = finding.parts.as_slice()
        && !on_devices
    {
        let dims = shapes(first.input_shapes.as_deref().unwrap_or(&[]));
        let share = percent(first.share);
        let _ = write!(
            finding.sentence,
            "; its longest shapes are {dims} ({share})"
        );
    }
    finding
}

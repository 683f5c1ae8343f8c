//! Rule: one host op takes much of the time.

use super::facts::Facts;
use super::finding::{Finding, FindingKind, FindingPart};
use crate::units::{percent, shapes};
use std::fmt::Write as _;

/// Smaller shares are not listed.
const LEAST: f64 = 0.05;
/// Ops listed, at most.
const MOST: usize = 4;
/// Shapes listed for an op, at most.
const SHAPES: usize = 3;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let mut ops = facts.costly_host_ops();
    // Communication and input pipelines have their own rules.
    ops.retain(|op| {
        let other_rule = facts.communicates(op.0) || facts.loads_data(op.0);
        facts.share(op.1) >= LEAST && !other_rule
    });
    ops.truncate(MOST);
    ops.into_iter()
        .map(|(name, cost_ns)| finding(facts, name, cost_ns))
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
    // A single shape would only repeat the share of the op.
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

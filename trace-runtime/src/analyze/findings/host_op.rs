//! Rule: one host op takes much of the time.

use super::super::op_row::OpRow;
use super::facts::Facts;
use super::finding::{Finding, FindingKind, FindingPart};
use crate::units::{count, duration, few_shapes, percent, prose};
use std::fmt::Write as _;

/// Smaller shares are not listed.
const LEAST: f64 = 0.05;
/// Ops listed, at most.
const MOST: usize = 4;
/// Shapes listed for an op, at most.
const SHAPES: usize = 3;
/// A call is an exception if it takes this share of the time of all calls, and this many times the median.
const MOST_OF_IT: f64 = 0.8;
pub(super) const TIMES_MEDIAN: u64 = 20;

/// The advice if one call of many takes nearly all of the time.
pub(super) const ONCE: &str = "if the long call is the first use (initialisation, loading of libraries, compilation, \
     autotuning), do that before the part that is measured; else find out what else happened at that moment";

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
    let long_call = long_call(facts, name);
    let short = facts.name(name);
    let takes = percent(finding.share);
    finding.sentence = if on_devices {
        format!("{short} takes {takes} of the time while the device is idle")
    } else {
        format!("{short} takes {takes} of the time")
    };
    if let Some(row) = long_call {
        ONCE.clone_into(&mut finding.advice);
        finding.sentence.push_str(&long_call_text(row));
    }
    // A single shape would only repeat the share of the op.
    if let [first, _, ..] = finding.parts.as_slice()
        && !on_devices
        && long_call.is_none()
    {
        let dims = few_shapes(first.input_shapes.as_deref().unwrap_or(&[]));
        let share = percent(first.share);
        let _ = write!(
            finding.sentence,
            "; its longest shapes are {dims} ({share})"
        );
    }
    finding
}

/// The row of a host op if one call takes nearly all of its time: the first use, or an accident.
pub(super) fn long_call<'a>(facts: &Facts<'a>, name: &str) -> Option<&'a OpRow> {
    let mut rows = facts.tables.ops.iter();
    let row = rows.find(|row| !row.accelerator && row.operation == name)?;
    // The durations of calls include the ops inside of them.
    let is_own_time = row.self_ns >= row.total_ns / 2;
    let is_most = row.max_ns as f64 >= MOST_OF_IT * row.sum_ns as f64;
    let is_unusual = row.max_ns >= row.p50_ns.saturating_mul(TIMES_MEDIAN);
    (row.count > 2 && is_own_time && is_most && is_unusual).then_some(row)
}

/// The length of the longest call, compared with the median.
pub(super) fn long_call_text(row: &OpRow) -> String {
    format!(
        "; one of its {} calls takes {}, the median {}",
        count(row.count as u64),
        prose(&duration(row.max_ns)),
        prose(&duration(row.p50_ns))
    )
}

//! Rule: one category of work, or one kernel, takes much of the time of a busy device.

use super::super::op_category::OpCategory;
use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use super::host_op::{TIMES_MEDIAN, long_call_text};
use crate::units::percent;
use std::fmt::Write as _;

/// If the device is busy for a smaller share, the run does not wait for it.
const LEAST_BUSY: f64 = 0.3;
/// Smaller shares are not listed.
const LEAST: f64 = 0.05;
/// Kernels listed for a category, at most.
const KERNELS: usize = 5;

/// The advice for a category, if it is not the general advice to compare it with the peaks.
fn advice(category: OpCategory) -> Option<&'static str> {
    match category {
        OpCategory::Elementwise | OpCategory::Normalisation | OpCategory::Reduction => Some(
            "fuse these kernels with each other or with the products before them (compile the model, use fused \
             versions): most of their time is reading and writing memory",
        ),
        _ => None,
    }
}

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.share(facts.busy_ns()) < LEAST_BUSY {
        return Vec::new();
    }
    let mut found: Vec<Finding> = Vec::new();
    // The sum over streams can be larger than the time in which the device was busy within the steps.
    let cost = |self_ns: u64| mean(self_ns, facts.idle.len()).min(facts.busy_ns());
    for time in &facts.tables.categorised.times {
        let cost_ns = cost(time.self_ns);
        // Communication and copies have their own rules: they cost only the time in which they do not overlap with
        // other work.
        let named = !matches!(
            time.category,
            OpCategory::Communication | OpCategory::Copy | OpCategory::Other
        );
        if !named || facts.share(cost_ns) < LEAST {
            continue;
        }
        let kind = FindingKind::DeviceCategory;
        let mut finding = facts.finding(
            kind,
            time.category.name(),
            cost_ns,
            "By category, on devices",
        );
        finding.parts = facts
            .tables
            .categorised
            .ops
            .iter()
            .filter(|kernel| kernel.category == time.category)
            .take(KERNELS)
            .map(|kernel| facts.part(&kernel.operation, cost(kernel.self_ns)))
            .collect();
        if let Some(advice) = advice(time.category) {
            advice.clone_into(&mut finding.advice);
        }
        finding.sentence = format!(
            "{} takes {} of the time on the device",
            time.category,
            percent(finding.share)
        );
        if let Some(first) = finding.parts.first()
            && first.name != finding.subject
        {
            let _ = if first.ns > finding.cost_ns / 100 * 99 {
                let tail = long_tail(facts, &first.name);
                write!(finding.sentence, ", in {}{tail}", facts.name(&first.name))
            } else {
                let longest = facts.part_text(first);
                write!(finding.sentence, "; its longest kernel is {longest}")
            };
        }
        found.push(finding);
    }
    let ops = facts.tables.categorised.ops.iter();
    let kernels = ops.filter(|op| !op.memory && op.category != OpCategory::Communication);
    for kernel in kernels.take(3) {
        let cost_ns = cost(kernel.self_ns);
        if facts.share(cost_ns) < LEAST {
            break;
        }
        // A category of one kernel is one finding.
        let category = found
            .iter()
            .find(|one| one.subject == kernel.category.name());
        if category.is_some_and(|one| cost_ns > one.cost_ns / 10 * 9) {
            continue;
        }
        let kind = FindingKind::DeviceOp;
        let mut finding = facts.finding(kind, &kernel.operation, cost_ns, "By op, on devices");
        if let Some(advice) = advice(kernel.category) {
            advice.clone_into(&mut finding.advice);
        }
        finding.sentence = format!(
            "{} takes {} of the time on the device",
            facts.name(&kernel.operation),
            percent(finding.share)
        );
        finding
            .sentence
            .push_str(&long_tail(facts, &kernel.operation));
        found.push(finding);
    }
    found
}

/// Text about the longest call of a kernel, if that call costs a noticeable part of the time and is far from usual.
fn long_tail(facts: &Facts<'_>, kernel: &str) -> String {
    let mut rows = facts.tables.ops.iter();
    let row = rows.find(|row| row.accelerator && row.operation == kernel);
    let unusual = row.filter(|row| {
        row.max_ns >= row.p50_ns.saturating_mul(TIMES_MEDIAN) && facts.share(row.max_ns) >= LEAST
    });
    unusual.map_or_else(String::new, long_call_text)
}

//! Rule: communication that no computation hides.

use super::facts::Facts;
use super::finding::{Finding, FindingKind};
use super::straggler::{Straggler, straggler};
use crate::analyze::intervals::SaturatingSum as _;
use crate::units::percent;

/// Smaller shares are not listed.
const LEAST: f64 = 0.02;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let on_host: Vec<(String, u64)>;
    let (ops, section) = if facts.has_accelerators() {
        (&facts.exposed, "Devices")
    } else {
        let ops = facts.host_ops.iter();
        on_host = ops
            .filter(|op| facts.communicates(&op.0))
            .cloned()
            .collect();
        (&on_host, "By op")
    };
    let Some((first, _)) = ops.first() else {
        return Vec::new();
    };
    let all: u64 = ops.iter().map(|op| op.1).saturating_sum();
    let waiting = straggler(facts).map_or(0, |Straggler { cost_ns, .. }| cost_ns);
    // Time in which a rank waits for a slower one is that finding's.
    let cost_ns = all.saturating_sub(waiting);
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let kind = FindingKind::ExposedCommunication;
    let mut finding = facts.finding(kind, first, cost_ns, section);
    finding.parts = ops.iter().map(|(name, ns)| facts.part(name, *ns)).collect();
    let what = match collective_in(first) {
        Some(collective) => format!("{collective} ({})", facts.name(first)),
        None => facts.name(first),
    };
    let what = match ops.len() {
        1 => what,
        _ => format!("communication, mostly {what}"),
    };
    finding.sentence = format!("{} of the time is exposed {what}", percent(finding.share));
    vec![finding]
}

/// The collective that a kernel's name contains, as people write it.
fn collective_in(name: &str) -> Option<&'static str> {
    let names = [
        "AllReduce",
        "AllGather",
        "ReduceScatter",
        "AllToAll",
        "Broadcast",
        "SendRecv",
    ];
    let plain: String = name.chars().filter(|c| *c != '_').collect();
    let lower = plain.to_ascii_lowercase();
    let found = names
        .into_iter()
        .find(|one| lower.contains(&one.to_ascii_lowercase()))?;
    // A name that is just the collective is shown as it is.
    (lower.len() > found.len()).then_some(found)
}

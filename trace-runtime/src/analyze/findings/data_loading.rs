//! Rule: the program waits for its input data.

use super::facts::Facts;
use super::finding::{Finding, FindingKind};
use crate::analyze::intervals::SaturatingSum as _;
use crate::units::percent;

/// Smaller shares are not listed.
const LEAST: f64 = 0.05;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let mut ops: Vec<(&str, u64)> = facts.costly_host_ops();
    ops.retain(|op| facts.loads_data(op.0));
    let Some((first, _)) = ops.first() else {
        return Vec::new();
    };
    let cost_ns = ops.iter().map(|op| op.1).saturating_sum();
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let on_devices = facts.has_accelerators();
    let section = if on_devices {
        "By op, on the host"
    } else {
        "By op"
    };
    let mut finding = facts.finding(FindingKind::DataLoading, first, cost_ns, section);
    finding.parts = ops
        .iter()
        .take(5)
        .map(|(name, ns)| facts.part(name, *ns))
        .collect();
    let (share, name) = (percent(finding.share), facts.name(first));
    finding.sentence = if on_devices {
        format!("{share} of the time the device is idle while data is loaded ({name})")
    } else {
        format!("{share} of the time goes into loading data ({name})")
    };
    vec![finding]
}

/// True for the names under which frameworks trace their input pipelines.
pub(super) fn loads_data(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "dataloader",
        "data_loader",
        "datapipe",
        "load_batch",
        "next_batch",
        "iteratorgetnext",
    ]
    .iter()
    .any(|part| name.contains(part))
}

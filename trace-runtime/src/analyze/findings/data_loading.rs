//! Rule: the program waits for its input data.

use super::super::grouping::Grouping;
use super::super::nesting::parent_index;
use super::facts::Facts;
use super::finding::{Finding, FindingKind};
use crate::analyze::intervals::SaturatingSum as _;
use crate::model::hash::FastHash;
use crate::model::{OpKind, TraceView};
use crate::units::percent;
use std::collections::HashSet;

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

/// The ops that load the program's input: those of the kind `io`, and by the names of frameworks.
#[derive(Debug)]
pub(crate) struct Loaders<'a, T: ?Sized> {
    trace: &'a T,
    names: HashSet<&'a str, FastHash>,
}

impl<'a, T: TraceView + ?Sized> Loaders<'a, T> {
    pub(super) fn of(trace: &'a T) -> Self {
        let mut grouping = Grouping::new();
        for view in trace.views() {
            grouping.group(&view, |view| {
                let name = view.operation();
                (view.kind() == Some(OpKind::Io) || loads_data(name)).then_some(name)
            });
        }
        Loaders {
            trace,
            names: grouping.keys().iter().copied().collect(),
        }
    }

    /// The innermost op around an entry on its thread that loads data, which may be the entry itself; otherwise the
    /// entry. So the ops inside a loader, such as copies into a batch, count as loading.
    pub(super) fn around(&self, index: usize) -> usize {
        if self.names.is_empty() {
            return index;
        }
        let above = |&index: &usize| {
            let view = self.trace.view(index);
            let above = parent_index(self.trace, index, &view)?;
            (self.trace.view(above).thread() == view.thread()).then_some(above)
        };
        let mut chain = std::iter::successors(Some(index), above);
        chain
            .find(|&index| self.names.contains(self.trace.view(index).operation()))
            .unwrap_or(index)
    }

    pub(super) fn names(&self) -> HashSet<String> {
        self.names.iter().map(|&name| name.to_owned()).collect()
    }
}

/// True for the names under which frameworks trace their input pipelines.
fn loads_data(name: &str) -> bool {
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

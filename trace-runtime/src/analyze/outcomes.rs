//! Ops that failed, panicked, were cancelled or did not finish.

use crate::model::json_struct::json_struct;
use crate::model::{Outcome, TraceView};
use std::collections::BTreeMap;

/// Number of executions of an op by outcome.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct OpOutcomes {
    /// The op's name.
    pub operation: String,
    /// All executions.
    pub count: usize,
    /// Executions that returned `Err` or `None`.
    pub errors: usize,
    /// Executions that panicked.
    pub panics: usize,
    /// Executions whose future was dropped before it was done.
    pub cancelled: usize,
    /// Executions that were still running when the recording was read.
    pub unfinished: usize,
}

json_struct!(OpOutcomes {
    required: [operation, count, errors, panics, cancelled, unfinished],
    optional: [],
});

impl OpOutcomes {
    /// Executions with any other outcome than success.
    pub fn not_ok(&self) -> usize {
        self.errors + self.panics + self.cancelled + self.unfinished
    }
}

/// The ops with executions that did not succeed; those with the most come first.
pub fn outcomes<T: TraceView + ?Sized>(trace: &T) -> Vec<OpOutcomes> {
    let mut failed: BTreeMap<&str, OpOutcomes> = BTreeMap::new();
    for view in trace.views() {
        if view.outcome() == Outcome::Ok {
            continue;
        }
        let op = failed.entry(view.operation()).or_default();
        match view.outcome() {
            Outcome::Error => op.errors += 1,
            Outcome::Panicked => op.panics += 1,
            Outcome::Cancelled => op.cancelled += 1,
            Outcome::Unfinished => op.unfinished += 1,
            _ => {}
        }
    }
    if failed.is_empty() {
        return Vec::new();
    }
    for view in trace.views() {
        if let Some(op) = failed.get_mut(view.operation()) {
            op.count += 1;
        }
    }
    let mut list: Vec<OpOutcomes> = failed
        .into_iter()
        .map(|(name, op)| OpOutcomes {
            operation: name.to_owned(),
            ..op
        })
        .collect();
    list.sort_by_key(|op| std::cmp::Reverse(op.not_ok()));
    list
}

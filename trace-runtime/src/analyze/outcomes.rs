//! Which ops did not end well.

use crate::model::json_struct::json_struct;
use crate::model::{Outcome, TraceView};
use std::collections::BTreeMap;

/// How often an op ended in each way.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpOutcomes {
    /// The op's name.
    pub operation: String,
    /// Executions in all.
    pub count: usize,
    /// It returned an error, or `None`.
    pub errors: usize,
    /// It panicked.
    pub panics: usize,
    /// Its future was dropped before it was done.
    pub cancelled: usize,
    /// It was still running when the recording was read.
    pub unfinished: usize,
}

json_struct!(OpOutcomes {
    required: [operation, count, errors, panics, cancelled, unfinished],
    optional: [],
});

impl OpOutcomes {
    /// Executions that did not end well.
    pub fn not_ok(&self) -> usize {
        self.errors + self.panics + self.cancelled + self.unfinished
    }
}

/// The ops of which some execution did not end well, the most frequent first.
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

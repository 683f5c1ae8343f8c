//! Decides whether a change is too large for a CI job.

use super::trace_diff::{DiffRow, OVERLAP, TraceDiff};
use super::verdict::Verdict;
use crate::model::json_struct::json_struct;
use crate::units::{duration, percent, prose, shapes};

/// The limits for a CI job, for [`TraceDiff::failures`]. A change fails only if it is significant, larger than its
/// limit, and heavy enough. Without a limit nothing fails.
///
/// ```
/// use trace_runtime::analyze::Gate;
///
/// // The total may get 5 % slower, each op 10 %.
/// let gate = Gate::new().with_total(0.05).with_op(0.1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Gate {
    /// The share by which the total may get slower.
    pub total: Option<f64>,
    /// The change of the total, in nanoseconds per step or run, below which it does not fail.
    pub min_change_ns: u64,
    /// The share by which an op, or an op with the same shapes, may get slower. Ops below
    /// [`DiffSettings::min_weight`](super::DiffSettings::min_weight) do not fail.
    pub op: Option<f64>,
}

impl Gate {
    /// A gate without limits: every comparison passes it.
    pub const fn new() -> Gate {
        Gate {
            total: None,
            min_change_ns: 0,
            op: None,
        }
    }

    /// Sets the share by which the total may get slower.
    #[must_use]
    pub const fn with_total(mut self, share: f64) -> Gate {
        self.total = Some(share);
        self
    }

    /// Sets the change of the total, in nanoseconds per step or run, below which it does not fail.
    #[must_use]
    pub const fn with_min_change_ns(mut self, ns: u64) -> Gate {
        self.min_change_ns = ns;
        self
    }

    /// Sets the share by which an op may get slower.
    #[must_use]
    pub const fn with_op(mut self, share: f64) -> Gate {
        self.op = Some(share);
        self
    }
}

/// An op, or the total, that is too slow for a [`Gate`].
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct GateFailure {
    /// `total`, or the op with its shapes.
    pub what: String,
    /// The name of the op; empty for the total.
    pub operation: String,
    /// The change as a share; 1.0 for an added op.
    pub change: f64,
    /// The time that it adds to the total, in nanoseconds per step or run.
    pub adds_ns: i64,
    /// The reason as a sentence without its subject: `takes 12 % longer …`.
    pub reason: String,
}

json_struct!(GateFailure {
    required: [what, change, adds_ns, reason],
    optional: [operation],
});

impl TraceDiff {
    /// The total and the ops that got too slow for a gate: the total first, then the heaviest. Empty if the gate
    /// passes.
    ///
    /// An added op fails if it weighs enough, unless removed ops save as much time: an op that was renamed does not
    /// fail.
    pub fn failures(&self, gate: &Gate) -> Vec<GateFailure> {
        let mut failures = Vec::new();
        failures.extend(
            gate.total
                .and_then(|limit| self.total_failure(limit, gate.min_change_ns)),
        );
        let Some(limit) = gate.op else {
            return failures;
        };
        let appeared: i64 = self
            .ops
            .iter()
            .filter(|row| matches!(row.verdict, Verdict::Added | Verdict::Removed))
            .map(|row| row.change_ns)
            .sum();
        let heavy = appeared as f64 >= self.method.min_weight * self.total.before_ns.max(1) as f64;
        for op in self.ops.iter().filter(|op| op.operation != OVERLAP) {
            let slow_op = self.op_failure(op, limit);
            let slow_rows = self.rows.iter().filter(|row| {
                row.operation == op.operation
                    && row.accelerator == op.accelerator
                    && row.verdict == Verdict::Slower
            });
            let slow_rows: Vec<GateFailure> = slow_rows
                .filter_map(|row| self.op_failure(row, limit))
                .collect();
            match (slow_op, op.verdict) {
                (_, Verdict::Added) if heavy && op.weight >= self.method.min_weight => {
                    failures.push(self.added(op));
                }
                // One failure for all shapes of the op together, unless a few of them explain it.
                (Some(_), _) if !slow_rows.is_empty() => failures.extend(slow_rows),
                (Some(slow), _) => failures.push(slow),
                (None, _) => failures.extend(slow_rows),
            }
        }
        failures
    }

    fn total_failure(&self, limit: f64, min_change_ns: u64) -> Option<GateFailure> {
        let total = &self.total;
        let slow = total.verdict == Verdict::Slower && total.size > limit;
        (slow && total.change_ns.unsigned_abs() >= min_change_ns).then(|| GateFailure {
            what: "total".to_owned(),
            operation: String::new(),
            change: total.size,
            adds_ns: total.change_ns,
            reason: format!(
                "takes {} longer per {}",
                percent(total.size),
                self.method.per
            ),
        })
    }

    fn op_failure(&self, row: &DiffRow, limit: f64) -> Option<GateFailure> {
        (row.verdict == Verdict::Slower && row.size > limit).then(|| {
            let cause = if row.more_calls_ns > row.slower_calls_ns {
                format!("is called {} → {} times", row.count.0, row.count.1)
            } else {
                format!("takes {} longer", percent(row.size))
            };
            GateFailure {
                what: title(row),
                operation: row.operation.clone(),
                change: row.size,
                adds_ns: row.change_ns,
                reason: format!(
                    "{cause} and adds {} to each {}",
                    self.added_time(row),
                    self.method.per
                ),
            }
        })
    }

    fn added(&self, row: &DiffRow) -> GateFailure {
        GateFailure {
            what: title(row),
            operation: row.operation.clone(),
            change: 1.0,
            adds_ns: row.change_ns,
            reason: format!(
                "is new and adds {} to each {}",
                self.added_time(row),
                self.method.per
            ),
        }
    }

    fn added_time(&self, row: &DiffRow) -> String {
        let share = row.change_ns as f64 / self.total.before_ns.max(1) as f64;
        let time = prose(&duration(row.change_ns.unsigned_abs()));
        format!("{time} ({})", percent(share))
    }
}

fn title(row: &DiffRow) -> String {
    let dims = shapes(row.input_shapes.as_deref().unwrap_or_default());
    let space = if dims.is_empty() { "" } else { " " };
    format!("{}{space}{dims}", row.operation)
}

//! Compares two groups of runs.

use super::comparison::Comparison;
use super::item::Kind;
use super::noise::Design;
use super::notes::notes;
use super::run_group::RunGroup;
use super::trace_diff::{DiffRow, LONG_CALLS, OUTSIDE, OVERLAP, TraceDiff};
use super::verdict::Verdict;

/// The limits above which a difference counts as a change, and how the runs were made.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct DiffSettings {
    /// Changes up to this share are called the same; 0.05 by default.
    pub threshold: f64,
    /// Ops with a smaller share of the total, before and after, are not tested; 0.02 by default.
    pub min_weight: f64,
    /// The order in which the runs were made; [`Design::Groups`] by default.
    pub design: Design,
}

impl Default for DiffSettings {
    fn default() -> Self {
        DiffSettings {
            threshold: 0.05,
            min_weight: 0.02,
            design: Design::Groups,
        }
    }
}

impl DiffSettings {
    /// Sets the share up to which a change is called the same.
    #[must_use]
    pub fn with_threshold(mut self, share: f64) -> DiffSettings {
        self.threshold = share;
        self
    }

    /// Sets the share of the total below which an op is not tested.
    #[must_use]
    pub fn with_min_weight(mut self, share: f64) -> DiffSettings {
        self.min_weight = share;
        self
    }

    /// Sets how the runs were made: in groups, or in turns.
    #[must_use]
    pub fn with_design(mut self, design: Design) -> DiffSettings {
        self.design = design;
        self
    }
}

/// Compares two groups of runs. See the [module](super) for the method and its error rates.
pub fn diff(before: &RunGroup, after: &RunGroup, settings: &DiffSettings) -> TraceDiff {
    let comparison = Comparison::new(before, after, settings);
    let (common, total_evidence) = comparison.total();
    let items = comparison.items();
    let mut rows = Vec::new();
    let mut ops = Vec::new();
    for (item, evidence) in comparison.items.iter().zip(&items) {
        match item.kind {
            Kind::Row => {
                rows.push(comparison.row(item, evidence));
                if item.rows.is_empty() {
                    ops.push(comparison.row(item, evidence));
                }
            }
            // An op with one row is tested as that row.
            Kind::Op if item.rows.len() == 1 => {
                let at = comparison
                    .items
                    .iter()
                    .position(|other| other.kind == Kind::Row && other.rows == item.rows);
                ops.push(comparison.row(item, at.map_or(evidence, |at| &items[at])));
            }
            Kind::Op => ops.push(comparison.row(item, evidence)),
        }
    }
    let whole = &comparison.whole;
    for (name, before_ns, after_ns) in [
        (OUTSIDE, whole.0.outside_ns, whole.1.outside_ns),
        (OVERLAP, whole.0.overlap_ns, whole.1.overlap_ns),
        (LONG_CALLS, comparison.long_ns.0, comparison.long_ns.1),
    ] {
        if (before_ns, after_ns) != (0, 0) && !ops.iter().any(|row: &DiffRow| row.operation == name)
        {
            let row = comparison.plain(name, before_ns, after_ns);
            rows.push(row.clone());
            ops.push(row);
        }
    }
    for list in [&mut rows, &mut ops] {
        list.sort_by(|a, b| {
            b.change_ns
                .abs()
                .cmp(&a.change_ns.abs())
                .then_with(|| a.operation.cmp(&b.operation))
                .then_with(|| a.accelerator.cmp(&b.accelerator))
                .then_with(|| a.input_shapes.cmp(&b.input_shapes))
        });
    }
    let mut found = TraceDiff {
        method: comparison.method(common),
        total: total_evidence,
        rows,
        ops,
        notes: Vec::new(),
    };
    found.explain_total();
    found.notes = notes(&found, before, after);
    found
}

impl TraceDiff {
    /// If the tests of the total do not prove a change, but ops are proven to have changed and together explain the
    /// change of the total, the total has changed too: the rows add up to it.
    fn explain_total(&mut self) {
        if matches!(self.total.verdict, Verdict::Slower | Verdict::Faster) {
            return;
        }
        let proven = self.rows.iter().filter(|row| {
            use Verdict::{Added, Faster, Removed, Slower};
            matches!(row.verdict, Slower | Faster | Added | Removed)
        });
        let proven_ns: i64 = proven.map(|row| row.change_ns).sum();
        let share = proven_ns as f64 / self.total.before_ns.max(1) as f64;
        let total = &mut self.total;
        let smaller = share.abs().min(total.change.abs());
        if share.signum() == total.change.signum() && smaller > self.method.threshold {
            total.size = smaller.copysign(share);
            total.verdict = if share > 0.0 {
                Verdict::Slower
            } else {
                Verdict::Faster
            };
        }
    }
}

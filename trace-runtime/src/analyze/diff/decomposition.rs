//! The change of the total as a sum of parts, in whole nanoseconds.

use super::run_summary::{RowFigures, RunSummary, signed};

/// A change in time, split into the part due to more calls and the part due to slower calls.
///
/// *More calls* is the number of additional calls × the mean call before. *Slower calls* is the rest, so that the two
/// add up exactly: the calls after × the change of the mean call. All of an added or removed row is *more calls*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_field_names, reason = "the unit is part of the name")]
pub(super) struct Parts {
    pub(super) before_ns: i64,
    pub(super) after_ns: i64,
    pub(super) more_calls_ns: i64,
    pub(super) slower_calls_ns: i64,
}

impl Parts {
    /// The parts of one row, per unit (step or run).
    pub(super) fn of(
        before: Option<&RowFigures>,
        after: Option<&RowFigures>,
        units: (u64, u64),
    ) -> Parts {
        let per_unit =
            |row: Option<&RowFigures>, units| row.map_or(0, |row| divided(row.self_ns, units));
        let (before_ns, after_ns) = (per_unit(before, units.0), per_unit(after, units.1));
        let change = after_ns.saturating_sub(before_ns);
        let more_calls_ns = match (before.filter(|row| row.count > 0), after) {
            (None, _) | (_, None) => change,
            (Some(before), Some(after)) => {
                let per_unit = |count: u64, units: u64| count as f64 / units as f64;
                let calls = per_unit(after.count, units.1) - per_unit(before.count, units.0);
                let mean = before.self_ns as f64 / before.count as f64;
                (calls * mean).round() as i64
            }
        };
        Parts {
            before_ns,
            after_ns,
            more_calls_ns,
            slower_calls_ns: change.saturating_sub(more_calls_ns),
        }
    }

    /// The sum of the parts of several rows.
    pub(super) fn sum<'a>(parts: impl IntoIterator<Item = &'a Parts>) -> Parts {
        parts.into_iter().fold(Parts::default(), |sum, part| Parts {
            before_ns: sum.before_ns.saturating_add(part.before_ns),
            after_ns: sum.after_ns.saturating_add(part.after_ns),
            more_calls_ns: sum.more_calls_ns.saturating_add(part.more_calls_ns),
            slower_calls_ns: sum.slower_calls_ns.saturating_add(part.slower_calls_ns),
        })
    }

    /// The change of the time.
    pub(super) fn change_ns(&self) -> i64 {
        self.after_ns.saturating_sub(self.before_ns)
    }
}

/// The total of a run per unit, and the two parts of it that are not self time of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_field_names, reason = "the unit is part of the name")]
pub(super) struct Whole {
    pub(super) total_ns: i64,
    /// Elapsed time in which no op ran. It also contains the remainders of dividing by the number of steps, so that the
    /// sum is exact.
    pub(super) outside_ns: i64,
    /// Below zero if ops ran at the same time: their self times count more than once.
    pub(super) overlap_ns: i64,
}

impl Whole {
    /// `in_ops_ns` is the sum of the rows' self times per unit, each rounded.
    pub(super) fn of(run: &RunSummary, in_ops_ns: i64) -> Whole {
        if !run.elapsed {
            return Whole {
                total_ns: in_ops_ns,
                ..Whole::default()
            };
        }
        let total_ns = divided(run.total_ns, run.units());
        let overlap_ns =
            run.overlap_ns.signum() * divided(run.overlap_ns.unsigned_abs(), run.units());
        Whole {
            total_ns,
            overlap_ns,
            outside_ns: total_ns
                .saturating_sub(in_ops_ns)
                .saturating_sub(overlap_ns),
        }
    }
}

/// Rounded to the nearest.
fn divided(ns: u64, units: u64) -> i64 {
    let units = units.max(1);
    signed(ns / units + u64::from(ns % units >= units.div_ceil(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(count: u64, self_ns: u64) -> RowFigures {
        RowFigures {
            count,
            self_ns,
            ..RowFigures::default()
        }
    }

    #[test]
    fn more_calls_and_slower_calls_add_up_to_the_change() {
        let parts = Parts::of(Some(&row(10, 1000)), Some(&row(15, 3000)), (1, 1));
        assert_eq!((parts.more_calls_ns, parts.slower_calls_ns), (500, 1500));
        let added = Parts::of(None, Some(&row(3, 30)), (1, 1));
        assert_eq!((added.more_calls_ns, added.slower_calls_ns), (30, 0));
        let removed = Parts::of(Some(&row(3, 30)), None, (1, 1));
        assert_eq!((removed.more_calls_ns, removed.slower_calls_ns), (-30, 0));
    }

    #[test]
    fn figures_are_per_step() {
        let parts = Parts::of(Some(&row(20, 2000)), Some(&row(10, 1000)), (10, 5));
        assert_eq!((parts.before_ns, parts.after_ns), (200, 200));
        assert_eq!((parts.more_calls_ns, parts.slower_calls_ns), (0, 0));
        assert_eq!((divided(5, 2), divided(7, 3), divided(8, 3)), (3, 2, 3));
    }
}

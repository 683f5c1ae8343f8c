//! The rows of the result, and the words for the method.

use super::comparison::Comparison;
use super::item::{Item, Kind, Metric};
use super::noise::Design;
use super::run_summary::RunSummary;
use super::testing::{QUIET_LEVEL, TIME_LEVEL, TOTAL_LEVEL};
use super::trace_diff::{DiffMethod, DiffRow, Evidence, OUTSIDE};
use super::verdict::Verdict;

/// With one run a side, an op must change the total by this share to be called slower or faster: the addresses of its
/// data can make an op twice as slow for a whole run.
const ONE_RUN_SHARE: f64 = 0.05;

impl<'a> Comparison<'a> {
    pub(super) fn row(&self, item: &Item<'a>, evidence: &[Evidence]) -> DiffRow {
        let parts = self.parts(item);
        let figures = |run: usize| {
            let one = item.rows.first().filter(|_| item.kind == Kind::Row);
            let figures =
                one.and_then(|&row| self.matched.figures[row].get(run).copied().flatten());
            figures.unwrap_or_default()
        };
        let (before, after) = (figures(self.quiet.0.1), figures(self.quiet.1.1));
        let count = |run: usize| {
            let rows = item
                .rows
                .iter()
                .filter_map(|&row| self.matched.figures[row].get(run)?.as_ref());
            rows.map(|row| row.count).sum()
        };
        let mut row = DiffRow {
            operation: item.key.0.to_owned(),
            input_shapes: (item.kind == Kind::Row && item.key.0 != OUTSIDE)
                .then(|| item.key.2.to_vec()),
            accelerator: item.key.1,
            count: (count(self.quiet.0.1), count(self.quiet.1.1)),
            self_ns: (parts.before_ns, parts.after_ns),
            change_ns: parts.change_ns(),
            more_calls_ns: parts.more_calls_ns,
            slower_calls_ns: parts.slower_calls_ns,
            weight: self.share_of_total(parts.before_ns, parts.after_ns),
            quiet_ns: (before.quiet_ns, after.quiet_ns),
            p50_ns: (before.p50_ns, after.p50_ns),
            p95_ns: (before.p95_ns, after.p95_ns),
            max_ns: (before.max_ns, after.max_ns),
            size: 0.0,
            verdict: Verdict::Same,
            evidence: evidence.to_vec(),
        };
        let runs = self.runs.before..self.runs.before + self.runs.after;
        (row.verdict, row.size) = self.row_verdict(
            item,
            &row,
            item.runs_in(0..self.runs.before),
            item.runs_in(runs),
        );
        row
    }

    /// The time per unit by which the calls of all other items exceed their quiet calls, in the worst run.
    fn interference_outside(&self, item: &Item<'a>) -> f64 {
        let of_run = |(index, run): (usize, &RunSummary)| {
            let others = self.matched.figures.iter().enumerate();
            let excess = others
                .filter(|(row, _)| !item.rows.contains(row))
                .filter_map(|(_, runs)| runs[index])
                .map(|of| of.self_ns as f64 - of.count as f64 * of.quiet_ns as f64);
            excess.sum::<f64>() / run.units() as f64
        };
        self.all_runs().enumerate().map(of_run).fold(0.0, f64::max)
    }

    pub(super) fn row_verdict(
        &self,
        item: &Item<'a>,
        row: &DiffRow,
        in_before: bool,
        in_after: bool,
    ) -> (Verdict, f64) {
        if !in_before || !in_after {
            let verdict = if in_after {
                Verdict::Added
            } else {
                Verdict::Removed
            };
            return (verdict, 0.0);
        }
        if row.weight < self.settings.min_weight {
            return (Verdict::Small, 0.0);
        }
        let added_share =
            row.change_ns.unsigned_abs() as f64 / (self.whole.0.total_ns.max(1)) as f64;
        let enough = self.runs.before + self.runs.after > 2 || added_share >= ONE_RUN_SHARE;
        // Few runs do not show whether an op was interrupted for long. The time that the other ops lost indicates it.
        let beyond_interference = self.runs.show_variance()
            || row.change_ns.unsigned_abs() as f64 > self.interference_outside(item);
        let up = row.change_ns > 0;
        let decisive = row
            .evidence
            .iter()
            .filter(|one| beyond_interference || one.metric == Metric::Calls.name());
        let decisive = decisive.filter(|one| match one.verdict {
            Verdict::Slower | Verdict::More => up && one.is_of_total(),
            Verdict::Faster | Verdict::Fewer => !up && row.change_ns < 0 && one.is_of_total(),
            _ => false,
        });
        let size = |one: &Evidence| {
            if one.specific.abs() < one.change.abs() {
                one.specific
            } else {
                one.change
            }
        };
        match decisive
            .map(size)
            .max_by(|a, b| a.abs().total_cmp(&b.abs()))
        {
            Some(size) if enough && up => (Verdict::Slower, size),
            Some(size) if enough => (Verdict::Faster, size),
            _ => {
                let before = row.self_ns.0.max(1) as f64;
                (self.unproven(row.change_ns as f64 / before), 0.0)
            }
        }
    }

    /// A row that is not an op and is not tested.
    pub(super) fn plain(&self, name: &str, before_ns: i64, after_ns: i64) -> DiffRow {
        let change_ns = after_ns.saturating_sub(before_ns);
        let weight = self.share_of_total(before_ns.abs(), after_ns.abs());
        DiffRow {
            operation: name.to_owned(),
            self_ns: (before_ns, after_ns),
            change_ns,
            slower_calls_ns: change_ns,
            weight,
            verdict: if weight < self.settings.min_weight {
                Verdict::Small
            } else {
                self.unproven(change_ns as f64 / before_ns.abs().max(1) as f64)
            },
            ..DiffRow::default()
        }
    }

    pub(super) fn method(&self, common: f64) -> DiffMethod {
        let per_step = self.all_runs().any(|run| run.steps > 0);
        let elapsed = self.all_runs().all(|run| run.elapsed);
        DiffMethod {
            runs: (self.runs.before, self.runs.after),
            pairs: self.runs.design == Design::Pairs,
            per: if per_step { "step" } else { "run" }.to_owned(),
            total: if elapsed {
                "elapsed time"
            } else {
                "time in ops"
            }
            .to_owned(),
            threshold: self.settings.threshold,
            min_weight: self.settings.min_weight,
            common,
            description: self.description(),
        }
    }

    pub(super) fn description(&self) -> String {
        let between = match self.runs.design {
            Design::Pairs => "differences within pairs of runs",
            Design::Groups if self.runs.show_variance() => {
                "variation between the runs of each side, and an assumed drift between the sides"
            }
            Design::Groups => "an assumed variation between runs, and blocks of calls within them",
        };
        format!(
            "t tests on logarithms with a variance shared by all ops; uncertainty from {between}; Holm's correction at \
             {TOTAL_LEVEL} for the total, {QUIET_LEVEL} for quiet times and calls of ops, {TIME_LEVEL} for their times"
        )
    }
}

impl Evidence {
    /// True if the metric measures the time that an op adds to the total, and not single calls.
    fn is_of_total(&self) -> bool {
        [Metric::Time, Metric::Quiet, Metric::Calls]
            .iter()
            .any(|metric| metric.name() == self.metric)
    }
}

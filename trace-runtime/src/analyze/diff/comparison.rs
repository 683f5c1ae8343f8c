//! Two groups of runs, matched, and the change that their ops have in common.

use super::compare::DiffSettings;
use super::decomposition::{Parts, Whole};
use super::item::{Item, Kind, Metric};
use super::noise::{Design, Runs};
use super::run_group::{Matched, RunGroup};
use super::run_summary::{RowFigures, RunSummary};
use super::statistics::{cautious_median, median};
use super::trace_diff::OUTSIDE;
use std::collections::HashMap;

/// The change that all ops share is only computed from at least this many ops.
const FEWEST_VOTERS: usize = 4;
/// A common change up to this size may be chance, because the ops that vote are short and vary. Only the part above it
/// counts.
const COMMON_BY_CHANCE: f64 = 0.03;
/// An op with a smaller share of the time is not used for the change that all ops share.
const VOTER_WEIGHT: f64 = 0.002;

/// Two groups of runs, matched: the input of the tests and of the rows.
pub(super) struct Comparison<'a> {
    pub(super) settings: &'a DiffSettings,
    pub(super) runs: Runs,
    pub(super) groups: (&'a RunGroup, &'a RunGroup),
    /// The run of each side whose figures are shown, and its index among all runs.
    pub(super) quiet: ((&'a RunSummary, usize), (&'a RunSummary, usize)),
    pub(super) matched: Matched<'a>,
    pub(super) items: Vec<Item<'a>>,
    pub(super) parts: Vec<Parts>,
    pub(super) whole: (Whole, Whole),
    /// The time of long calls that is moved out of the rows of their ops, before and after.
    pub(super) long_ns: (i64, i64),
    /// The change that the ops have in common, by metric; as a logarithm.
    pub(super) common: HashMap<Metric, f64>,
    /// Interference in each run: the logarithm by which the time of the ops exceeds their quiet time.
    pub(super) excess: Vec<f64>,
}

static EMPTY: RunSummary = RunSummary {
    steps: 0,
    total_ns: 0,
    overlap_ns: 0,
    elapsed: false,
    outside: RowFigures::NONE,
    rows: Vec::new(),
    facts: std::collections::BTreeMap::new(),
};

impl<'a> Comparison<'a> {
    pub(super) fn new(
        before: &'a RunGroup,
        after: &'a RunGroup,
        settings: &'a DiffSettings,
    ) -> Self {
        let counts = (before.runs.len(), after.runs.len());
        let design = match settings.design {
            Design::Pairs if counts.0 == counts.1 => Design::Pairs,
            _ => Design::Groups,
        };
        let runs = Runs {
            before: counts.0,
            after: counts.1,
            design,
        };
        let shown = |group: &'a RunGroup, others: usize, offset: usize| {
            let index = group.quiet_run(others);
            index.map_or((&EMPTY, usize::MAX), |at| (&group.runs[at], offset + at))
        };
        let quiet = (shown(before, counts.1, 0), shown(after, counts.0, counts.0));
        let matched = Matched::of(before, after);
        let units = (quiet.0.0.units(), quiet.1.0.units());
        let parts: Vec<Parts> = matched
            .figures
            .iter()
            .map(|runs| {
                let at = |run: usize| runs.get(run).and_then(Option::as_ref);
                Parts::of(at(quiet.0.1), at(quiet.1.1), units)
            })
            .collect();
        let sum = Parts::sum(&parts);
        let whole = (
            Whole::of(quiet.0.0, sum.before_ns),
            Whole::of(quiet.1.0, sum.after_ns),
        );
        let mut items = Item::all(&matched, before, after);
        items.extend(Item::outside(before, after, OUTSIDE));
        let mut comparison = Comparison {
            settings,
            runs,
            groups: (before, after),
            quiet,
            matched,
            items,
            parts,
            whole,
            long_ns: (0, 0),
            common: HashMap::new(),
            excess: vec![0.0; counts.0 + counts.1],
        };
        comparison.find_common();
        comparison.set_long_calls_apart();
        comparison
    }

    pub(super) fn find_common(&mut self) {
        let voters: Vec<&Item<'a>> = self
            .items
            .iter()
            .filter(|item| item.kind == Kind::Op && item.key.0 != OUTSIDE)
            .filter(|item| self.weight(item) >= VOTER_WEIGHT)
            .collect();
        let series = |metric: Metric| -> Vec<Vec<f64>> {
            voters
                .iter()
                .filter_map(|item| item.series(metric))
                .collect()
        };
        let (time, quiet) = (series(Metric::Time), series(Metric::Quiet));
        if time.len() < FEWEST_VOTERS || quiet.len() != time.len() {
            return;
        }
        let shared = |series: &[Vec<f64>]| {
            let median = cautious_median(series.iter().map(|one| self.runs.change(one)));
            (median.abs() - COMMON_BY_CHANCE).max(0.0).copysign(median)
        };
        let (by_time, by_quiet) = (shared(&time), shared(&quiet));
        let excess = (0..self.excess.len()).map(|run| {
            median(
                time.iter()
                    .zip(&quiet)
                    .map(|(time, quiet)| time[run] - quiet[run]),
            )
        });
        self.excess = excess.collect();
        self.common = HashMap::from([
            (Metric::Time, by_time),
            (Metric::Tail, by_time),
            (Metric::Maximum, by_time),
            (Metric::Quiet, by_quiet),
            (Metric::Median, by_quiet),
        ]);
    }

    /// The change of a metric that the ops have in common; 0 for calls, and if there are too few ops.
    pub(super) fn common_change(&self, metric: Metric) -> f64 {
        self.common.get(&metric).copied().unwrap_or_default()
    }

    pub(super) fn parts(&self, item: &Item<'a>) -> Parts {
        if item.key.0 == OUTSIDE && item.rows.is_empty() {
            let (before_ns, after_ns) = (self.whole.0.outside_ns, self.whole.1.outside_ns);
            return Parts {
                before_ns,
                after_ns,
                more_calls_ns: 0,
                slower_calls_ns: after_ns.saturating_sub(before_ns),
            };
        }
        Parts::sum(item.rows.iter().map(|&row| &self.parts[row]))
    }

    pub(super) fn weight(&self, item: &Item<'a>) -> f64 {
        let parts = self.parts(item);
        self.share_of_total(parts.before_ns, parts.after_ns)
    }

    pub(super) fn share_of_total(&self, before_ns: i64, after_ns: i64) -> f64 {
        let share = |part: i64, whole: i64| {
            if whole > 0 {
                part as f64 / whole as f64
            } else {
                0.0
            }
        };
        let before = share(before_ns, self.whole.0.total_ns);
        before.max(share(after_ns, self.whole.1.total_ns))
    }

    pub(super) fn all_runs(&self) -> impl Iterator<Item = &'a RunSummary> {
        self.groups.0.runs.iter().chain(&self.groups.1.runs)
    }
}

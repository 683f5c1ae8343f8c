//! The tests of the total and of the items, and their verdicts.

use super::comparison::Comparison;
use super::item::{Item, Kind, Metric};
use super::noise::{Noise, Tested, level};
use super::run_group::RunGroup;
use super::run_summary::RunSummary;
use super::statistics::{holm, mean};
use super::trace_diff::{Evidence, TotalChange};
use super::verdict::Verdict;

/// The probability that the total is called slower or faster without a cause.
pub(super) const TOTAL_LEVEL: f64 = 0.01;
/// This probability for the calls and the quiet times of all ops together.
pub(super) const QUIET_LEVEL: f64 = 0.05;
/// This probability for the self times of all ops together.
pub(super) const TIME_LEVEL: f64 = 0.01;
/// This probability for the median, the tail and the longest call of all ops together.
pub(super) const CALL_LEVEL: f64 = 0.005;

/// With fewer calls in a run, a quiet call may be an interrupted one.
const ENOUGH_CALLS: f64 = 16.0;
/// The lower end of the 95 % interval of a change must be above this share of the threshold.
const CERTAIN_SHARE: f64 = 2.0 / 3.0;

/// The test of one metric of one item.
pub(super) struct ItemTest {
    /// The index of the item.
    pub(super) item: usize,
    pub(super) metric: Metric,
    pub(super) series: Vec<f64>,
    pub(super) test: Tested,
    /// True if it is significant, after the correction for many tests.
    pub(super) holds: bool,
}

impl<'a> Comparison<'a> {
    /// Tests the total. Also returns the change that the ops have in common.
    pub(super) fn total(&self) -> (f64, TotalChange) {
        let (before_ns, after_ns) = (self.whole.0.total_ns, self.whole.1.total_ns);
        let change_ns = after_ns.saturating_sub(before_ns);
        let common = self.common_change(Metric::Quiet);
        let mut total = TotalChange {
            before_ns,
            after_ns,
            change_ns,
            change: if before_ns > 0 {
                change_ns as f64 / before_ns as f64
            } else {
                0.0
            },
            ..TotalChange::default()
        };
        let mut tests: Vec<(Metric, Vec<f64>, Tested)> = Vec::new();
        for metric in [Metric::Time, Metric::Quiet] {
            let Some(series) = self.total_series(metric) else {
                continue;
            };
            let specific: Vec<f64> = match metric {
                Metric::Time => series
                    .iter()
                    .zip(&self.excess)
                    .map(|(one, excess)| one - excess)
                    .collect(),
                _ => series.clone(),
            };
            let change = self.runs.change(&series);
            let common = change - self.runs.change(&specific);
            let noise = Noise::of_total(metric, self.runs, &specific);
            let mut tested = noise.test(&specific, change, common, 0.0);
            if metric == Metric::Time || !self.runs.show_variance() {
                let (change_ns, spread_ns) = self.mean_change_of_total();
                tested = tested.limited_by_calls(change_ns, spread_ns);
            }
            tests.push((metric, series, tested));
        }
        let p: Vec<f64> = tests.iter().map(|test| test.2.p).collect();
        let holds = holm(&p, TOTAL_LEVEL);
        total.detectable = tests
            .iter()
            .map(|test| test.2.detectable(TOTAL_LEVEL / 2.0))
            .fold(f64::INFINITY, f64::min)
            .exp_m1();
        for ((metric, series, tested), holds) in tests.iter().zip(holds) {
            let verdict = self.verdict(*metric, tested, holds, change_ns);
            if is_change(verdict) && tested.size().exp_m1().abs() > total.size.abs() {
                total.size = tested.size().exp_m1();
                total.verdict = verdict;
            }
            total
                .evidence
                .push(self.evidence(*metric, series, tested, verdict));
        }
        if total.size == 0.0 {
            total.verdict = self.unproven(total.change);
        }
        (common.exp_m1(), total)
    }

    pub(super) fn total_series(&self, metric: Metric) -> Option<Vec<f64>> {
        if self.runs.before == 0 || self.runs.after == 0 {
            return None;
        }
        let value = |run: &RunSummary| {
            let ns = match metric {
                Metric::Time => run.total_ns as f64,
                _ => run
                    .rows
                    .iter()
                    .map(|row| row.figures.count as f64 * row.figures.quiet_ns as f64)
                    .sum(),
            };
            (ns > 0.0).then(|| (ns / run.units() as f64).ln())
        };
        self.all_runs().map(value).collect()
    }

    /// The change of the mean total over the runs, and its standard error from blocks of calls.
    fn mean_change_of_total(&self) -> (f64, f64) {
        let of = |group: &RunGroup| {
            let totals = group
                .runs
                .iter()
                .map(|run| run.total_ns as f64 / run.units() as f64);
            let spreads = group.runs.iter().flat_map(|run| {
                let units = run.units() as f64;
                run.rows
                    .iter()
                    .map(move |row| row.figures.spread_ns as f64 / units)
            });
            let count = group.runs.len().max(1) as f64;
            (
                totals.sum::<f64>() / count,
                spreads.fold(0.0, f64::hypot) / count,
            )
        };
        let (before, after) = (of(self.groups.0), of(self.groups.1));
        (after.0 - before.0, before.1.hypot(after.1))
    }

    /// The tests of every item that weighs enough, by family.
    pub(super) fn tests(&self) -> Vec<ItemTest> {
        let mut all = Vec::new();
        if self.runs.before == 0 || self.runs.after == 0 {
            return all;
        }
        let tested = |item: &Item<'a>| {
            let twice = item.kind == Kind::Op && item.rows.len() == 1;
            !twice && self.weight(item) >= self.settings.min_weight
        };
        let families: [(&[Metric], f64); 3] = [
            (&[Metric::Time], TIME_LEVEL),
            (&[Metric::Quiet, Metric::Calls], QUIET_LEVEL),
            (&[Metric::Median, Metric::Tail, Metric::Maximum], CALL_LEVEL),
        ];
        for (metrics, level) in families {
            let first = all.len();
            for &metric in metrics {
                let of_calls = matches!(metric, Metric::Median | Metric::Tail | Metric::Maximum);
                let series: Vec<(usize, Vec<f64>)> = self
                    .items
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| tested(item) && !(of_calls && item.kind == Kind::Op))
                    .filter(|(_, item)| metric != Metric::Quiet || self.is_heavy_when_quiet(item))
                    .filter_map(|(index, item)| Some((index, item.series(metric)?)))
                    .collect();
                let noise = Noise::of(metric, self.runs, series.iter().map(|one| &one.1));
                for (item, series) in series {
                    let uneven = match metric {
                        Metric::Quiet => self.items[item].unevenness(),
                        _ => 0.0,
                    };
                    let change = self.runs.change(&series);
                    let test = noise.test(&series, change, self.common_change(metric), uneven);
                    all.push(ItemTest {
                        item,
                        metric,
                        test: self.limited(&self.items[item], metric, test, &series),
                        series,
                        holds: false,
                    });
                }
            }
            let p: Vec<f64> = all[first..].iter().map(|one| one.test.p).collect();
            for (one, holds) in all[first..].iter_mut().zip(holm(&p, level)) {
                one.holds = holds;
            }
        }
        all
    }

    /// The evidence of every item, in the order of the items; none for those that are not tested.
    pub(super) fn items(&self) -> Vec<Vec<Evidence>> {
        let mut evidence: Vec<Vec<Evidence>> = vec![Vec::new(); self.items.len()];
        for one in self.tests() {
            let change_ns = self.parts(&self.items[one.item]).change_ns();
            let verdict = self.verdict(one.metric, &one.test, one.holds, change_ns);
            evidence[one.item].push(self.evidence(one.metric, &one.series, &one.test, verdict));
        }
        evidence
    }

    /// A test, at most as certain as the calls within the runs allow.
    fn limited(&self, item: &Item<'a>, metric: Metric, test: Tested, series: &[f64]) -> Tested {
        if !self.is_limited_by_calls(item, metric) {
            return test;
        }
        if self.runs.are_far_apart(series, test.common()) {
            return test;
        }
        // The error of a single call is not known. The runs must then all agree.
        if self.runs.show_variance() && item.fewest_calls() < 2.0 {
            return test.limited_to(self.runs.are_apart(series));
        }
        let (change_ns, spread_ns) = self.mean_change(item);
        test.limited_by_calls(change_ns, spread_ns)
    }

    /// True if the test also requires a change that the variation of calls within the runs does not explain. A time is
    /// a sum of calls, which a few interrupted calls change much. A quiet call is robust against them if there are
    /// enough calls.
    pub(super) fn is_limited_by_calls(&self, item: &Item<'a>, metric: Metric) -> bool {
        match metric {
            Metric::Calls => false,
            Metric::Quiet => !self.runs.show_variance() || item.fewest_calls() < ENOUGH_CALLS,
            _ => true,
        }
    }

    /// The change of the mean time over the runs, and its standard error from blocks of calls.
    fn mean_change(&self, item: &Item<'a>) -> (f64, f64) {
        let times: Vec<f64> = item
            .values(Metric::Time)
            .map(Option::unwrap_or_default)
            .collect();
        let (before, after) = times.split_at(self.runs.before);
        let error = |runs: std::ops::Range<usize>| {
            let count = runs.len() as f64;
            runs.map(|run| item.spread(run)).fold(0.0, f64::hypot) / count
        };
        let spread = error(0..self.runs.before).hypot(error(self.runs.before..times.len()));
        (mean(after) - mean(before), spread)
    }

    /// True if an item also has its share of the quiet time. One interrupted call can make an item heavy although its
    /// quiet time is small.
    pub(super) fn is_heavy_when_quiet(&self, item: &Item<'a>) -> bool {
        let (Some(series), Some(total)) =
            (item.series(Metric::Quiet), self.total_series(Metric::Quiet))
        else {
            return false;
        };
        let shares: Vec<f64> = series
            .iter()
            .zip(&total)
            .map(|(one, total)| one - total)
            .collect();
        let (before, after) = shares.split_at(self.runs.before);
        level(before).max(level(after)).exp() >= self.settings.min_weight
    }

    /// `change_ns` is the change of the time that is shown. A verdict never contradicts it.
    pub(super) fn verdict(
        &self,
        metric: Metric,
        test: &Tested,
        holds: bool,
        change_ns: i64,
    ) -> Verdict {
        let size = test.size();
        let adds_up = match metric {
            Metric::Time | Metric::Quiet => size.signum() as i64 == change_ns.signum(),
            _ => true,
        };
        if !adds_up || !self.is_proven(test, holds) {
            return self.unproven(test.change.exp_m1());
        }
        match (metric, size > 0.0) {
            (Metric::Calls, true) => Verdict::More,
            (Metric::Calls, false) => Verdict::Fewer,
            (_, true) => Verdict::Slower,
            (_, false) => Verdict::Faster,
        }
    }

    /// True if a change is significant and above the threshold, and the lower end of its 95 % interval is not far below
    /// the threshold.
    pub(super) fn is_proven(&self, test: &Tested, holds: bool) -> bool {
        let size = test.size().abs();
        let threshold = self.settings.threshold.ln_1p();
        holds && size > threshold && size - test.half_width() > CERTAIN_SHARE * threshold
    }

    pub(super) fn unproven(&self, change: f64) -> Verdict {
        if change.abs() <= self.settings.threshold {
            Verdict::Same
        } else {
            Verdict::Noise
        }
    }

    pub(super) fn evidence(
        &self,
        metric: Metric,
        series: &[f64],
        test: &Tested,
        verdict: Verdict,
    ) -> Evidence {
        let (before, after) = series.split_at(self.runs.before);
        let half = test.half_width();
        Evidence {
            metric: metric.name().to_owned(),
            before: level(before).exp(),
            after: level(after).exp(),
            change: test.change.exp_m1(),
            specific: test.specific.exp_m1(),
            low: (test.specific - half).exp_m1(),
            high: (test.specific + half).exp_m1(),
            p: test.p,
            verdict,
        }
    }
}

fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slower | Verdict::Faster)
}

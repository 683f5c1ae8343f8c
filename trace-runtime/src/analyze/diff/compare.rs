//! Compares two groups of runs.

use super::decomposition::{Parts, Whole};
use super::item::{Item, Kind, Metric};
use super::noise::{Design, Noise, Runs, Tested};
use super::notes::notes;
use super::run_group::{Matched, RunGroup};
use super::run_summary::RunSummary;
use super::statistics::{holm, mean, median};
use super::trace_diff::{DiffRow, Evidence, Method, OUTSIDE, OVERLAP, TotalChange, TraceDiff};
use super::verdict::Verdict;
use std::collections::HashMap;

/// What counts as a change, and how the runs were made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiffSettings {
    /// Changes up to this share are called the same; 0.05 by default.
    pub threshold: f64,
    /// Ops with a smaller share of the total, before and after, are not tested; 0.02 by default.
    pub min_weight: f64,
    /// How the runs were made.
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

/// The probability that the total is called slower or faster without a cause.
const TOTAL_LEVEL: f64 = 0.01;
/// The same for any op by its calls or its quiet time.
const QUIET_LEVEL: f64 = 0.1;
/// The same for any op by its self time.
const TIME_LEVEL: f64 = 0.01;
/// The same for the median, the tail or the longest call of any op.
const CALL_LEVEL: f64 = 0.005;
/// The change that all ops share is only computed from at least this many ops.
const FEWEST_VOTERS: usize = 4;
/// An op with a smaller share of the time is not used for the change that all ops share.
const VOTER_WEIGHT: f64 = 0.002;
/// With one run a side, an op must change the total by this share to be called slower or faster: where its data is in
/// memory can make an op twice as slow for a whole run.
const ONE_RUN_SHARE: f64 = 0.05;

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
    found.notes = notes(&found, before, after);
    found
}

struct Comparison<'a> {
    settings: &'a DiffSettings,
    runs: Runs,
    groups: (&'a RunGroup, &'a RunGroup),
    /// The run of each side whose figures are shown, and its index among all runs.
    quiet: ((&'a RunSummary, usize), (&'a RunSummary, usize)),
    matched: Matched<'a>,
    items: Vec<Item<'a>>,
    parts: Vec<Parts>,
    whole: (Whole, Whole),
    /// What the ops have in common in each run, by metric.
    common: HashMap<Metric, Vec<f64>>,
    /// By how much the time of the ops exceeds their quiet time in each run: interference.
    excess: Vec<f64>,
}

static EMPTY: RunSummary = RunSummary {
    steps: 0,
    total_ns: 0,
    overlap_ns: 0,
    elapsed: false,
    rows: Vec::new(),
    facts: std::collections::BTreeMap::new(),
};

impl<'a> Comparison<'a> {
    fn new(before: &'a RunGroup, after: &'a RunGroup, settings: &'a DiffSettings) -> Self {
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
            common: HashMap::new(),
            excess: vec![0.0; counts.0 + counts.1],
        };
        comparison.find_common();
        comparison
    }

    fn find_common(&mut self) {
        let voters: Vec<&Item<'a>> = self
            .items
            .iter()
            .filter(|item| item.kind == Kind::Op && item.key.0 != OUTSIDE)
            .filter(|item| self.weight(item) >= VOTER_WEIGHT)
            .collect();
        let runs = self.excess.len();
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
        let shared = |series: &[Vec<f64>]| -> Vec<f64> {
            let levels: Vec<f64> = series.iter().map(|one| self.level(one)).collect();
            let of_run =
                |run: usize| median(series.iter().zip(&levels).map(|(one, at)| one[run] - at));
            (0..runs).map(of_run).collect()
        };
        let excess = (0..runs).map(|run| {
            median(
                time.iter()
                    .zip(&quiet)
                    .map(|(time, quiet)| time[run] - quiet[run]),
            )
        });
        let excess = excess.collect();
        let (by_time, by_quiet) = (shared(&time), shared(&quiet));
        for metric in [Metric::Time, Metric::Tail, Metric::Maximum] {
            self.common.insert(metric, by_time.clone());
        }
        for metric in [Metric::Quiet, Metric::Median] {
            self.common.insert(metric, by_quiet.clone());
        }
        self.excess = excess;
    }

    /// The level of a series, to which both sides contribute equally.
    fn level(&self, series: &[f64]) -> f64 {
        let (before, after) = series.split_at(self.runs.before);
        f64::midpoint(mean(before), mean(after))
    }

    fn specific(&self, metric: Metric, series: &[f64]) -> Vec<f64> {
        match self.common.get(&metric) {
            Some(common) => series
                .iter()
                .zip(common)
                .map(|(one, common)| one - common)
                .collect(),
            None => series.to_vec(),
        }
    }

    fn parts(&self, item: &Item<'a>) -> Parts {
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

    fn weight(&self, item: &Item<'a>) -> f64 {
        let parts = self.parts(item);
        self.share_of_total(parts.before_ns, parts.after_ns)
    }

    fn share_of_total(&self, before_ns: i64, after_ns: i64) -> f64 {
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

    /// Tests the total; returns the change that the ops have in common, too.
    fn total(&self) -> (f64, TotalChange) {
        let (before_ns, after_ns) = (self.whole.0.total_ns, self.whole.1.total_ns);
        let change_ns = after_ns.saturating_sub(before_ns);
        let common = self
            .common
            .get(&Metric::Quiet)
            .map_or(0.0, |common| self.runs.change(common));
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
            let mut tested = Noise::of(metric, self.runs, [&specific])
                .test(&specific, self.runs.change(&series));
            if !self.runs.show_variance() {
                tested = tested.limited_by_calls(change_ns as f64, self.total_spread());
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

    fn all_runs(&self) -> impl Iterator<Item = &'a RunSummary> {
        self.groups.0.runs.iter().chain(&self.groups.1.runs)
    }

    fn total_series(&self, metric: Metric) -> Option<Vec<f64>> {
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

    fn total_spread(&self) -> f64 {
        let of = |run: &RunSummary| {
            let spreads = run.rows.iter().map(|row| row.figures.spread_ns as f64);
            spreads.fold(0.0, f64::hypot) / run.units() as f64
        };
        of(self.quiet.0.0).hypot(of(self.quiet.1.0))
    }

    /// The tests of every item, in the order of the items; none for those that are not tested.
    fn items(&self) -> Vec<Vec<Evidence>> {
        let mut evidence: Vec<Vec<Evidence>> = vec![Vec::new(); self.items.len()];
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
            let mut tests: Vec<(usize, Metric, Vec<f64>, Tested)> = Vec::new();
            for &metric in metrics {
                let of_calls = matches!(metric, Metric::Median | Metric::Tail | Metric::Maximum);
                let series: Vec<(usize, Vec<f64>, Vec<f64>)> = self
                    .items
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| tested(item) && !(of_calls && item.kind == Kind::Op))
                    .filter(|(_, item)| metric != Metric::Quiet || self.is_heavy_when_quiet(item))
                    .filter_map(|(index, item)| {
                        let series = item.series(metric)?;
                        let specific = self.specific(metric, &series);
                        Some((index, series, specific))
                    })
                    .collect();
                if self.runs.before == 0 || self.runs.after == 0 {
                    continue;
                }
                let noise = Noise::of(metric, self.runs, series.iter().map(|one| &one.2));
                for (index, series, specific) in series {
                    let mut test = noise.test(&specific, self.runs.change(&series));
                    let item = &self.items[index];
                    if !self.runs.show_variance() && metric != Metric::Calls {
                        let spread = item
                            .spread(self.quiet.0.1)
                            .hypot(item.spread(self.quiet.1.1));
                        test = test.limited_by_calls(self.parts(item).change_ns() as f64, spread);
                    }
                    tests.push((index, metric, series, test));
                }
            }
            let p: Vec<f64> = tests.iter().map(|test| test.3.p).collect();
            for ((index, metric, series, test), holds) in tests.iter().zip(holm(&p, level)) {
                let change_ns = self.parts(&self.items[*index]).change_ns();
                let verdict = self.verdict(*metric, test, holds, change_ns);
                evidence[*index].push(self.evidence(*metric, series, test, verdict));
            }
        }
        evidence
    }

    /// Whether an item has its share of the quiet time, too. One call that was interrupted makes an item heavy, and
    /// its quiet time is then of little interest.
    fn is_heavy_when_quiet(&self, item: &Item<'a>) -> bool {
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
        mean(before).max(mean(after)).exp() >= self.settings.min_weight
    }

    /// `change_ns` is the change of the time shown: a verdict never contradicts it.
    fn verdict(&self, metric: Metric, test: &Tested, holds: bool, change_ns: i64) -> Verdict {
        let size = test.size();
        let adds_up = match metric {
            Metric::Time | Metric::Quiet => size.signum() as i64 == change_ns.signum(),
            _ => true,
        };
        if !holds || !adds_up || size.abs() <= self.settings.threshold.ln_1p() {
            return self.unproven(test.change.exp_m1());
        }
        match (metric, size > 0.0) {
            (Metric::Calls, true) => Verdict::More,
            (Metric::Calls, false) => Verdict::Fewer,
            (_, true) => Verdict::Slower,
            (_, false) => Verdict::Faster,
        }
    }

    fn unproven(&self, change: f64) -> Verdict {
        if change.abs() <= self.settings.threshold {
            Verdict::Same
        } else {
            Verdict::Noise
        }
    }

    fn evidence(
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
            before: mean(before).exp(),
            after: mean(after).exp(),
            change: test.change.exp_m1(),
            specific: test.specific.exp_m1(),
            low: (test.specific - half).exp_m1(),
            high: (test.specific + half).exp_m1(),
            p: test.p,
            verdict,
        }
    }

    fn row(&self, item: &Item<'a>, evidence: &[Evidence]) -> DiffRow {
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
        (row.verdict, row.size) =
            self.row_verdict(&row, item.runs_in(0..self.runs.before), item.runs_in(runs));
        row
    }

    fn row_verdict(&self, row: &DiffRow, in_before: bool, in_after: bool) -> (Verdict, f64) {
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
        let up = row.change_ns > 0;
        let decisive = row.evidence.iter().filter(|one| match one.verdict {
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
    fn plain(&self, name: &str, before_ns: i64, after_ns: i64) -> DiffRow {
        let change_ns = after_ns.saturating_sub(before_ns);
        let weight = self.share_of_total(before_ns.abs(), after_ns.abs());
        DiffRow {
            operation: name.to_owned(),
            self_ns: (before_ns, after_ns),
            change_ns,
            slower_calls_ns: change_ns,
            weight,
            verdict: match weight < self.settings.min_weight {
                true => Verdict::Small,
                false => self.unproven(change_ns as f64 / before_ns.abs().max(1) as f64),
            },
            ..DiffRow::default()
        }
    }

    fn method(&self, common: f64) -> Method {
        let per_step = self.all_runs().any(|run| run.steps > 0);
        let elapsed = self.all_runs().all(|run| run.elapsed);
        Method {
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

    fn description(&self) -> String {
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
    /// Whether it is about what an op adds to the total, rather than about single calls.
    fn is_of_total(&self) -> bool {
        [Metric::Time, Metric::Quiet, Metric::Calls]
            .iter()
            .any(|metric| metric.name() == self.metric)
    }
}

fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slower | Verdict::Faster)
}

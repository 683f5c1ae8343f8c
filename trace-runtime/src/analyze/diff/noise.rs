//! Noise: the variation of a metric without a change, between runs and between groups of runs.
//!
//! The constants were chosen on recordings of the examples `transformer` and `train_mlp` on a machine with two cores,
//! idle to ten times oversubscribed; `scripts/gate-check.sh` measures the resulting error rates.

use super::item::Metric;
use super::shared_variance::SharedVariance;
use super::statistics::{critical, mean, squares, upper_tail};

/// The order in which the runs of two sides were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Design {
    /// All runs of one side were made before all of the other, or the times are not known. The machine may have changed
    /// in between, so small changes are not trusted, even if the runs vary little.
    #[default]
    Groups,
    /// The two sides took turns, and the runs of both are in that order: run *i* before and run *i* after were made one
    /// after the other. A slow machine affects both equally. The sides have the same number of runs.
    Pairs,
}

/// Assumptions about a metric beyond the variation that the runs show. As logarithms: 0.01 is one percent.
#[derive(Debug, Clone, Copy)]
struct Assumed {
    /// The smallest standard deviation between runs that is used.
    floor: f64,
    /// The standard deviation between runs that is used if there are too few runs to measure it.
    unseen: f64,
    /// The standard deviation between two groups of runs, beyond that between runs.
    drift: f64,
}

impl Metric {
    fn assumed(self) -> Assumed {
        match self {
            Metric::Quiet => Assumed {
                floor: 0.01,
                unseen: 0.35,
                drift: 0.01,
            },
            Metric::Calls => Assumed {
                floor: 0.002,
                unseen: 0.03,
                drift: 0.0,
            },
            Metric::Median => Assumed {
                floor: 0.01,
                unseen: 0.35,
                drift: 0.03,
            },
            Metric::Time | Metric::Tail | Metric::Maximum => Assumed {
                floor: 0.03,
                unseen: 0.35,
                drift: 0.25,
            },
        }
    }
}

/// The variance shared by all items counts at most as much as this many degrees of freedom.
const PRIOR_FREEDOM: f64 = 4.0;
/// The number of degrees of freedom if the variance between runs is assumed.
const UNSEEN_FREEDOM: f64 = 30.0;
/// With fewer runs a side the variance between runs is assumed.
const ENOUGH_RUNS: usize = 3;
/// This many runs a side that are all [`FAR_APART`] are not chance: without a change, 1 of 252 groups of five is apart
/// at all.
const RUNS_THAT_AGREE: usize = 5;
/// Runs of two sides are far apart if they differ by at least this factor.
const FAR_APART: f64 = 3.0;
/// The fastest half of the runs differ less from each other than runs do. For variation that is normally distributed,
/// the error of their mean is 1.15 (3 runs) to 1.35 (40 runs) times the value that their differences suggest.
const SELECTION: f64 = 1.3;
/// If the quiet calls of an op are a mixture of short and long ones, the op varies between runs as much as the mixture,
/// even if two runs happen to agree. So the standard deviation between runs is at least this share of the unevenness.
const UNEVEN_SHARE: f64 = 0.1;
/// The smallest standard deviation of the total of a run: five runs may agree by chance.
const TOTAL_FLOOR: f64 = 0.015;
/// The standard deviation by which the total of a group of runs may drift: a machine that is shared can be slow for
/// several runs in a row, for all ops.
const TOTAL_DRIFT: f64 = 0.05;
/// Degrees of freedom of a spread that was computed from blocks of calls.
const BLOCK_FREEDOM: f64 = 9.0;

/// The runs of the two sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs {
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) design: Design,
}

impl Runs {
    fn freedom(&self) -> usize {
        (kept(self.before) + kept(self.after)).saturating_sub(2)
    }

    /// True if there are enough runs to measure the variance between them.
    pub(super) fn show_variance(&self) -> bool {
        self.before.min(self.after) >= ENOUGH_RUNS
    }

    /// The variance of one run, estimated from the quiet runs.
    pub(super) fn variance(&self, series: &[f64]) -> f64 {
        let (before, after) = series.split_at(self.before);
        let squares = squares(&quiet_runs(before)) + squares(&quiet_runs(after));
        SELECTION.powi(2) * squares / self.freedom().max(1) as f64
    }

    /// True if every run after is above every run before, or below; for pairs, whether all differ in one direction.
    pub(super) fn are_apart(&self, series: &[f64]) -> bool {
        let (before, after) = series.split_at(self.before);
        let all = |above: fn(f64, f64) -> bool| match self.design {
            Design::Groups => after
                .iter()
                .all(|&one| before.iter().all(|&other| above(one, other))),
            Design::Pairs => after
                .iter()
                .zip(before)
                .all(|(&one, &other)| above(one, other)),
        };
        all(|one, other| one > other) || all(|one, other| one < other)
    }

    /// True if there are enough runs a side to believe a large change that all of them show, even if the calls within a
    /// run vary. Every run of one side must be far above every run of the other; for pairs, the run of each pair.
    /// `common` is the change that all items share.
    pub(super) fn are_far_apart(&self, series: &[f64], common: f64) -> bool {
        let (before, after) = series.split_at(self.before);
        let least = |side: &[f64]| side.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |side: &[f64]| side.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let gap = match self.design {
            Design::Groups => (least(after) - most(before)).max(least(before) - most(after)),
            Design::Pairs => {
                let pairs = after.iter().zip(before);
                let changes: Vec<f64> = pairs.map(|(after, before)| after - before).collect();
                least(&changes).max(-most(&changes))
            }
        };
        self.before.min(self.after) >= RUNS_THAT_AGREE && gap - common.abs() > FAR_APART.ln()
    }

    pub(super) fn change(&self, series: &[f64]) -> f64 {
        let (before, after) = series.split_at(self.before);
        level(after) - level(before)
    }
}

/// The number of runs that the level of a side is computed from: half of them, rounded up.
fn kept(runs: usize) -> usize {
    runs.div_ceil(2)
}

fn quiet_runs(side: &[f64]) -> Vec<f64> {
    let mut runs = side.to_vec();
    runs.sort_by(f64::total_cmp);
    runs.truncate(kept(runs.len()));
    runs
}

/// The level of a metric on one side: the mean of the lower half of its runs. Other programs only add time, and often
/// to several runs in a row, so the fastest runs show the program best.
pub(super) fn level(side: &[f64]) -> f64 {
    mean(&quiet_runs(side))
}

/// The noise of one metric, learned from all items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    runs: Runs,
    /// The smallest variance that is used.
    floor: f64,
    prior_variance: f64,
    prior_freedom: f64,
    drift: f64,
}

impl Noise {
    /// `series` are the logarithms of the metric of the items that matter, without the change that all items share.
    pub(super) fn of<'a>(
        metric: Metric,
        runs: Runs,
        series: impl IntoIterator<Item = &'a Vec<f64>>,
    ) -> Noise {
        let assumed = metric.assumed();
        let floor = assumed.floor.powi(2);
        let (prior_variance, prior_freedom) = if runs.show_variance() {
            let variances = series.into_iter().map(|one| runs.variance(one).max(floor));
            let variances: Vec<f64> = variances.collect();
            let shared = SharedVariance::of(&variances, runs.freedom() as f64);
            (shared.variance, shared.freedom.min(PRIOR_FREEDOM))
        } else {
            (assumed.unseen.powi(2), UNSEEN_FREEDOM)
        };
        Noise {
            runs,
            floor,
            prior_variance,
            prior_freedom,
            drift: assumed.drift,
        }
    }

    /// The noise of a metric of the total.
    pub(super) fn of_total(metric: Metric, runs: Runs, series: &Vec<f64>) -> Noise {
        let noise = Noise::of(metric, runs, [series]);
        Noise {
            floor: noise.floor.max(TOTAL_FLOOR.powi(2)),
            drift: noise.drift.max(TOTAL_DRIFT),
            ..noise
        }
    }

    /// Tests the change of one item; `common` is the part of the change that all items share. `uneven` is the logarithm
    /// of the median call divided by the quiet call: 0 if all calls take equally long.
    pub(super) fn test(&self, series: &[f64], change: f64, common: f64, uneven: f64) -> Tested {
        let runs = &self.runs;
        let seen = runs.freedom() as f64;
        let freedom = self.prior_freedom + seen;
        let variance =
            (self.prior_freedom * self.prior_variance + seen * runs.variance(series)) / freedom;
        let kept = (kept(runs.before), kept(runs.after));
        let by_mixture = UNEVEN_SHARE * uneven / kept.0.min(kept.1).saturating_sub(1).max(1) as f64;
        let variance = variance.max(self.floor).max(by_mixture.powi(2));
        let drift = match runs.design {
            Design::Groups if runs.show_variance() => self.drift,
            _ => 0.0,
        };
        let per_run = 1.0 / kept.0 as f64 + 1.0 / kept.1 as f64;
        let error = (variance * per_run + drift.powi(2)).sqrt();
        let specific = change - common;
        Tested {
            change,
            specific,
            error,
            freedom,
            p: upper_tail(specific.abs() / error, freedom),
        }
    }
}

/// The result of a test, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tested {
    /// The change from before to after.
    pub(super) change: f64,
    /// The part of the change that the other items do not share.
    pub(super) specific: f64,
    error: f64,
    freedom: f64,
    /// The probability of a change at least as large, in this direction, without a cause.
    pub(super) p: f64,
}

impl Tested {
    /// The smaller of the change and its specific part, if both have the same direction; otherwise 0.
    pub(super) fn size(&self) -> f64 {
        if self.change.signum() == self.specific.signum() {
            self.change
                .abs()
                .min(self.specific.abs())
                .copysign(self.change)
        } else {
            0.0
        }
    }

    /// The part of the change that the other items share.
    pub(super) fn common(&self) -> f64 {
        self.change - self.specific
    }

    /// Half the width of the 95 % interval around the change.
    pub(super) fn half_width(&self) -> f64 {
        critical(0.025, self.freedom) * self.error
    }

    /// The smallest change that a test at this level can find.
    pub(super) fn detectable(&self, level: f64) -> f64 {
        critical(level, self.freedom) * self.error
    }

    /// Removes the certainty of the result unless `certain` is true.
    #[must_use]
    pub(super) fn limited_to(mut self, certain: bool) -> Tested {
        if !certain {
            self.p = 1.0;
        }
        self
    }

    /// Limits the certainty of the result to what the calls within the runs allow. `change_ns` has the standard error
    /// `spread_ns`.
    #[must_use]
    pub(super) fn limited_by_calls(mut self, change_ns: f64, spread_ns: f64) -> Tested {
        let t = change_ns.abs() / spread_ns.max(f64::MIN_POSITIVE);
        self.p = self.p.max(upper_tail(t, BLOCK_FREEDOM));
        self
    }
}

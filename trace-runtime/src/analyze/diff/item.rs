//! The items that are tested: the total, the ops, the ops with the same shapes, and the time outside any op.

use super::run_group::{Key, Matched, RunGroup};
use super::run_summary::{RowFigures, RunSummary};
use super::statistics::median;
use std::collections::HashMap;

/// A figure of an item in each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Metric {
    /// Self time per unit: the time that the item adds to the total.
    Time,
    /// Calls per unit × a quiet call ([`RowFigures::quiet_ns`]): the time that the item would add on an idle machine.
    Quiet,
    /// Calls per unit.
    Calls,
    /// The median call.
    Median,
    /// The 95th percentile of the calls.
    Tail,
    /// The longest call.
    Maximum,
}

impl Metric {
    /// The name in JSON.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Metric::Time => "time",
            Metric::Quiet => "quiet time",
            Metric::Calls => "calls",
            Metric::Median => "median call",
            Metric::Tail => "p95 call",
            Metric::Maximum => "longest call",
        }
    }
}

/// The kind of an item that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// All shapes of an op.
    Op,
    /// An op with the same shapes.
    Row,
}

/// An op, or an op with the same shapes, in all runs: first those before, then those after.
pub(super) struct Item<'a> {
    pub(super) kind: Kind,
    pub(super) key: Key<'a>,
    /// Rows that it is made of.
    pub(super) rows: Vec<usize>,
    runs: Vec<Option<Figures>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    units: f64,
    count: f64,
    time: f64,
    quiet: f64,
    /// The sum over rows of quiet time² / calls.
    concentration: f64,
    /// Calls × the median call.
    typical: f64,
    median: f64,
    tail: f64,
    maximum: f64,
    spread: f64,
}

impl Figures {
    fn add(&mut self, row: &RowFigures) {
        let count = row.count as f64;
        self.count += count;
        self.time += row.self_ns as f64;
        self.quiet += count * row.quiet_ns as f64;
        self.concentration += count * (row.quiet_ns as f64).powi(2);
        self.typical += count * row.p50_ns as f64;
        self.median = row.p50_ns as f64;
        self.tail = row.p95_ns as f64;
        self.maximum = row.max_ns as f64;
        self.spread = self.spread.hypot(row.spread_ns as f64);
    }
}

impl<'a> Item<'a> {
    /// Each op, then each row of an op that has several.
    pub(super) fn all(matched: &Matched<'a>, before: &RunGroup, after: &RunGroup) -> Vec<Item<'a>> {
        let units: Vec<f64> = before
            .runs
            .iter()
            .chain(&after.runs)
            .map(|run| run.units() as f64)
            .collect();
        let mut ops: Vec<(Key<'a>, Vec<usize>)> = Vec::new();
        let mut numbers: HashMap<(&str, bool), usize> = HashMap::new();
        for (row, key) in matched.keys.iter().enumerate() {
            let number = *numbers.entry((key.0, key.1)).or_insert_with(|| {
                ops.push(((key.0, key.1, &[]), Vec::new()));
                ops.len() - 1
            });
            ops[number].1.push(row);
        }
        let one = |kind, key, rows: Vec<usize>| {
            let runs = (0..units.len()).map(|run| figures(matched, &rows, run, units[run]));
            let runs = runs.collect();
            Item {
                kind,
                key,
                rows,
                runs,
            }
        };
        let rows = (0..matched.keys.len()).map(|row| one(Kind::Row, matched.keys[row], vec![row]));
        let rows: Vec<Item<'a>> = rows.collect();
        ops.into_iter()
            .map(|(key, rows)| one(Kind::Op, key, rows))
            .chain(rows)
            .collect()
    }

    /// The elapsed time in which no op ran, under this name; `None` unless all runs have elapsed times.
    pub(super) fn outside(before: &RunGroup, after: &RunGroup, name: &'a str) -> Option<Item<'a>> {
        let of = |run: &RunSummary| {
            run.elapsed.then(|| {
                let mut figures = Figures {
                    units: run.units() as f64,
                    ..Figures::default()
                };
                figures.add(&run.outside);
                figures
            })
        };
        let runs: Vec<Option<Figures>> = before.runs.iter().chain(&after.runs).map(of).collect();
        let there = !runs.is_empty()
            && runs
                .iter()
                .all(|figures| figures.is_some_and(|of| of.time > 0.0));
        there.then_some(Item {
            kind: Kind::Row,
            key: (name, false, &[]),
            rows: Vec::new(),
            runs,
        })
    }

    /// A metric in each run, per unit if it is a sum; `None` in a run that does not have the item.
    pub(super) fn values(&self, metric: Metric) -> impl Iterator<Item = Option<f64>> {
        self.runs.iter().map(move |figures| {
            figures.map(|of| match metric {
                Metric::Time => of.time / of.units,
                Metric::Quiet => of.quiet / of.units,
                Metric::Calls => of.count / of.units,
                Metric::Median => of.median,
                Metric::Tail => of.tail,
                Metric::Maximum => of.maximum,
            })
        })
    }

    /// Logarithms of a metric in each run; `None` unless every run has the item and a value above zero.
    pub(super) fn series(&self, metric: Metric) -> Option<Vec<f64>> {
        self.values(metric)
            .map(|value| value.filter(|&value| value > 0.0).map(f64::ln))
            .collect()
    }

    /// The logarithm of a typical call divided by a quiet call, in the median run. 0 if all calls take equally long.
    pub(super) fn unevenness(&self) -> f64 {
        let runs = self.runs.iter().flatten();
        let ratios = runs.filter(|of| of.quiet > 0.0);
        median(ratios.map(|of| (of.typical / of.quiet).ln().max(0.0)))
    }

    /// True if any of the runs in this range has the item.
    pub(super) fn runs_in(&self, runs: std::ops::Range<usize>) -> bool {
        self.runs[runs].iter().any(Option::is_some)
    }

    /// The number of calls in the run that has the fewest. If a few calls of one row take most of the time, the result
    /// is close to their number, even if the other rows have many short calls.
    pub(super) fn fewest_calls(&self) -> f64 {
        let counts = self.runs.iter().flatten().map(|of| {
            if of.concentration > 0.0 {
                of.quiet.powi(2) / of.concentration
            } else {
                of.count
            }
        });
        counts.fold(f64::INFINITY, f64::min)
    }

    /// The standard error of the self time per unit in a run.
    pub(super) fn spread(&self, run: usize) -> f64 {
        self.runs[run].map_or(0.0, |of| of.spread / of.units)
    }
}

fn figures(matched: &Matched<'_>, rows: &[usize], run: usize, units: f64) -> Option<Figures> {
    let mut sum: Option<Figures> = None;
    for row in rows
        .iter()
        .filter_map(|&row| matched.figures[row][run].as_ref())
    {
        sum.get_or_insert(Figures {
            units,
            ..Figures::default()
        })
        .add(row);
    }
    sum
}

//! One run, reduced to the figures that a comparison needs.

use super::statistics::critical;
use crate::analyze::durations::percentile;
use crate::analyze::grouping::Grouping;
use crate::analyze::intervals::Intervals;
use crate::analyze::nesting::Nesting;
use crate::analyze::row_key::{ByShape, RowKey};
use crate::analyze::step_of::step_of_entries;
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::BTreeMap;

/// The keys of the metadata that a comparison uses: facts about the program and the machine.
const FACTS: [&str; 8] = [
    "program",
    "program_build",
    "version",
    "os",
    "arch",
    "cores",
    "cpu",
    "start_unix_ns",
];
/// A run is divided into this many blocks of consecutive calls to measure how much its total varies.
const BLOCKS: usize = 10;

/// The calls of one op with the same input shapes in one run. Times are self times, in nanoseconds: a slow inner op
/// does not make its callers slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RowFigures {
    /// The number of calls.
    pub count: u64,
    /// The time of all calls.
    pub self_ns: u64,
    /// A quiet call: the mean of the faster half of the calls. Interference from other programs only adds time, so this
    /// shows the speed of the code even on a busy machine. A mean rather than a percentile, because the calls of some
    /// ops are a mixture of short and long ones, and a percentile that is between the two changes abruptly with the
    /// mixture.
    pub quiet_ns: u64,
    /// The median call.
    pub p50_ns: u64,
    /// The 95th percentile: 95 % of the calls took no longer.
    pub p95_ns: u64,
    /// The longest call.
    pub max_ns: u64,
    /// The standard error of `self_ns`. It is computed from blocks of consecutive calls, because calls that are slow
    /// together are not independent. With few calls it is increased; with one call it is `self_ns`.
    pub spread_ns: u64,
    /// The time by which calls took longer than two median calls: rare slow calls, or calls that were interrupted.
    pub long_ns: u64,
}

json_struct!(RowFigures {
    required: [
        count, self_ns, quiet_ns, p50_ns, p95_ns, max_ns, spread_ns, long_ns
    ],
    optional: [],
});

/// One op with the same input shapes in one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RowSummary {
    /// The op's name.
    pub operation: String,
    /// The dims of its inputs.
    pub input_shapes: Vec<Vec<usize>>,
    /// True if it ran on a device other than `cpu`.
    pub accelerator: bool,
    /// Its calls.
    pub figures: RowFigures,
}

/// One run, reduced to the figures that a comparison needs.
///
/// If the trace has steps, only entries that belong to a step count, and figures are compared per step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RunSummary {
    /// The number of steps, of all ranks; 0 if the trace has none and the run as a whole is compared.
    pub steps: u64,
    /// Elapsed time: of the steps, or from the first start to the last end if there are none. If an entry has no start,
    /// the sum of self times.
    pub total_ns: u64,
    /// Elapsed time in which at least one op ran, minus the sum of self times: below zero if threads or devices
    /// ran ops at the same time.
    pub overlap_ns: i64,
    /// True if `total_ns` is elapsed time rather than a sum of self times.
    pub elapsed: bool,
    /// The elapsed time in which no op ran. Each gap between ops counts as a call.
    pub outside: RowFigures,
    /// Each op with the same input shapes, in the order in which they first ran.
    pub rows: Vec<RowSummary>,
    /// Facts about the program and the machine that the trace has.
    pub facts: BTreeMap<String, String>,
}

impl RunSummary {
    /// Reduces a trace to its figures.
    pub fn of<T: TraceView + ?Sized>(trace: &T) -> RunSummary {
        let nesting = Nesting::of(trace);
        let step_of = step_of_entries(trace);
        let counts = |index: usize| step_of.is_empty() || step_of[index].is_some();
        let mut grouping = Grouping::new();
        let mut calls: Vec<Vec<u64>> = Vec::new();
        for (index, view) in trace
            .views()
            .enumerate()
            .filter(|&(index, _)| counts(index))
        {
            let group = grouping.group(&view, |view| Some(ByShape(*view))) as usize;
            if group >= calls.len() {
                calls.resize_with(group + 1, Vec::new);
            }
            calls[group].push(nesting.self_ns(index, &view));
        }
        let rows: Vec<RowSummary> = grouping
            .keys()
            .iter()
            .zip(&mut calls)
            .map(|(key, calls)| RowSummary {
                operation: key.operation().to_owned(),
                input_shapes: key.input_shapes().unwrap_or_default(),
                accelerator: key.accelerator(),
                figures: RowFigures::of(calls),
            })
            .collect();
        let in_ops = rows
            .iter()
            .fold(0u64, |sum, row| sum.saturating_add(row.figures.self_ns));
        let time = Elapsed::of(trace, counts);
        let facts = FACTS.iter().filter_map(|&key| {
            let value = trace.metadata().get(key)?;
            Some((key.to_owned(), value.clone()))
        });
        RunSummary {
            steps: trace.steps().len() as u64,
            total_ns: time.as_ref().map_or(in_ops, |time| time.total_ns),
            overlap_ns: time
                .as_ref()
                .map_or(0, |time| signed(time.in_ops_ns) - signed(in_ops)),
            elapsed: time.is_some(),
            outside: time.map_or_else(RowFigures::default, Elapsed::outside),
            rows,
            facts: facts.collect(),
        }
    }

    /// The number that figures are divided by: steps, or one run.
    pub(super) fn units(&self) -> u64 {
        self.steps.max(1)
    }
}

impl RowFigures {
    pub(super) const NONE: RowFigures = RowFigures {
        count: 0,
        self_ns: 0,
        quiet_ns: 0,
        p50_ns: 0,
        p95_ns: 0,
        max_ns: 0,
        spread_ns: 0,
        long_ns: 0,
    };

    /// The figures of self times in the order of the calls, which are rearranged.
    fn of(calls: &mut [u64]) -> RowFigures {
        let self_ns = calls
            .iter()
            .fold(0u64, |sum, &call| sum.saturating_add(call));
        let spread_ns = spread(calls, self_ns);
        let p50_ns = percentile(calls, 50);
        RowFigures {
            count: calls.len() as u64,
            self_ns,
            spread_ns,
            quiet_ns: faster_half(calls),
            p50_ns,
            long_ns: calls
                .iter()
                .map(|call| call.saturating_sub(p50_ns.saturating_mul(2)))
                .fold(0, u64::saturating_add),
            p95_ns: percentile(calls, 95),
            max_ns: percentile(calls, 100),
        }
    }
}

/// The mean of the faster half of the calls, which are rearranged; 0 if there are none.
fn faster_half(calls: &mut [u64]) -> u64 {
    let half = calls.len().div_ceil(2);
    if half == 0 {
        return 0;
    }
    calls.select_nth_unstable(half - 1);
    let sum = calls[..half]
        .iter()
        .fold(0u64, |sum, &call| sum.saturating_add(call));
    sum / half as u64
}

/// The standard error of a sum of calls, from the sums of blocks of consecutive calls.
fn spread(calls: &[u64], sum: u64) -> u64 {
    let blocks = calls.len().min(BLOCKS);
    if blocks < 2 {
        return sum;
    }
    let mean = sum as f64 / calls.len() as f64;
    let bounds = |block: usize| block * calls.len() / blocks..(block + 1) * calls.len() / blocks;
    let squares: f64 = (0..blocks)
        .map(|block| {
            let calls = &calls[bounds(block)];
            let of_block: f64 = calls.iter().map(|&call| call as f64).sum();
            (of_block - mean * calls.len() as f64).powi(2)
        })
        .sum();
    // The test assumes nine degrees of freedom. With fewer blocks, the tail of the distribution is heavier.
    let tail = |freedom: usize| critical(0.005, freedom as f64);
    let heavier = tail(blocks - 1) / tail(BLOCKS - 1);
    (heavier * (squares * blocks as f64 / (blocks - 1) as f64).sqrt()).round() as u64
}

/// Elapsed time, with and without ops.
#[derive(Default)]
struct Elapsed {
    total_ns: u64,
    in_ops_ns: u64,
    /// The gaps between ops, in the order of time.
    gaps: Vec<u64>,
}

impl Elapsed {
    /// `None` if an entry has no start, or there are no entries.
    fn of<T: TraceView + ?Sized>(trace: &T, counts: impl Fn(usize) -> bool) -> Option<Elapsed> {
        let mut by_rank: BTreeMap<Option<u32>, Vec<(i64, i64)>> = BTreeMap::new();
        let by_steps = !trace.steps().is_empty();
        for (index, view) in trace.views().enumerate() {
            let span = view.start_ns().zip(view.end_ns())?;
            if counts(index) {
                let rank = if by_steps { view.rank() } else { None };
                by_rank.entry(rank).or_default().push(span);
            }
        }
        let mut time = Elapsed::default();
        if !by_steps {
            let spans = by_rank.remove(&None)?;
            let first = spans.iter().map(|span| span.0).min()?;
            let last = spans.iter().map(|span| span.1).max()?;
            time.add(&[(first, last)].into_iter().collect(), spans);
            time.total_ns = last.abs_diff(first);
            return Some(time);
        }
        let mut steps_of: BTreeMap<Option<u32>, Vec<(i64, i64)>> = BTreeMap::new();
        for step in trace.steps() {
            time.total_ns = time.total_ns.saturating_add(step.length_ns());
            let steps = steps_of.entry(step.rank).or_default();
            steps.push((step.start_ns, step.end_ns));
        }
        for (rank, steps) in steps_of {
            let ops = by_rank.remove(&rank).unwrap_or_default();
            time.add(&steps.into_iter().collect(), ops);
        }
        time.in_ops_ns = time.in_ops_ns.min(time.total_ns);
        Some(time)
    }

    fn add(&mut self, within: &Intervals, ops: Vec<(i64, i64)>) {
        let ops: Intervals = ops.into_iter().collect();
        let in_ops = within.intersection(&ops).length();
        self.in_ops_ns = self.in_ops_ns.saturating_add(in_ops);
        let gaps = within.difference(&ops);
        self.gaps
            .extend(gaps.as_slice().iter().map(|gap| gap.1.abs_diff(gap.0)));
    }

    fn outside(mut self) -> RowFigures {
        RowFigures {
            // Steps of one rank that overlap have gaps in common.
            self_ns: self.total_ns.saturating_sub(self.in_ops_ns),
            ..RowFigures::of(&mut self.gaps)
        }
    }
}

pub(super) fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_call_makes_the_sum_as_uncertain_as_it_is_long() {
        let mut calls = vec![10; 100];
        calls[40] = 1010;
        let found = spread(&calls, calls.iter().sum());
        assert!((900..1100).contains(&found), "{found}");
        assert_eq!(spread(&[10; 100], 1000), 0);
        assert_eq!(spread(&[7], 7), 7);
    }

    #[test]
    fn time_above_two_median_calls_is_long() {
        let mut calls = vec![10, 10, 10, 15, 50];
        assert_eq!(RowFigures::of(&mut calls).long_ns, 30);
        assert_eq!(RowFigures::of(&mut []), RowFigures::default());
    }

    #[test]
    fn a_quiet_call_is_the_mean_of_the_faster_half() {
        assert_eq!(faster_half(&mut [40, 10, 900, 20, 30]), 20);
        assert_eq!(faster_half(&mut [40, 10]), 10);
        assert_eq!(faster_half(&mut []), 0);
    }

    #[test]
    fn slow_calls_that_come_together_are_not_independent() {
        let apart: Vec<u64> = (0..100)
            .map(|call| if call % 10 == 0 { 20 } else { 10 })
            .collect();
        let together: Vec<u64> = (0..100)
            .map(|call| if call < 10 { 20 } else { 10 })
            .collect();
        assert!(spread(&apart, 1100) < spread(&together, 1100));
    }
}

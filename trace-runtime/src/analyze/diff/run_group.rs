//! The runs of one side of a comparison.

use super::run_summary::{RowFigures, RunSummary};
use crate::model::TraceView;
use std::collections::{BTreeMap, HashMap};

/// The runs of one side of a comparison: before the change, or after it.
///
/// ```
/// use std::time::Duration;
/// use trace_runtime::analyze::{DiffSettings, RunGroup, diff};
/// use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry};
///
/// let run = |us: u64| {
///     let mut trace = RecordedExecutionTrace::new();
///     for step in 0..20 {
///         trace.add_entry(RecordedTraceEntry::new(step, "matmul").with_duration(Duration::from_micros(us)));
///     }
///     trace
/// };
/// let before: RunGroup = [100, 101, 100].map(run).iter().collect();
/// let after: RunGroup = [120, 121, 120].map(run).iter().collect();
/// let found = diff(&before, &after, &DiffSettings::default());
/// assert_eq!(found.total.verdict.name(), "slower");
/// assert_eq!(found.total.change_ns, 400_000);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RunGroup {
    /// The runs, in the order in which they were made.
    pub runs: Vec<RunSummary>,
}

impl RunGroup {
    /// The index of the run whose figures are shown: the fastest one, which other programs disturbed least.
    ///
    /// The fastest of many runs is faster than the fastest of few. So for the larger group, the run is not its fastest
    /// one but the one at the rank where the fastest of `others` runs is expected.
    pub(super) fn quiet_run(&self, others: usize) -> Option<usize> {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by(|&a, &b| {
            let per_unit = |index: usize| {
                let run = &self.runs[index];
                run.total_ns as f64 / run.units() as f64
            };
            per_unit(a).total_cmp(&per_unit(b))
        });
        let smaller = others.min(self.runs.len());
        let rank = ((self.runs.len() + 1) as f64 / (smaller + 1) as f64).round() as usize;
        order.get(rank.max(1) - 1).copied()
    }

    /// The facts that all runs of the group agree on.
    pub(super) fn facts(&self) -> BTreeMap<&str, &str> {
        let Some((first, others)) = self.runs.split_first() else {
            return BTreeMap::new();
        };
        let agreed = first
            .facts
            .iter()
            .filter(|&(key, value)| others.iter().all(|run| run.facts.get(key) == Some(value)));
        agreed
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect()
    }
}

impl<'a, T: TraceView + 'a> FromIterator<&'a T> for RunGroup {
    fn from_iter<I: IntoIterator<Item = &'a T>>(traces: I) -> RunGroup {
        traces.into_iter().map(RunSummary::of).collect()
    }
}

impl FromIterator<RunSummary> for RunGroup {
    fn from_iter<I: IntoIterator<Item = RunSummary>>(runs: I) -> RunGroup {
        RunGroup {
            runs: runs.into_iter().collect(),
        }
    }
}

/// The key of a row of a comparison.
pub(super) type Key<'a> = (&'a str, bool, &'a [Vec<usize>]);

/// The rows of all runs of both sides, matched.
pub(super) struct Matched<'a> {
    /// In the order of their first occurrence.
    pub(super) keys: Vec<Key<'a>>,
    /// For each key, its figures in each run: first the runs before, then those after.
    pub(super) figures: Vec<Vec<Option<RowFigures>>>,
}

impl<'a> Matched<'a> {
    pub(super) fn of(before: &'a RunGroup, after: &'a RunGroup) -> Matched<'a> {
        let mut numbers: HashMap<Key<'a>, usize> = HashMap::new();
        let mut matched = Matched {
            keys: Vec::new(),
            figures: Vec::new(),
        };
        let runs = before.runs.len() + after.runs.len();
        for (run, summary) in before.runs.iter().chain(&after.runs).enumerate() {
            for row in &summary.rows {
                let key: Key<'a> = (&row.operation, row.accelerator, &row.input_shapes);
                let number = *numbers.entry(key).or_insert_with(|| {
                    matched.keys.push(key);
                    matched.figures.push(vec![None; runs]);
                    matched.keys.len() - 1
                });
                matched.figures[number][run] = Some(row.figures);
            }
        }
        matched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_group_shows_a_run_further_from_its_fastest() {
        let group = |count: u64| -> RunGroup {
            let run = |total_ns| RunSummary {
                total_ns,
                ..RunSummary::default()
            };
            (0..count).rev().map(run).collect()
        };
        let rank = |count: u64, others: usize| {
            let group = group(count);
            group
                .quiet_run(others)
                .map(|index| group.runs[index].total_ns)
        };
        assert_eq!((rank(5, 5), rank(5, 10)), (Some(0), Some(0)));
        assert_eq!((rank(10, 5), rank(10, 1)), (Some(1), Some(5)));
        assert_eq!(rank(0, 3), None);
    }
}

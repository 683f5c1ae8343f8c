//! What changed from one trace to another, told apart from noise.

use super::durations::{Durations, percentile};
use super::grouping::Grouping;
use super::nesting::Nesting;
use super::row_key::{ByShape, RowKey};
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::HashMap;
use std::fmt;

/// What a row of a [`TraceDiff`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Verdict {
    /// The medians differ by less than the threshold.
    #[default]
    Same,
    /// They differ by more, but not by more than chance explains.
    Noise,
    /// It got slower.
    Slower,
    /// It got faster.
    Faster,
    /// Only the second trace has it.
    Added,
    /// Only the first trace has it.
    Removed,
}

impl Verdict {
    const ALL: [Verdict; 6] = [
        Verdict::Same,
        Verdict::Noise,
        Verdict::Slower,
        Verdict::Faster,
        Verdict::Added,
        Verdict::Removed,
    ];

    /// The name as shown and as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Noise => "noise",
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Added => "added",
            Verdict::Removed => "removed",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl crate::model::json_struct::OnWire for Verdict {
    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }

    fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        let known = Self::ALL.into_iter().find(|verdict| verdict.name() == name);
        known.ok_or_else(|| {
            serde::de::Error::custom(format_args!("`{}` is no verdict", name.escape_debug()))
        })
    }
}

/// One op with the same input shapes in two traces.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiffRow {
    /// The op's name.
    pub operation: String,
    /// The dims of its inputs.
    pub input_shapes: Vec<Vec<usize>>,
    /// Whether it ran on a device other than `cpu`.
    pub accelerator: bool,
    /// How often it ran before and after.
    pub count: (usize, usize),
    /// Its median duration before and after.
    pub p50_ns: (u64, u64),
    /// Its self time before and after.
    pub self_ns: (u64, u64),
    /// The median after as a multiple of the one before; `None` where one is missing or zero.
    pub ratio: Option<f64>,
    /// By how much that ratio may be off by chance: three standard errors of the two medians.
    /// `None` where a side ran less than five times, which is too few to tell.
    pub noise: Option<f64>,
    /// What to make of it.
    pub verdict: Verdict,
}

json_struct!(DiffRow {
    required: [
        operation,
        input_shapes,
        count,
        p50_ns,
        self_ns,
        ratio,
        noise,
        verdict
    ],
    optional: [accelerator],
});

/// Two traces compared by op and input shapes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TraceDiff {
    /// Time spent in ops before and after.
    pub total_ns: (u64, u64),
    /// From which difference of medians on a row is more than the same, as a share.
    pub threshold: f64,
    /// Each op and shapes, by how much its self time changed, largest change first.
    pub rows: Vec<DiffRow>,
}

json_struct!(TraceDiff {
    required: [total_ns, threshold, rows],
    optional: [],
});

impl TraceDiff {
    /// Rows that got slower by more than `share` and take at least 1 % of the time of either trace.
    ///
    /// For a CI job that should fail on a slowdown: fail when there is one.
    pub fn slowdowns_over(&self, share: f64) -> impl Iterator<Item = &DiffRow> {
        self.rows.iter().filter(move |row| {
            let weighty = |of: u64, whole: u64| of as f64 >= whole as f64 / 100.0;
            row.verdict == Verdict::Slower
                && row.ratio.is_some_and(|ratio| ratio > 1.0 + share)
                && (weighty(row.self_ns.0, self.total_ns.0)
                    || weighty(row.self_ns.1, self.total_ns.1))
        })
    }
}

/// Compares two traces by op and input shapes; a row whose medians differ by less than `threshold`, a
/// share such as 0.05, is the same.
pub fn diff<A, B>(before: &A, after: &B, threshold: f64) -> TraceDiff
where
    A: TraceView + ?Sized,
    B: TraceView + ?Sized,
{
    let (old, old_total) = medians(before);
    let (mut new, new_total) = medians(after);
    let mut rows: Vec<DiffRow> = old
        .into_iter()
        .map(|(key, old)| {
            let new = new.remove(&key);
            row(key, Some(old), new, threshold)
        })
        .collect();
    rows.extend(
        new.into_iter()
            .map(|(key, new)| row(key, None, Some(new), threshold)),
    );
    rows.sort_by(|a, b| {
        let change = |row: &DiffRow| row.self_ns.0.abs_diff(row.self_ns.1);
        change(b)
            .cmp(&change(a))
            .then_with(|| a.operation.cmp(&b.operation))
            .then_with(|| a.accelerator.cmp(&b.accelerator))
            .then_with(|| a.input_shapes.cmp(&b.input_shapes))
    });
    TraceDiff {
        total_ns: (old_total, new_total),
        threshold,
        rows,
    }
}

type Key = (String, Vec<Vec<usize>>, bool);

#[derive(Clone, Copy, Default)]
struct Median {
    count: usize,
    p50_ns: u64,
    self_ns: u64,
    /// The standard error of the median as a share of it.
    error: Option<f64>,
}

fn medians<T: TraceView + ?Sized>(trace: &T) -> (HashMap<Key, Median>, u64) {
    let nesting = Nesting::of(trace);
    let mut grouping = Grouping::new();
    let groups: Vec<u32> = trace
        .views()
        .map(|view| grouping.group(&view, |view| Some(ByShape(*view))))
        .collect();
    let mut self_ns = vec![0u64; grouping.keys().len()];
    let mut total = 0u64;
    for (index, view) in trace.views().enumerate() {
        let own = nesting.self_ns(index, &view);
        let sum = &mut self_ns[groups[index] as usize];
        *sum = sum.saturating_add(own);
        total = total.saturating_add(own);
    }
    let mut durations = Durations::of(trace, &groups, self_ns.len());
    let medians = grouping
        .keys()
        .iter()
        .zip(self_ns)
        .enumerate()
        .map(|(group, (key, self_ns))| {
            let of_group = durations.group(group);
            let median = Median {
                count: of_group.len(),
                p50_ns: percentile(of_group, 50),
                self_ns,
                error: median_error(of_group),
            };
            let shapes = key.input_shapes().unwrap_or_default();
            (
                (key.operation().to_owned(), shapes, key.accelerator()),
                median,
            )
        })
        .collect();
    (medians, total)
}

/// The standard error of the median, as a share of it, from the median absolute deviation: a few
/// slow outliers say nothing about the others.
fn median_error(durations: &mut [u64]) -> Option<f64> {
    if durations.len() < 5 {
        return None;
    }
    let count = durations.len() as f64;
    let median = percentile(durations, 50);
    let mut deviations: Vec<u64> = durations.iter().map(|one| one.abs_diff(median)).collect();
    // Of a clock that ticks in whole nanoseconds nothing is known below half of one.
    let deviation = (percentile(&mut deviations, 50) as f64).max(0.5);
    // 1.4826 makes a standard deviation of it, 1.2533 that of a median rather than a mean.
    Some(1.2533 * 1.4826 * deviation / count.sqrt() / median.max(1) as f64)
}

fn row(key: Key, old: Option<Median>, new: Option<Median>, threshold: f64) -> DiffRow {
    let verdict_of = |ratio: f64, noise: Option<f64>| {
        let change = (ratio - 1.0).abs();
        if change < threshold {
            Verdict::Same
        } else if noise.is_none_or(|noise| change <= noise) {
            Verdict::Noise
        } else if ratio > 1.0 {
            Verdict::Slower
        } else {
            Verdict::Faster
        }
    };
    let (a, b) = (old.unwrap_or_default(), new.unwrap_or_default());
    let ratio = (a.p50_ns > 0 && b.p50_ns > 0).then(|| b.p50_ns as f64 / a.p50_ns as f64);
    let noise = ratio.and_then(|ratio| Some(3.0 * ratio * a.error?.hypot(b.error?)));
    DiffRow {
        operation: key.0,
        input_shapes: key.1,
        accelerator: key.2,
        count: (a.count, b.count),
        p50_ns: (a.p50_ns, b.p50_ns),
        self_ns: (a.self_ns, b.self_ns),
        ratio,
        noise,
        verdict: match (old, new, ratio) {
            (None, _, _) => Verdict::Added,
            (_, None, _) => Verdict::Removed,
            (_, _, Some(ratio)) => verdict_of(ratio, noise),
            (_, _, None) if a.p50_ns == b.p50_ns => Verdict::Same,
            (_, _, None) => Verdict::Noise,
        },
    }
}

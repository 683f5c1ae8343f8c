//! The result of a comparison.

use super::verdict::Verdict;
use crate::model::json_struct::json_struct;

/// The name of the row with the elapsed time in which no op ran.
pub const OUTSIDE: &str = "(outside of any op)";
/// The name of the row with the time that self times count more than once, because ops ran at the same time on
/// several threads or devices. Its times are below zero.
pub const OVERLAP: &str = "(ops at the same time)";
/// The name of the row for long calls. Other programs may cause long calls, so the long calls of an op may change in
/// one direction while its typical calls change in the other. For such ops, the time beyond two median calls is in this
/// row and not in their own.
pub const LONG_CALLS: &str = "(long calls)";

/// The test of one metric.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Evidence {
    /// `time` (self time), `quiet time` (calls × a quiet call), `calls`, `median call`, `p95 call` or `longest call`.
    pub metric: String,
    /// The metric before, in nanoseconds or calls, per step or run: the geometric mean over the runs.
    pub before: f64,
    /// The metric after.
    pub after: f64,
    /// The change as a share: 0.1 is 10 % more.
    pub change: f64,
    /// The part of the change that the other ops do not share. Equal to `change` if there are too few ops to separate
    /// them.
    pub specific: f64,
    /// Lower end of the 95 % interval around `specific`.
    pub low: f64,
    /// Upper end of the 95 % interval around `specific`.
    pub high: f64,
    /// The probability of a change at least as large in this direction without a cause, before the correction for
    /// many tests.
    pub p: f64,
    /// The verdict on this metric, after the correction for many tests.
    pub verdict: Verdict,
}

json_struct!(Evidence {
    required: [
        metric, before, after, change, specific, low, high, p, verdict
    ],
    optional: [],
});

/// The change of the total.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct TotalChange {
    /// The total before, in nanoseconds per step or run: of the quietest run.
    pub before_ns: i64,
    /// The total after, in the same unit.
    pub after_ns: i64,
    /// `after_ns - before_ns`. The changes of the rows add up to it exactly.
    pub change_ns: i64,
    /// `change_ns` as a share of `before_ns`.
    pub change: f64,
    /// The change that the verdict is about, as a share: the largest that is significant, else 0.
    pub size: f64,
    /// The smallest change of the total that these runs could have shown, as a share.
    pub detectable: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The tests that it comes from.
    pub evidence: Vec<Evidence>,
}

json_struct!(TotalChange {
    required: [
        before_ns, after_ns, change_ns, change, size, detectable, verdict, evidence
    ],
    optional: [],
});

/// The change of one op, or of one op with the same input shapes. All times are self times.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct DiffRow {
    /// The op's name, [`OUTSIDE`], [`OVERLAP`] or [`LONG_CALLS`].
    pub operation: String,
    /// The dims of its inputs; `None` in a row for all shapes of an op.
    pub input_shapes: Option<Vec<Vec<usize>>>,
    /// True if it ran on a device other than `cpu`.
    pub accelerator: bool,
    /// Calls before and after, in the quietest run of each side.
    pub count: (u64, u64),
    /// Time before and after, in nanoseconds per step or run; in the same runs as `count`.
    pub self_ns: (i64, i64),
    /// The time after minus the time before.
    pub change_ns: i64,
    /// The part of `change_ns` due to more calls: additional calls × the mean call before.
    pub more_calls_ns: i64,
    /// The rest of `change_ns`: calls after × the change of the mean call.
    pub slower_calls_ns: i64,
    /// The row's share of the total, before or after: the larger of the two.
    pub weight: f64,
    /// A quiet call before and after: the mean of the faster half of the calls. 0 in a row for all shapes of an op.
    pub quiet_ns: (u64, u64),
    /// The median call before and after; 0 in a row for all shapes.
    pub p50_ns: (u64, u64),
    /// The 95th percentile of the calls before and after; 0 in a row for all shapes.
    pub p95_ns: (u64, u64),
    /// The longest call before and after; 0 in a row for all shapes.
    pub max_ns: (u64, u64),
    /// The change that the verdict is about, as a share: the largest that is significant, else 0.
    pub size: f64,
    /// The verdict on the time that it adds to the total.
    pub verdict: Verdict,
    /// The tests that it comes from, and those of the median, the tail and the longest call.
    pub evidence: Vec<Evidence>,
}

json_struct!(DiffRow {
    required: [
        operation,
        count,
        self_ns,
        change_ns,
        more_calls_ns,
        slower_calls_ns,
        weight,
        size,
        verdict,
        evidence
    ],
    optional: [input_shapes, accelerator, quiet_ns, p50_ns, p95_ns, max_ns],
});

/// The method of a comparison: its runs, units and limits.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct DiffMethod {
    /// Runs before and after.
    pub runs: (usize, usize),
    /// True if the two sides took turns.
    pub pairs: bool,
    /// The unit that times refer to: `step` or `run`.
    pub per: String,
    /// The meaning of the total: `elapsed time`, or `time in ops` if the traces do not have the start of every entry.
    pub total: String,
    /// Changes up to this share are called the same.
    pub threshold: f64,
    /// Ops with a smaller share of the total are not tested.
    pub min_weight: f64,
    /// The change that the ops have in common, as a share: the machine, the compiler, or a change to everything.
    pub common: f64,
    /// The method in words.
    pub description: String,
}

json_struct!(DiffMethod {
    required: [
        runs,
        pairs,
        per,
        total,
        threshold,
        min_weight,
        common,
        description
    ],
    optional: [],
});

/// The comparison of two groups of runs: the total, and the parts that its change is made of.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct TraceDiff {
    /// The method of the comparison.
    pub method: DiffMethod,
    /// The change of the total.
    pub total: TotalChange,
    /// A row for each op and input shapes, and the rows [`OUTSIDE`], [`OVERLAP`] and [`LONG_CALLS`]; largest change
    /// first. The changes of all rows add up to the change of the total, exactly.
    pub rows: Vec<DiffRow>,
    /// The same rows, but one for each op with all its shapes.
    pub ops: Vec<DiffRow>,
    /// Limits of the comparison that readers must know before they trust the verdicts.
    pub notes: Vec<String>,
}

json_struct!(TraceDiff {
    required: [method, total, rows, ops, notes],
    optional: [],
});

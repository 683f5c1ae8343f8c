//! A choice of steps, and the part of a trace that belongs to them.

use super::step_of::{StepsByRank, step_of_entries};
use crate::model::wire::metadata::SELECTED_STEPS;
use crate::model::{TraceError, TraceErrorKind, TraceStep, TraceStore, TraceView};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A range of step numbers, both ends included.
///
/// ```
/// use trace_runtime::analyze::StepRange;
///
/// let range: StepRange = "5..10".parse()?;
/// assert!(range.contains(5) && range.contains(10) && !range.contains(11));
/// assert_eq!("7".parse::<StepRange>()?, StepRange::new(7, 7));
/// assert_eq!("7..".parse::<StepRange>()?, StepRange::new(7, u64::MAX));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StepRange {
    first: u64,
    last: u64,
}

impl StepRange {
    /// The steps from `first` to `last`, both included; none if `last` is smaller.
    pub fn new(first: u64, last: u64) -> StepRange {
        StepRange { first, last }
    }

    /// True if a step number is in the range.
    pub fn contains(&self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }

    /// The steps that are in both ranges.
    #[must_use]
    pub fn intersection(self, other: StepRange) -> StepRange {
        StepRange::new(self.first.max(other.first), self.last.min(other.last))
    }
}

/// Reads `5`, `5..10`, `5..=10`, `7..` and `..10`. Both ends are included.
impl FromStr for StepRange {
    type Err = String;

    fn from_str(text: &str) -> Result<StepRange, String> {
        let expected = || {
            format!(
                "`{}` is not a range of steps; expected `5`, `5..10` (both included), `7..` or `..10`",
                text.escape_debug()
            )
        };
        let number = |text: &str| -> Result<u64, String> {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = digits.then(|| text.parse().ok()).flatten();
            number.ok_or_else(expected)
        };
        let Some((first, last)) = text.split_once("..") else {
            let only = number(text)?;
            return Ok(StepRange::new(only, only));
        };
        let range = match (first, last.strip_prefix('=').unwrap_or(last)) {
            ("", "") => return Err(expected()),
            ("", last) => StepRange::new(0, number(last)?),
            (first, "") if !last.starts_with('=') => StepRange::new(number(first)?, u64::MAX),
            (first, last) => StepRange::new(number(first)?, number(last)?),
        };
        if range.first > range.last {
            return Err(format!(
                "the range `{text}` is empty; its first step is after its last"
            ));
        }
        Ok(range)
    }
}

impl fmt::Display for StepRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.last) {
            (first, last) if first == last => write!(f, "{first}"),
            (0, u64::MAX) => f.write_str("0.."),
            (first, u64::MAX) => write!(f, "{first}.."),
            (first, last) => write!(f, "{first}..{last}"),
        }
    }
}

/// The part of a trace that belongs to some of its steps.
///
/// Entries are kept whole, never cut. An entry is kept if it belongs to a step in the range, as [`step_of_entries`]
/// defines it, so device work is kept with its launch even if it runs later. An op whose caller is not kept becomes a
/// root. Memory events and runtime calls are kept if they are during the steps.
///
/// # Errors
/// The trace has no steps, or none in the range.
pub fn restrict_to_steps(trace: &TraceStore, range: StepRange) -> Result<TraceStore, TraceError> {
    let all = trace.steps();
    let numbers = || all.iter().map(|step| step.number);
    let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else {
        return Err(TraceError::new(
            TraceErrorKind::InvalidInput,
            "the trace has no steps; mark them with `Session::step()`, or with `ProfilerStep#N` annotations \
             (`torch.profiler` with a schedule)",
        ));
    };
    let whole = StepRange::new(first, last);
    let kept = |step: &TraceStep| range.contains(step.number);
    if !all.iter().any(kept) {
        return Err(TraceError::new(
            TraceErrorKind::InvalidInput,
            format!("none of the steps {range} is in the trace, which has {whole}"),
        ));
    }
    let step_of = step_of_entries(trace);
    let by_rank = StepsByRank::of(trace);
    let mut part = trace.select(
        |index| step_of[index].is_some_and(|step| kept(&all[step])),
        kept,
        |rank, at| by_rank.at(rank, at).is_some_and(|step| kept(&all[step])),
    );
    let chosen = range.intersection(whole);
    part.insert_metadata(SELECTED_STEPS, format!("{chosen} of {whole}"));
    Ok(part)
}

/// The steps of a trace after its warm-up; `None` if the trace has no steps.
///
/// Warm-up steps are the first steps that take more than 1.5 times the median of the second half of all steps, up to
/// the first one that does not; at most half of all steps. With several ranks the longest warm-up counts.
pub fn steps_after_warm_up<T: TraceView + ?Sized>(trace: &T) -> Option<StepRange> {
    let mut by_rank: BTreeMap<Option<u32>, Vec<&TraceStep>> = BTreeMap::new();
    for step in trace.steps() {
        by_rank.entry(step.rank).or_default().push(step);
    }
    let first = by_rank
        .values()
        .filter_map(|steps| {
            let mut late: Vec<u64> = steps[steps.len() / 2..]
                .iter()
                .map(|step| step.length_ns())
                .collect();
            late.sort_unstable();
            let usual = *late.get(late.len() / 2)?;
            let slow = |step: &TraceStep| step.length_ns() > usual.saturating_add(usual / 2);
            let warm_up = steps
                .iter()
                .take(steps.len() / 2)
                .take_while(|step| slow(step));
            steps.get(warm_up.count()).map(|step| step.number)
        })
        .max()?;
    let last = trace.steps().iter().map(|step| step.number).max()?;
    Some(StepRange::new(first, last))
}

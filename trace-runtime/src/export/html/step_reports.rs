//! Reports of some of the steps, so that the whole page can be restricted to them.

use crate::analyze::{MachinePeaks, step_of_entries, steps_after_warm_up};
use crate::export::part::TracePart;
use crate::model::TraceView;
use crate::report::Report;
use std::collections::BTreeSet;

/// Steps with their own report, at most.
const MOST_STEPS: usize = 64;
/// In a trace with more entries, steps have no separate reports, because these would take longer than the rest of the
/// page.
const MOST_ENTRIES: usize = 250_000;

/// The reports of the steps of a trace, by step number.
pub(super) fn step_reports(
    trace: &dyn TraceView,
    peaks: Option<MachinePeaks>,
) -> Vec<(u64, Report)> {
    if trace.entry_count() > MOST_ENTRIES {
        return Vec::new();
    }
    let numbers: BTreeSet<u64> = trace.steps().iter().map(|step| step.number).collect();
    // The report of a single step would repeat that of the whole trace.
    if numbers.len() < 2 {
        return Vec::new();
    }
    let step_of = step_of_entries(trace);
    chosen(&numbers, trace)
        .into_iter()
        .map(|number| {
            let part = TracePart::steps(trace, number..=number, &step_of);
            (number, report_of(&part, peaks))
        })
        .collect()
}

/// The first and the last step after the warm-up, and their report; `None` if no step is left out or only one is left.
pub(super) fn after_warm_up(
    trace: &dyn TraceView,
    peaks: Option<MachinePeaks>,
) -> Option<(u64, u64, Report)> {
    if trace.entry_count() > MOST_ENTRIES {
        return None;
    }
    let range = steps_after_warm_up(trace)?;
    let numbers: BTreeSet<u64> = trace.steps().iter().map(|step| step.number).collect();
    let first = *numbers.iter().find(|&&number| range.contains(number))?;
    let last = *numbers.last()?;
    if first == *numbers.first()? || first == last {
        return None;
    }
    let part = TracePart::steps(trace, first..=last, &step_of_entries(trace));
    Some((first, last, report_of(&part, peaks)))
}

fn report_of(part: &TracePart<'_>, peaks: Option<MachinePeaks>) -> Report {
    let report = Report::of(part);
    match peaks {
        Some(peaks) => report.with_peaks(peaks),
        None => report,
    }
}

/// All steps. If there are too many: half of them are the slowest steps, and the others are spread evenly over the run.
fn chosen(numbers: &BTreeSet<u64>, trace: &dyn TraceView) -> BTreeSet<u64> {
    if numbers.len() <= MOST_STEPS {
        return numbers.clone();
    }
    let mut steps: Vec<_> = trace.steps().iter().collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.length_ns()));
    let mut chosen = BTreeSet::new();
    for step in steps {
        if chosen.len() == MOST_STEPS / 2 {
            break;
        }
        chosen.insert(step.number);
    }
    let every = numbers.len().div_ceil(MOST_STEPS / 2);
    chosen.extend(numbers.iter().copied().step_by(every));
    chosen
}

//! Notes: limits of a comparison that readers must know before they trust its verdicts.

use super::run_group::RunGroup;
use super::trace_diff::TraceDiff;
use crate::units::percent;

/// With fewer runs a side, the variation between runs is assumed.
const ENOUGH_RUNS: usize = 3;
/// Keys of the facts that must be equal in two runs to compare them, each with its name in a note.
const SAME_MACHINE: [(&str, &str); 4] = [
    ("cpu", "processor"),
    ("cores", "number of cores"),
    ("arch", "architecture"),
    ("os", "operating system"),
];

pub(super) fn notes(found: &TraceDiff, before: &RunGroup, after: &RunGroup) -> Vec<String> {
    let mut notes = Vec::new();
    let (runs_before, runs_after) = found.method.runs;
    if runs_before == 0 || runs_after == 0 {
        notes.push("a side has no runs; nothing is tested".to_owned());
        return notes;
    }
    let fewest = runs_before.min(runs_after);
    if fewest < ENOUGH_RUNS {
        let runs = if fewest == 1 { "one run" } else { "two runs" };
        notes.push(format!(
            "{runs} a side cannot show how much runs vary, so only large changes count; compare five runs a side"
        ));
    }
    notes.extend(other_machine(before, after));
    notes.extend(other_program(before, after));
    let has_steps = |group: &RunGroup| group.runs.iter().any(|run| run.steps > 0);
    if has_steps(before) != has_steps(after) {
        notes.push(
            "only one side has steps: times per step are compared with times per run; record both sides alike".to_owned(),
        );
    }
    let common = found.method.common;
    if common.abs() > found.method.threshold {
        let direction = if common > 0.0 { "slower" } else { "faster" };
        notes.push(format!(
            "all ops have a common change: {} {direction}; verdicts on ops are about their change beyond it, the \
             verdict on the total includes it",
            percent(common.abs())
        ));
    }
    notes
}

fn other_machine(before: &RunGroup, after: &RunGroup) -> Option<String> {
    let (was, is) = (before.facts(), after.facts());
    let differences: Vec<String> = SAME_MACHINE
        .iter()
        .filter_map(|(key, words)| {
            let (was, is) = (was.get(key)?, is.get(key)?);
            (was != is).then(|| format!("{words} `{was}` before, `{is}` after"))
        })
        .collect();
    (!differences.is_empty()).then(|| {
        format!(
            "the sides ran on different machines ({}): times are not comparable",
            differences.join("; ")
        )
    })
}

fn other_program(before: &RunGroup, after: &RunGroup) -> Option<String> {
    let (was, is) = (before.facts(), after.facts());
    for (key, words) in [
        ("program", "programs"),
        ("program_build", "builds"),
        ("version", "versions of the tracer"),
    ] {
        if let (Some(was), Some(is)) = (was.get(key), is.get(key))
            && was != is
        {
            return Some(format!(
                "the sides are different {words}: `{was}` before, `{is}` after"
            ));
        }
    }
    None
}

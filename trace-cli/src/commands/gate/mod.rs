//! What `diff` and `compare` share: the limits of the gate, and the result as text, Markdown, JSON and CSV.

mod limits;
mod tables;

pub(crate) use limits::Limits;

use super::Verdict;
use crate::args::{Format, Layout};
use crate::failure::Failure;
use crate::output;
use serde::Serialize as _;
use serde::ser::SerializeMap as _;
use trace_runtime::analyze::{GateFailure, ShortNames, TraceDiff, Verdict as Change};
use trace_runtime::report::{duration, percent, printable, prose};

/// Writes the result of a comparison; the verdict is for the exit code.
pub(super) fn write(
    found: &TraceDiff,
    limits: &Limits,
    layout: &Layout,
) -> Result<Verdict, Failure> {
    let failures = found.failures(&limits.gate());
    let names = ShortNames::of(found.ops.iter().map(|op| op.operation.as_str()));
    let table = if layout.format == Format::Csv {
        tables::figures(found)
    } else {
        tables::changes(found, &names, layout.rows)
    };
    let text = summary(found, &failures, &names, limits, layout.format);
    output::tables(layout, &text, &[table], || json(found, &failures))?;
    Ok(if failures.is_empty() {
        Verdict::Fine
    } else {
        Verdict::Slower
    })
}

/// The verdict, the failures and the notes.
fn summary(
    found: &TraceDiff,
    failures: &[GateFailure],
    names: &ShortNames,
    limits: &Limits,
    format: Format,
) -> String {
    let mut lines = Vec::new();
    let markdown = format == Format::Md;
    let outcome = match (failures.is_empty(), limits.are_set()) {
        (false, _) => Some("too slow"),
        (true, true) => Some("passed"),
        (true, false) => None,
    };
    let total = total_line(found);
    lines.push(match outcome {
        Some(outcome) if markdown => format!("**{outcome}**: {total}"),
        Some(outcome) => format!("{outcome}: {total}"),
        None => total,
    });
    lines.push(if markdown {
        format!("\n{}\n", runs_line(found))
    } else {
        runs_line(found)
    });
    let item = |text: String| {
        if markdown {
            format!("- {text}")
        } else {
            format!("  {text}")
        }
    };
    for failure in failures.iter().filter(|failure| failure.what != "total") {
        let name = printable(&tables::what(failure, names));
        let name = if markdown { format!("`{name}`") } else { name };
        lines.push(item(format!("{name} {}", failure.reason)));
    }
    for note in &found.notes {
        let note = printable(note);
        lines.push(if markdown {
            format!("\n> {note}")
        } else {
            format!("note: {note}")
        });
    }
    lines.join("\n")
}

fn total_line(found: &TraceDiff) -> String {
    let total = &found.total;
    let [before, after] =
        [total.before_ns, total.after_ns].map(|ns| prose(&duration(ns.unsigned_abs())));
    let judged = match total.verdict {
        Change::Slower => format!("slower by {}", percent(total.size)),
        Change::Faster => format!("faster by {}", percent(total.size.abs())),
        Change::Noise => format!(
            "a change of {}, which noise explains",
            tables::signed(total.change)
        ),
        _ => "the same".to_owned(),
    };
    format!(
        "{} per {} {before} → {after}, {judged}",
        found.method.total, found.method.per
    )
}

fn runs_line(found: &TraceDiff) -> String {
    let runs = |count: usize| match count {
        1 => "1 run".to_owned(),
        _ => format!("{count} runs"),
    };
    let turns = if found.method.pairs { ", in turns" } else { "" };
    let total = &found.total;
    let is_proven = matches!(total.verdict, Change::Slower | Change::Faster);
    let by_ops = if is_proven && total.size.abs() < total.detectable {
        "; the ops below prove this one"
    } else {
        ""
    };
    format!(
        "{} before, {} after{turns}; a change of the total alone shows from {} on{by_ops}",
        runs(found.method.runs.0),
        runs(found.method.runs.1),
        percent(total.detectable)
    )
}

/// The comparison with the outcome of the gate.
fn json(found: &TraceDiff, failures: &[GateFailure]) -> Result<String, serde_json::Error> {
    struct Outcome<'a>(&'a TraceDiff, &'a [GateFailure]);
    impl serde::Serialize for Outcome<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("passed", &self.1.is_empty())?;
            map.serialize_entry("failures", self.1)?;
            map.serialize_entry("method", &self.0.method)?;
            map.serialize_entry("notes", &self.0.notes)?;
            map.serialize_entry("total", &self.0.total)?;
            map.serialize_entry("ops", &self.0.ops)?;
            map.serialize_entry("rows", &self.0.rows)?;
            map.end()
        }
    }
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::pretty(&mut text);
    Outcome(found, failures).serialize(&mut serializer)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

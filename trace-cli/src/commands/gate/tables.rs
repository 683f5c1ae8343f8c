//! The rows of a comparison as tables.

use trace_runtime::analyze::{DiffRow, Evidence, GateFailure, ShortNames, TraceDiff};
use trace_runtime::report::{Column, Table, duration, percent, printable, shapes};

/// The parts of the change of the total, for people.
pub(super) fn changes(found: &TraceDiff, names: &ShortNames, limit: usize) -> Table {
    let rows = found.rows.iter().filter(|row| row.self_ns != (0, 0));
    let rows: Vec<&DiffRow> = rows.collect();
    let row = |row: &&DiffRow| {
        vec![
            title(row, names),
            time(row.change_ns),
            time(row.more_calls_ns),
            time(row.slower_calls_ns),
            change_of(row, "quiet time").map_or_else(String::new, |one| signed(one.change)),
            row.verdict.name().to_owned(),
            verdicts(row),
            total(row.self_ns.0),
            total(row.self_ns.1),
            format!("{}→{}", row.count.0, row.count.1),
        ]
    };
    let more = rows.len().saturating_sub(limit);
    let rest: i64 = rows.iter().skip(limit).map(|row| row.change_ns).sum();
    Table::new(format!("change of the total by op, per {}", found.method.per), vec![
            Column::name("op"),
            Column::number("change", 0),
            Column::number("more calls", 1),
            Column::number("slower calls", 1),
            Column::number("quiet", 3),
            Column::number("verdict", 0),
            Column::number("calls", 3),
            Column::number("before", 2),
            Column::number("after", 2),
            Column::number("count", 4),
        ], rows.iter().take(limit).map(row).collect()).with_footer((more > 0).then(|| format!("and {more} more: {}", time(rest)))).with_footnote(Some((
            "quiet",
            "quiet: change of calls × the mean of the faster half of the calls, which other programs rarely disturb"
                .to_owned(),
        )))
}

/// The verdicts on single calls that are not `same` or `noise`.
fn verdicts(row: &DiffRow) -> String {
    let noted = row
        .evidence
        .iter()
        .filter(|one| !matches!(one.verdict.name(), "same" | "noise"));
    let short = |one: &Evidence| {
        let name = match one.metric.as_str() {
            "median call" => "median",
            "p95 call" => "p95",
            "longest call" => "max",
            _ => return None,
        };
        Some(format!("{name} {}", one.verdict))
    };
    noted.filter_map(short).collect::<Vec<_>>().join(", ")
}

fn change_of<'a>(row: &'a DiffRow, metric: &str) -> Option<&'a Evidence> {
    row.evidence.iter().find(|one| one.metric == metric)
}

fn title(row: &DiffRow, names: &ShortNames) -> String {
    let dims = shapes(row.input_shapes.as_deref().unwrap_or_default());
    let space = if dims.is_empty() { "" } else { " " };
    format!("{}{space}{dims}", printable(names.get(&row.operation)))
}

/// What failed, with the short form of the op's name.
pub(super) fn what(failure: &GateFailure, names: &ShortNames) -> String {
    let shapes = failure.what.strip_prefix(&failure.operation);
    let shapes = shapes.unwrap_or(&failure.what);
    format!("{}{shapes}", names.get(&failure.operation))
}

/// A share with its sign.
pub(super) fn signed(share: f64) -> String {
    format!("{}{}", sign(share < 0.0), percent(share.abs()))
}

fn time(ns: i64) -> String {
    format!("{}{}", sign(ns < 0), duration(ns.unsigned_abs()))
}

/// A time without a sign, unless it is below zero.
fn total(ns: i64) -> String {
    let sign = if ns < 0 { "−" } else { "" };
    format!("{sign}{}", duration(ns.unsigned_abs()))
}

fn sign(negative: bool) -> &'static str {
    if negative { "−" } else { "+" }
}

/// Every row with its figures in nanoseconds.
pub(super) fn figures(found: &TraceDiff) -> Table {
    let row = |row: &DiffRow| {
        let p = |metric: &str| {
            change_of(row, metric)
                .map(|one| one.p.to_string())
                .unwrap_or_default()
        };
        vec![
            row.operation.clone(),
            shapes(row.input_shapes.as_deref().unwrap_or_default()),
            row.verdict.name().to_owned(),
            row.change_ns.to_string(),
            row.more_calls_ns.to_string(),
            row.slower_calls_ns.to_string(),
            row.self_ns.0.to_string(),
            row.self_ns.1.to_string(),
            row.count.0.to_string(),
            row.count.1.to_string(),
            row.quiet_ns.0.to_string(),
            row.quiet_ns.1.to_string(),
            row.p50_ns.0.to_string(),
            row.p50_ns.1.to_string(),
            row.p95_ns.0.to_string(),
            row.p95_ns.1.to_string(),
            row.max_ns.0.to_string(),
            row.max_ns.1.to_string(),
            row.weight.to_string(),
            p("time"),
            p("quiet time"),
            p("calls"),
        ]
    };
    let names = [
        "op",
        "input_shapes",
        "verdict",
        "change_ns",
        "more_calls_ns",
        "slower_calls_ns",
        "self_ns_before",
        "self_ns_after",
        "count_before",
        "count_after",
        "quiet_ns_before",
        "quiet_ns_after",
        "p50_ns_before",
        "p50_ns_after",
        "p95_ns_before",
        "p95_ns_after",
        "max_ns_before",
        "max_ns_after",
        "weight",
        "p_time",
        "p_quiet",
        "p_calls",
    ];
    Table::new(
        "",
        names
            .into_iter()
            .map(|name| Column::number(name, 0))
            .collect(),
        found.rows.iter().map(row).collect(),
    )
}

//! `optrace diff`: what changed between two traces, and whether that is too much.

use super::Verdict;
use crate::args::{Format, Layout, Reading, share};
use crate::failure::Failure;
use crate::{input, output};
use std::path::PathBuf;
use trace_runtime::analyze::{self, DiffRow, TraceDiff};
use trace_runtime::report::{Column, Table, duration, percent, printable, prose, shapes};

#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// The earlier trace
    pub(crate) before: PathBuf,
    /// The later trace
    pub(crate) after: PathBuf,
    /// Exit with 1 if an op that matters got slower by more than this
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub(crate) fail_over: Option<f64>,
    /// Call an op the same while its median changed by less than this
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    pub(crate) same_within: f64,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

pub(super) fn run(args: &DiffArgs) -> Result<Verdict, Failure> {
    let both = input::load_all(&[&args.before, &args.after], args.reading)?;
    let threshold = args
        .fail_over
        .unwrap_or(args.same_within)
        .min(args.same_within);
    let diff = analyze::diff(&both[0], &both[1], threshold);
    let table = if args.layout.format == Format::Csv {
        figures(&diff)
    } else {
        changes(&diff, args.layout.rows)
    };
    let line = answer(&diff, args.fail_over);
    output::tables(&args.layout, &line, &[table], || {
        serde_json::to_string_pretty(&diff)
    })?;
    let fails = args
        .fail_over
        .is_some_and(|share| diff.slowdowns_over(share).next().is_some());
    Ok(if fails {
        Verdict::Slower
    } else {
        Verdict::Fine
    })
}

fn answer(diff: &TraceDiff, fail_over: Option<f64>) -> String {
    let (before, after) = diff.total_ns;
    let [before, after] = [before, after].map(|total| prose(&duration(total)));
    let totals = format!("time in ops {before} → {after}");
    let share = fail_over.unwrap_or(diff.threshold);
    let slower: Vec<&DiffRow> = diff.slowdowns_over(share).collect();
    let Some(worst) = slower.first() else {
        return format!(
            "no op that matters got slower by more than {}; {totals}",
            percent(share)
        );
    };
    let others = match slower.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let change = worst.ratio.map_or(0.0, |ratio| ratio - 1.0);
    format!(
        "{}{others} got slower by {}; {totals}",
        title(worst),
        percent(change)
    )
}

fn title(row: &DiffRow) -> String {
    let dims = shapes(&row.input_shapes);
    let space = if dims.is_empty() { "" } else { " " };
    format!("{}{space}{dims}", printable(&row.operation))
}

fn changes(diff: &TraceDiff, limit: usize) -> Table {
    let row = |row: &DiffRow| {
        let signed = |share: f64| {
            let sign = if share < 0.0 { "−" } else { "+" };
            format!("{sign}{}", percent(share.abs()))
        };
        vec![
            title(row),
            duration(row.p50_ns.0),
            duration(row.p50_ns.1),
            row.ratio
                .map_or_else(String::new, |ratio| signed(ratio - 1.0)),
            row.noise
                .map_or_else(String::new, |noise| format!("±{}", percent(noise))),
            row.verdict.name().to_owned(),
            duration(row.self_ns.0),
            duration(row.self_ns.1),
            format!("{}→{}", row.count.0, row.count.1),
        ]
    };
    let more = diff.rows.len().saturating_sub(limit);
    Table {
        title: "by change of self time".to_owned(),
        columns: vec![
            Column::name("op"),
            Column::number("median", 0),
            Column::number("after", 0),
            Column::number("change", 0),
            Column::number("noise", 1),
            Column::number("verdict", 0),
            Column::number("self", 2),
            Column::number("after", 2),
            Column::number("count", 3),
        ],
        rows: diff.rows.iter().take(limit).map(row).collect(),
        footer: (more > 0).then(|| format!("and {more} more")),
        footnote: None,
    }
}

fn figures(diff: &TraceDiff) -> Table {
    let row = |row: &DiffRow| {
        let share = |share: Option<f64>| share.map(|share| share.to_string()).unwrap_or_default();
        vec![
            row.operation.clone(),
            shapes(&row.input_shapes),
            row.count.0.to_string(),
            row.count.1.to_string(),
            row.p50_ns.0.to_string(),
            row.p50_ns.1.to_string(),
            row.self_ns.0.to_string(),
            row.self_ns.1.to_string(),
            share(row.ratio),
            share(row.noise),
            row.verdict.name().to_owned(),
        ]
    };
    let names = [
        "op",
        "input_shapes",
        "count_before",
        "count_after",
        "p50_ns_before",
        "p50_ns_after",
        "self_ns_before",
        "self_ns_after",
        "ratio",
        "noise",
        "verdict",
    ];
    Table {
        columns: names
            .into_iter()
            .map(|name| Column::number(name, 0))
            .collect(),
        rows: diff.rows.iter().map(row).collect(),
        ..Table::default()
    }
}

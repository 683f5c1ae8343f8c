//! Trains the same perceptron in two ways, five times each in turns, and compares the traces. In the second way the
//! optimiser walks its matrices by columns, which is slower.
//!
//! ```text
//! cargo run --release --example train_mlp
//! ```
//!
//! With `OPTRACE=trace.json` it trains once and only writes that trace, for `optrace compare` and
//! `optrace diff`.

mod graph;
#[path = "../shown/report.rs"]
mod report;

use graph::{Walk, train};
use std::alloc::System;
use std::error::Error;
use trace_runtime::analyze::{Design, DiffRow, DiffSettings, RunGroup, RunSummary, Verdict, diff};
use trace_runtime::report::{Column, Table, duration, shapes};
use trace_runtime::{Session, TracedAlloc, record};

/// Charges heap memory to ops while a session records.
#[global_allocator]
static ALLOC: TracedAlloc = TracedAlloc::new(System);

const STEPS: usize = 60;
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    // Not recorded: warms up caches and clocks before the two runs that are compared.
    train(STEPS / 4, Walk::Rows);
    if std::env::var_os("OPTRACE").is_some() {
        let session = Session::from_env()?;
        train(STEPS * 5, Walk::Rows);
        drop(session);
        return Ok(());
    }
    // A separate session, which also records memory; the runs that are compared do not.
    let session = Session::start()?;
    let losses = train(STEPS, Walk::Rows);
    let trace = session.finish();
    let (first, last) = (losses[0], losses[STEPS - 1]);
    println!("Every run brings the loss from {first:.3} to {last:.3}.\n");
    report::print(&trace, 10);

    let mut groups = (RunGroup::default(), RunGroup::default());
    for _ in 0..RUNS {
        let (before, trace_before) = record(|| train(STEPS, Walk::Rows));
        let (after, trace_after) = record(|| train(STEPS, Walk::Columns));
        let learned = before[STEPS - 1] < 0.5 * before[0];
        if !learned || before != after {
            return Err("all runs should halve the loss and have the same losses".into());
        }
        groups.0.runs.push(RunSummary::of(&trace_before));
        groups.1.runs.push(RunSummary::of(&trace_after));
    }
    compare(&groups.0, &groups.1);
    Ok(())
}

fn compare(before: &RunGroup, after: &RunGroup) {
    let settings = DiffSettings::default().with_design(Design::Pairs);
    let found = diff(before, after, &settings);
    let row = |row: &DiffRow| {
        let dims = row.input_shapes.as_deref().unwrap_or_default();
        let sign = if row.change_ns < 0 { "−" } else { "+" };
        vec![
            format!("{} {}", row.operation, shapes(dims)),
            duration(row.quiet_ns.0),
            duration(row.quiet_ns.1),
            format!("{sign}{}", duration(row.change_ns.unsigned_abs())),
            row.verdict.to_string(),
        ]
    };
    report::print_table(&Table::new(
        "By columns against by rows: a quiet call, and the change of a run",
        vec![
            Column::name("op"),
            Column::number("rows", 0),
            Column::number("columns", 0),
            Column::number("change", 0),
            Column::name("verdict"),
        ],
        found.rows.iter().take(8).map(row).collect(),
    ));
    let adam = found.ops.iter().find(|row| row.operation == "adam");
    match adam.filter(|row| row.verdict == Verdict::Slower) {
        Some(row) => println!(
            "The optimiser takes {:.1} times as long: it now walks its matrices by columns.",
            1.0 + row.size
        ),
        None => println!(
            "The slowdown of the optimiser is within the noise of these runs; run it again."
        ),
    }
}

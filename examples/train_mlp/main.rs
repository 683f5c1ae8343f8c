//! Trains the same perceptron twice and compares the two traces. In the second run the optimiser walks
//! its matrices by columns, which is slower.
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
use std::error::Error;
use trace_runtime::analyze::{DiffRow, diff};
use trace_runtime::report::{Column, Table, duration, shapes};
use trace_runtime::{RecordedExecutionTrace, Session, record};

const STEPS: usize = 60;

fn main() -> Result<(), Box<dyn Error>> {
    // Not recorded: warms up caches and clocks for the two runs that are compared.
    train(STEPS / 4, Walk::Rows);
    if std::env::var_os("OPTRACE").is_some() {
        let session = Session::from_env()?;
        train(STEPS * 5, Walk::Rows);
        drop(session);
        return Ok(());
    }
    let (before, trace_before) = record(|| train(STEPS, Walk::Rows));
    let (after, trace_after) = record(|| train(STEPS, Walk::Columns));
    let learned = before[STEPS - 1] < 0.5 * before[0];
    if !learned || before != after {
        return Err("both runs should halve the loss and have the same losses".into());
    }
    println!(
        "Both runs bring the loss from {:.3} to {:.3}.\n",
        before[0],
        before[STEPS - 1]
    );
    report::print(&trace_before, 10);
    compare(&trace_before, &trace_after);
    Ok(())
}

fn compare(before: &RecordedExecutionTrace, after: &RecordedExecutionTrace) {
    let diff = diff(before, after, 0.05);
    let row = |row: &DiffRow| {
        let change = |ratio| format!("{ratio:.2}×");
        vec![
            format!("{} {}", row.operation, shapes(&row.input_shapes)),
            duration(row.p50_ns.0),
            duration(row.p50_ns.1),
            row.ratio.map_or_else(String::new, change),
            row.noise
                .map_or_else(String::new, |noise| format!("±{noise:.2}")),
            row.verdict.to_string(),
        ]
    };
    report::print_table(&Table {
        title: "Run 2 against run 1, medians".to_owned(),
        columns: vec![
            Column::name("op"),
            Column::number("run 1", 0),
            Column::number("run 2", 0),
            Column::number("ratio", 0),
            Column::number("noise", 1),
            Column::name("verdict"),
        ],
        rows: diff.rows.iter().take(8).map(row).collect(),
        ..Table::default()
    });
    match diff.slowdowns_over(0.5).find(|row| row.operation == "adam") {
        Some(row) => println!(
            "The optimiser got {:.1} times slower: it now walks its matrices by columns.",
            row.ratio.unwrap_or(1.0)
        ),
        None => {
            println!("The slowdown of the optimiser is within the noise of this run; run it again.")
        }
    }
}

//! Prints a trace: the report, the slowest single executions, and which op called which.
#![allow(dead_code, reason = "each example uses a part of it")]

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use trace_runtime::analyze::call_tree;
use trace_runtime::report::{
    Colour, Column, Table, TextStyle, bytes, duration, percent, printable, shapes,
};
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry};

const WIDTH: usize = 100;

/// Prints the report, with up to `rows` rows per table.
pub(crate) fn print(trace: &RecordedExecutionTrace, rows: usize) {
    let style = TextStyle::default()
        .with_width(WIDTH)
        .with_colour(colour())
        .with_rows(rows);
    println!("{}", trace.report().to_text(&style));
}

/// Prints the longest executions among the ops that call no other op.
pub(crate) fn print_slowest(trace: &RecordedExecutionTrace, rows: usize) {
    let callers: BTreeSet<_> = trace.entries.iter().filter_map(|one| one.parent).collect();
    let slowest = trace.slowest_ops(trace.step_count());
    let slowest = slowest
        .into_iter()
        .filter(|entry| !callers.contains(&entry.step));
    let row = |entry: &RecordedTraceEntry| {
        let name = format!("{} {}", entry.operation, shapes(&entry.input_shapes));
        vec![
            printable(name.trim_end()),
            entry.step.to_string(),
            duration((entry.duration_us * 1e3) as u64),
            bytes(entry.memory_bytes as u64),
        ]
    };
    print_table(&Table::new(
        "Slowest executions",
        vec![
            Column::name("op"),
            Column::number("step", 0),
            Column::number("took", 0),
            Column::number("output", 1),
        ],
        slowest.take(rows).map(row).collect(),
    ));
}

/// Prints the call tree, without ops below half a percent of the time.
pub(crate) fn print_flame(trace: &RecordedExecutionTrace) {
    let tree = call_tree(trace);
    let whole: u64 = tree.nodes.iter().map(|node| node.self_ns).sum();
    let share = |ns: u64| ns as f64 / whole.max(1) as f64;
    let bar = |ns: u64| "█".repeat((share(ns) * 30.0).round() as usize);
    let (shown, small): (Vec<_>, Vec<_>) = tree
        .nodes
        .iter()
        .partition(|node| share(node.total_ns) >= 0.005);
    let row = |node: &&trace_runtime::analyze::CallNode| {
        vec![
            "  ".repeat(node.depth) + &printable(&node.operation),
            node.count.to_string(),
            duration(node.total_ns),
            percent(share(node.total_ns)),
            bar(node.total_ns),
        ]
    };
    let footer = format!("and {} below half a percent", small.len());
    print_table(
        &Table::new(
            "Which op called which",
            vec![
                Column::name("op"),
                Column::number("count", 0),
                Column::number("total", 0),
                Column::number("share", 0),
                Column::name(""),
            ],
            shown.iter().map(row).collect(),
        )
        .with_footer((!small.is_empty()).then_some(footer)),
    );
}

pub(crate) fn print_table(table: &Table) {
    println!("{}", table.to_text(WIDTH, colour()));
}

fn colour() -> Colour {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stdout().is_terminal();
    if plain { Colour::Off } else { Colour::On }
}

//! The list of the tables of a report, and the tables that are not about single ops.

use super::Report;
use super::device_sections::{devices, idle};
use super::memory_sections::memory;
use super::names::printable;
use super::op_sections::{by_op, by_shape, categories, roofline};
use super::step_sections::{ranks_by_step, slowest_step, steps};
use super::table::{Column, Table};
use crate::analyze::ShortNames;
use crate::units::{count, duration, percent, prose, rate};

pub(super) fn all(report: &Report, rows: usize) -> Vec<Table> {
    let names = &ShortNames::of(report.ops.iter().map(|row| row.operation.as_str()));
    let about_ops = by_op(report, names, rows)
        .into_iter()
        .chain(by_shape(report, names, rows));
    let others = [
        steps(report, rows),
        slowest_step(report, names, rows),
        ranks_by_step(report, rows),
        categories(report, rows),
        devices(report, rows),
        idle(report, names, rows),
        collectives(report, names, rows),
        critical_path(report, names, rows),
        roofline(report, names, rows),
    ];
    let last = [outcomes(report, rows), untrusted(report, rows)];
    about_ops
        .chain(others)
        .chain(memory(report, names, rows))
        .chain(last)
        .filter(|table| !table.rows.is_empty())
        .collect()
}

/// Removes empty columns and rows beyond the limit; the footer counts the rows that were removed.
pub(super) fn cut(mut table: Table, rows: usize) -> Table {
    for index in (1..table.columns.len()).rev() {
        if table.rows.iter().all(|row| row[index].is_empty()) {
            table.columns.remove(index);
            for row in &mut table.rows {
                row.remove(index);
            }
        }
    }
    let all = table.rows.len();
    table.rows.truncate(rows);
    count_more(table, all)
}

/// Counts the rows that a table does not have, in its footer; there are `all` rows.
pub(super) fn count_more(mut table: Table, all: usize) -> Table {
    let more = all.saturating_sub(table.rows.len());
    if more > 0 {
        let more = format!("and {} more", count(more as u64));
        table.footer = Some(match table.footer {
            Some(footer) => format!("{more}; {footer}"),
            None => more,
        });
    }
    table
}

fn collectives(report: &Report, names: &ShortNames, limit: usize) -> Table {
    let columns = vec![
        Column::name("collective"),
        Column::number("group", 1),
        Column::number("calls", 0),
        Column::number("ranks", 3),
        Column::number("transfer", 0),
        Column::number("bus", 1),
        Column::number("longest wait", 0),
        Column::number("rank", 0),
    ];
    let rows = report
        .collectives
        .iter()
        .map(|one| {
            let waits = one.wait_ns.iter().rev().max_by_key(|wait| wait.1);
            vec![
                match &one.collective {
                    Some(kind) => printable(&format!("{kind}: {}", names.get(&one.operation))),
                    None => printable(names.get(&one.operation)),
                },
                one.process_group
                    .as_deref()
                    .map_or_else(String::new, printable),
                count(one.calls as u64),
                count(one.ranks as u64),
                duration(one.transfer_ns),
                one.bus_bytes_per_s
                    .map_or_else(String::new, |per_s| rate(per_s, "B")),
                waits.map_or_else(String::new, |wait| duration(wait.1)),
                waits.map_or_else(String::new, |wait| wait.0.to_string()),
            ]
        })
        .collect();
    cut(
        Table {
            title: "Collectives across ranks".to_owned(),
            columns,
            rows,
            ..Table::default()
        },
        limit,
    )
}

fn critical_path(report: &Report, names: &ShortNames, limit: usize) -> Table {
    let path = &report.critical_path;
    // On one thread, the path consists of all ops, which the first table shows.
    if report.threads < 2 {
        return Table::default();
    }
    let columns = vec![
        Column::name("op"),
        Column::name("on"),
        Column::number("on the path", 0),
        Column::number("share", 0),
    ];
    let rows = path
        .ops
        .iter()
        .map(|op| {
            vec![
                printable(names.get(&op.operation)),
                printable(op.device.as_deref().unwrap_or("host")),
                duration(op.path_ns),
                percent(op.share),
            ]
        })
        .collect();
    let title = format!(
        "Critical path: {} of work, {} of it on devices",
        prose(&duration(path.length_ns)),
        percent(path.device_share())
    );
    let crossed: Vec<String> = path
        .crossed
        .iter()
        .take(3)
        .map(|one| format!("{} {}", prose(&duration(one.ns)), printable(&one.what)))
        .collect();
    cut(
        Table {
            title,
            columns,
            rows,
            footer: (!crossed.is_empty())
                .then(|| format!("between the work: {}", crossed.join(", "))),
            ..Table::default()
        },
        limit,
    )
}

fn outcomes(report: &Report, limit: usize) -> Table {
    let columns = vec![
        Column::name("op that did not succeed"),
        Column::number("calls", 0),
        Column::number("errors", 0),
        Column::number("panics", 0),
        Column::number("cancelled", 0),
        Column::number("unfinished", 0),
    ];
    let rows = report
        .outcomes
        .iter()
        .map(|op| {
            let numbers = [op.count, op.errors, op.panics, op.cancelled, op.unfinished];
            let mut row = vec![printable(&op.operation)];
            row.extend(numbers.map(|number| count(number as u64)));
            row
        })
        .collect();
    cut(
        Table {
            title: "Outcomes".to_owned(),
            columns,
            rows,
            ..Table::default()
        },
        limit,
    )
}

fn untrusted(report: &Report, limit: usize) -> Table {
    let columns = vec![
        Column::name("op"),
        Column::number("calls", 0),
        Column::number("p50", 0),
        Column::number("cost of recording", 0),
    ];
    let rows = report
        .untrusted
        .iter()
        .map(|op| {
            vec![
                printable(&op.operation),
                count(op.count as u64),
                duration(op.p50_ns),
                percent(op.overhead_share),
            ]
        })
        .collect();
    cut(
        Table {
            title: "Too short to trust".to_owned(),
            columns,
            rows,
            ..Table::default()
        },
        limit,
    )
}

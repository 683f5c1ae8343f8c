//! The tables of a report about the steps of a loop.

use super::Report;
use super::names::printable;
use super::sections::cut;
use super::table::{Column, Table};
use crate::analyze::ShortNames;
use crate::units::{duration, percent, prose, shapes};

/// A row for each step, with the mean and the spread below.
pub(super) fn steps(report: &Report, limit: usize) -> Table {
    let table = &report.steps;
    if table.steps.len() < 2 {
        return Table::default();
    }
    let several_ranks = table
        .steps
        .iter()
        .any(|row| row.rank != table.steps[0].rank);
    let columns = vec![
        Column::name("step"),
        Column::number("length", 0),
        Column::number("device busy", 0),
        Column::number("busy %", 1),
        Column::number("exposed comm", 1),
        Column::number("device idle", 2),
        Column::number("host-bound", 0),
    ];
    let optional = |ns: Option<u64>| ns.map_or_else(String::new, duration);
    let rows = table
        .steps
        .iter()
        .map(|row| {
            let share = |busy: u64| percent(busy as f64 / row.length_ns.max(1) as f64);
            vec![
                match row.rank.filter(|_| several_ranks) {
                    Some(rank) => format!("{} (rank {rank})", row.number),
                    None => row.number.to_string(),
                },
                duration(row.length_ns),
                optional(row.device_busy_ns),
                row.device_busy_ns.map_or_else(String::new, share),
                optional(row.exposed_communication_ns.filter(|&ns| ns > 0)),
                optional(row.device_idle_ns),
                optional(row.host_bound_ns),
            ]
        })
        .collect();
    let deviation = table.deviation_ns as f64 / table.mean_ns.max(1) as f64;
    let footer = format!(
        "mean {}, standard deviation {} ({})",
        prose(&duration(table.mean_ns)),
        prose(&duration(table.deviation_ns)),
        percent(deviation)
    );
    let table = Table {
        title: "Steps".to_owned(),
        columns,
        rows,
        footer: Some(footer),
        ..Table::default()
    };
    cut(table, limit)
}

/// Width of a row of shades, at most.
const SHADES: usize = 40;

/// A row for each rank: its work in each step, compared with the others. If there are too many ranks, those with the
/// most work are shown.
pub(super) fn ranks_by_step(report: &Report, limit: usize) -> Table {
    let map = &report.rank_steps;
    if map.steps.len() < 2 {
        return Table::default();
    }
    let mut order: Vec<usize> = (0..map.ranks.len()).collect();
    if order.len() > limit {
        order.sort_by(|&a, &b| map.mean(b).total_cmp(&map.mean(a)));
    }
    let rows = order.into_iter().map(|row| {
        vec![
            map.ranks[row].to_string(),
            format!("{:.2}×", map.mean(row)),
            map.shades(row, SHADES),
        ]
    });
    let table = Table {
        title: "Work of each rank by step".to_owned(),
        columns: vec![
            Column::name("rank"),
            Column::number("mean", 0),
            Column::name("steps, first to last"),
        ],
        rows: rows.collect(),
        footer: Some(map.legend()),
        ..Table::default()
    };
    cut(table, limit)
}

/// The ops that took longer in the slowest step, if that step differs from the mean by more than the spread.
pub(super) fn slowest_step(report: &Report, names: &ShortNames, limit: usize) -> Table {
    let table = &report.steps;
    let Some(slowest) = table.slowest.map(|index| &table.steps[index]) else {
        return Table::default();
    };
    if slowest.length_ns <= table.mean_ns.saturating_add(table.deviation_ns) {
        return Table::default();
    }
    let columns = vec![
        Column::name("op"),
        Column::number("longer by", 0),
        Column::number("self", 0),
        Column::number("usual", 0),
        Column::number("calls", 1),
        Column::number("usual calls", 2),
        Column::name("input shapes"),
    ];
    let rows = table
        .slower_ops
        .iter()
        .map(|row| {
            vec![
                printable(names.get(&row.operation)),
                duration(row.self_ns - row.usual_ns),
                duration(row.self_ns),
                duration(row.usual_ns),
                row.calls.to_string(),
                format!("{:.1}", row.usual_calls),
                shapes(&row.input_shapes),
            ]
        })
        .collect();
    let of_rank = match slowest.rank {
        Some(rank) if report.ranks > 1 => format!(" of rank {rank}"),
        _ => String::new(),
    };
    let table = Table {
        title: format!("Longer in the slowest step ({}{of_rank})", slowest.number),
        columns,
        rows,
        ..Table::default()
    };
    cut(table, limit.min(MOST_DIFFERENCES))
}

/// A few differences explain a slow step; further ones are noise.
const MOST_DIFFERENCES: usize = 5;

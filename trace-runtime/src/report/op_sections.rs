//! The tables whose rows are ops.

use super::Report;
use super::names::printable;
use super::op_filter::OpFilter;
use super::sections::cut;
use super::table::{Column, Table};
use crate::analyze::{OpRow, ShortNames};
use crate::units::{bytes, count, duration, percent, rate, shapes, unless_zero};

/// A table of the ops, or two where some ran on devices and others on the host.
pub(super) fn by_op(report: &Report, names: &ShortNames, limit: usize) -> Vec<Table> {
    on_devices_and_host("By op", &report.ops, report.filter.as_ref(), names, limit)
}

/// The same by label and input shapes, unless no op has any.
pub(super) fn by_shape(report: &Report, names: &ShortNames, limit: usize) -> Vec<Table> {
    let shaped = |row: &&OpRow| {
        let dims = row.input_shapes.as_ref();
        row.label.is_some() || dims.is_some_and(|dims| !dims.is_empty())
    };
    let filter = report.filter.as_ref();
    let title = "By op and input shapes";
    let mut tables = on_devices_and_host(title, &report.shapes, filter, names, limit);
    for (table, accelerator) in tables.iter_mut().zip([true, false]) {
        let mut rows = report.shapes.iter().filter(shaped);
        if !rows.any(|row| row.accelerator == accelerator) {
            *table = Table::default();
        }
    }
    tables
}

fn on_devices_and_host(
    title: &str,
    rows: &[OpRow],
    filter: Option<&OpFilter>,
    names: &ShortNames,
    limit: usize,
) -> Vec<Table> {
    let (devices, host): (Vec<&OpRow>, Vec<&OpRow>) = rows.iter().partition(|row| row.accelerator);
    let titles = if devices.is_empty() || host.is_empty() {
        [title.to_owned(), title.to_owned()]
    } else {
        [
            format!("{title}, on devices"),
            format!("{title}, on the host"),
        ]
    };
    titles
        .iter()
        .zip([(devices, true), (host, false)])
        .map(|(title, (rows, accelerator))| {
            let whole_ns = filter.map(|filter| filter.whole_ns(accelerator));
            ops(title, &rows, whole_ns, names, limit)
        })
        .collect()
}

/// Shares refer to `whole_ns`, or to the rows where that is not given.
fn ops(
    title: &str,
    rows: &[&OpRow],
    whole_ns: Option<u64>,
    names: &ShortNames,
    limit: usize,
) -> Table {
    let of_rows = || {
        rows.iter()
            .fold(0u64, |sum, row| sum.saturating_add(row.self_ns))
    };
    let total_ns = whole_ns.unwrap_or_else(of_rows);
    let share = |ns: u64| percent(ns as f64 / total_ns.max(1) as f64);
    let work = rows.iter().any(|row| row.flops > 0);
    let moved = rows.iter().any(|row| row.bytes_moved > 0);
    let mut columns = vec![
        Column::name("op"),
        Column::number("calls", 0),
        Column::number("self", 0),
        Column::number("share", 0),
        Column::number("total", 2),
        Column::number("device", 1),
        Column::number("device self", 4),
        Column::number("wall", 1),
        Column::number("running", 1),
        Column::number("suspended", 1),
        Column::number("p50", 1),
        Column::number("p95", 4),
        Column::number("p99", 6),
        Column::number("min", 9),
        Column::number("mean", 8),
        Column::number("max", 5),
    ];
    if moved {
        columns.push(Column::number("B/s", 7));
        columns.push(Column::number("output", 10));
    }
    if work {
        columns.push(Column::number("FLOP/s", 3));
        columns.push(Column::number("FLOP/B", 11));
    }
    let inferred = rows.iter().take(limit).any(|row| row.flops_inferred);
    let rows = rows
        .iter()
        .map(|row| {
            let mut name = printable(names.get(&row.operation));
            if let Some(label) = &row.label {
                name = format!("{name} {}", printable(label));
            }
            let dims = shapes(row.input_shapes.as_deref().unwrap_or(&[]));
            let mut cells = vec![
                if dims.is_empty() {
                    name
                } else {
                    format!("{name} {dims}")
                },
                count(row.count as u64),
                duration(row.self_ns),
                share(row.self_ns),
                duration(row.total_ns),
                unless_zero(row.device_total_ns, duration),
                unless_zero(row.device_self_ns, duration),
                awaited(row, row.sum_ns),
                awaited(row, row.sum_ns.saturating_sub(row.suspended_ns)),
                awaited(row, row.suspended_ns),
                duration(row.p50_ns),
                duration(row.p95_ns),
                duration(row.p99_ns),
                duration(row.min_ns),
                duration(row.mean_ns),
                duration(row.max_ns),
            ];
            if moved {
                cells.push(
                    row.bytes_per_s
                        .map_or_else(String::new, |per_s| rate(per_s, "B")),
                );
                cells.push(unless_zero(row.memory_bytes, bytes));
            }
            if work {
                let mark = if row.flops_inferred { "~" } else { "" };
                let flops = row
                    .flops_per_s
                    .map(|per_s| format!("{mark}{}", rate(per_s, "F")));
                cells.push(flops.unwrap_or_default());
                let intensity = row.arithmetic_intensity.map(|value| format!("{value:.1}"));
                cells.push(intensity.unwrap_or_default());
            }
            cells
        })
        .collect();
    let footnote = inferred.then(|| ("FLOP/s", "~ FLOPs inferred from name and shapes".to_owned()));
    cut(
        Table {
            title: title.to_owned(),
            columns,
            rows,
            footnote,
            ..Table::default()
        },
        limit,
    )
}

/// A time of an op with async executions that were suspended; empty for other ops.
fn awaited(row: &OpRow, ns: u64) -> String {
    if row.suspended_ns == 0 {
        return String::new();
    }
    duration(ns)
}

pub(super) fn categories(report: &Report, limit: usize) -> Table {
    let on_devices = report.ops.iter().any(|row| row.accelerator);
    let columns = vec![
        Column::name("category"),
        Column::number("entries", 0),
        Column::number("self", 0),
        Column::number("share", 0),
    ];
    let rows = report
        .categories
        .iter()
        .map(|time| {
            vec![
                time.category.to_string(),
                count(time.count as u64),
                duration(time.self_ns),
                percent(time.share),
            ]
        })
        .collect();
    let title = if on_devices {
        "By category, on devices"
    } else {
        "By category"
    };
    let unknown = report.unattributed_device_ns;
    let footer = (unknown > 0).then(|| {
        format!(
            "{} of device time has no known launch",
            crate::units::prose(&duration(unknown))
        )
    });
    cut(
        Table {
            title: title.to_owned(),
            columns,
            rows,
            footer,
            ..Table::default()
        },
        limit,
    )
}

pub(super) fn roofline(report: &Report, names: &ShortNames, limit: usize) -> Table {
    let columns = vec![
        Column::name("op"),
        Column::number("FLOP/B", 1),
        Column::number("reached", 0),
        Column::number("attainable", 0),
        Column::number("efficiency", 0),
        Column::number("bound by", 0),
    ];
    let rows = report
        .roofline
        .iter()
        .map(|point| {
            let name = printable(names.get(&point.operation));
            let dims = shapes(point.input_shapes.as_deref().unwrap_or(&[]));
            vec![
                format!("{name} {dims}").trim_end().to_owned(),
                format!("{:.1}", point.arithmetic_intensity),
                rate(point.flops_per_s, "F"),
                rate(point.attainable_flops_per_s, "F"),
                percent(point.efficiency),
                if point.memory_bound {
                    "memory"
                } else {
                    "compute"
                }
                .to_owned(),
            ]
        })
        .collect();
    cut(
        Table {
            title: "Against the machine's peaks".to_owned(),
            columns,
            rows,
            ..Table::default()
        },
        limit,
    )
}

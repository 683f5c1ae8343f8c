//! The tables whose rows are ops.

use super::Report;
use super::names::printable;
use super::op_filter::OpFilter;
use super::sections::{count_more, cut};
use super::table::{Column, Table};
use crate::analyze::{OpRow, ShortNames};
use crate::units::{bytes, count, duration, percent, rate, shapes, unless_zero};

/// A table of the ops, or two if some ran on devices and others on the host.
pub(super) fn by_op(report: &Report, names: &ShortNames, limit: usize) -> Vec<Table> {
    on_devices_and_host("By op", &report.ops, report.filter.as_ref(), names, limit)
}

/// Tables of the ops by label and input shapes; none if no op has a label or shapes.
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

/// Shares refer to `whole_ns`, or to the sum of the rows if that is `None`.
fn ops(
    title: &str,
    rows: &[&OpRow],
    whole_ns: Option<u64>,
    names: &ShortNames,
    limit: usize,
) -> Table {
    let of_rows = || {
        rows.iter()
            .fold(0u64, |sum, row| sum.saturating_add(row.working_ns()))
    };
    let total_ns = whole_ns.unwrap_or_else(of_rows);
    let shown = OptionalColumns::of(rows);
    let mut columns = vec![
        Column::name("op"),
        Column::number("calls", 0),
        Column::number("self", 0),
        Column::number("share", 0),
        Column::number("total", 2),
    ];
    let mut column = |shown: bool, title, priority| {
        if shown {
            columns.push(Column::number(title, priority));
        }
    };
    column(shown.waiting, "waiting", 1);
    column(shown.device, "device", 1);
    column(shown.device_self, "device self", 4);
    for title in ["wall", "running", "suspended"] {
        column(shown.suspended, title, 1);
    }
    for (title, priority) in [
        ("p50", 1),
        ("p95", 4),
        ("p99", 6),
        ("min", 9),
        ("mean", 8),
        ("max", 5),
    ] {
        column(true, title, priority);
    }
    column(shown.bytes_per_s, "B/s", 7);
    column(shown.output, "output", 10);
    column(shown.flops_per_s, "FLOP/s", 3);
    column(shown.intensity, "FLOP/B", 11);
    if shown.location {
        columns.push(Column {
            rank: 5,
            ..Column::name("location")
        });
    }
    let inferred = rows.iter().take(limit).any(|row| row.flops_inferred);
    let footnote = inferred.then(|| ("FLOP/s", "~ FLOPs inferred from name and shapes".to_owned()));
    let table = Table {
        title: title.to_owned(),
        columns,
        // A table by shapes may have thousands of rows, but only a few are printed.
        rows: rows
            .iter()
            .take(limit)
            .map(|row| shown.cells(row, total_ns, names))
            .collect(),
        footnote,
        ..Table::default()
    };
    count_more(table, rows.len())
}

/// The columns that only some tables have: those that would be empty are left out.
#[expect(clippy::struct_excessive_bools, reason = "one for each column")]
struct OptionalColumns {
    waiting: bool,
    device: bool,
    device_self: bool,
    suspended: bool,
    bytes_per_s: bool,
    output: bool,
    flops_per_s: bool,
    intensity: bool,
    /// Only the table by op has it: rows by shapes would repeat it.
    location: bool,
}

impl OptionalColumns {
    fn of(rows: &[&OpRow]) -> OptionalColumns {
        let any = |has: fn(&OpRow) -> bool| rows.iter().any(|row| has(row));
        let moved = any(|row| row.bytes_moved > 0);
        let work = any(|row| row.flops > 0);
        OptionalColumns {
            waiting: any(|row| row.waiting_ns > 0),
            device: any(|row| row.device_total_ns > 0),
            device_self: any(|row| row.device_self_ns > 0),
            suspended: any(|row| row.suspended_ns > 0),
            bytes_per_s: moved && any(|row| row.bytes_per_s.is_some()),
            output: moved && any(|row| row.memory_bytes > 0),
            flops_per_s: work && any(|row| row.flops_per_s.is_some()),
            intensity: work && any(|row| row.arithmetic_intensity.is_some()),
            location: any(|row| row.input_shapes.is_none() && !row.locations.is_empty()),
        }
    }

    fn cells(&self, row: &OpRow, total_ns: u64, names: &ShortNames) -> Vec<String> {
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
            percent(row.working_ns() as f64 / total_ns.max(1) as f64),
            duration(row.total_ns),
        ];
        if self.waiting {
            cells.push(unless_zero(row.waiting_ns, duration));
        }
        if self.device {
            cells.push(unless_zero(row.device_total_ns, duration));
        }
        if self.device_self {
            cells.push(unless_zero(row.device_self_ns, duration));
        }
        if self.suspended {
            let running = row.sum_ns.saturating_sub(row.suspended_ns);
            for ns in [row.sum_ns, running, row.suspended_ns] {
                cells.push(awaited(row, ns));
            }
        }
        let times = [
            row.p50_ns,
            row.p95_ns,
            row.p99_ns,
            row.min_ns,
            row.mean_ns,
            row.max_ns,
        ];
        cells.extend(times.map(duration));
        if self.bytes_per_s {
            let per_s = row.bytes_per_s.map(|per_s| rate(per_s, "B"));
            cells.push(per_s.unwrap_or_default());
        }
        if self.output {
            cells.push(unless_zero(row.memory_bytes, bytes));
        }
        if self.flops_per_s {
            let mark = if row.flops_inferred { "~" } else { "" };
            let flops = row
                .flops_per_s
                .map(|per_s| format!("{mark}{}", rate(per_s, "F")));
            cells.push(flops.unwrap_or_default());
        }
        if self.intensity {
            let intensity = row.arithmetic_intensity.map(|value| format!("{value:.1}"));
            cells.push(intensity.unwrap_or_default());
        }
        if self.location {
            cells.push(location(&row.locations));
        }
        cells
    }
}

/// The first location without its outer folders, and the number of the others: `layers/linear.rs:12 +2`.
fn location(locations: &[String]) -> String {
    let Some((first, others)) = locations.split_first() else {
        return String::new();
    };
    let folders = first.rmatch_indices(['/', '\\']).nth(1);
    let short = folders.map_or(first.as_str(), |(at, _)| &first[at + 1..]);
    let short = printable(short);
    match others.len() {
        0 => short,
        others => format!("{short} +{others}"),
    }
}

/// A time as text, for an op with async executions that were suspended; empty for other ops.
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
            "{} of device time was launched outside of ops, or its launch is not known",
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

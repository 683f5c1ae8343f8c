//! CSV text: cells that are safe in a spreadsheet, and op tables in plain numbers. Used by reports and exports.

use crate::analyze::OpRow;
use crate::printable::printable;
use crate::units::all_shapes;

/// Op tables as CSV in plain numbers (nanoseconds, bytes, FLOPs), with the fields of [`OpRow`] as columns.
pub(crate) fn op_csv(rows: &[OpRow]) -> String {
    let with_shapes = rows.iter().any(|row| row.input_shapes.is_some());
    let shapes_title = with_shapes.then_some("input_shapes");
    let titles = ["operation"].into_iter().chain(shapes_title).chain([
        "accelerator",
        "count",
        "total_ns",
        "self_ns",
        "sum_ns",
        "suspended_ns",
        "device_self_ns",
        "device_total_ns",
        "min_ns",
        "mean_ns",
        "p50_ns",
        "p95_ns",
        "p99_ns",
        "max_ns",
        "memory_bytes",
        "bytes_moved",
        "flops",
        "flops_inferred",
        "flops_per_s",
        "bytes_per_s",
        "arithmetic_intensity",
    ]);
    let titles = titles
        .chain(with_shapes.then_some("label"))
        .chain(["locations"]);
    let mut text = String::new();
    csv_line(&mut text, titles);
    for row in rows {
        let cells = cells(row, with_shapes);
        csv_line(&mut text, cells.iter().map(String::as_str));
    }
    text
}

fn cells(row: &OpRow, with_shapes: bool) -> Vec<String> {
    let optional = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let mut cells = vec![printable(&row.operation)];
    if with_shapes {
        cells.push(all_shapes(row.input_shapes.as_deref().unwrap_or(&[])));
    }
    cells.push(row.accelerator.to_string());
    cells.push(row.count.to_string());
    cells.extend(
        [
            row.total_ns,
            row.self_ns,
            row.sum_ns,
            row.suspended_ns,
            row.device_self_ns,
            row.device_total_ns,
            row.min_ns,
            row.mean_ns,
            row.p50_ns,
            row.p95_ns,
            row.p99_ns,
            row.max_ns,
            row.memory_bytes,
            row.bytes_moved,
            row.flops,
        ]
        .map(|number| number.to_string()),
    );
    cells.push(row.flops_inferred.to_string());
    cells.extend([row.flops_per_s, row.bytes_per_s, row.arithmetic_intensity].map(optional));
    if with_shapes {
        cells.push(row.label.as_deref().map(printable).unwrap_or_default());
    }
    cells.push(printable(&row.locations.join("; ")));
    cells
}

/// Adds one record.
pub(crate) fn csv_line<'a>(text: &mut String, cells: impl Iterator<Item = &'a str>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&quoted(cell));
    }
    text.push_str("\r\n");
}

fn quoted(cell: &str) -> String {
    // A spreadsheet reads a cell that begins with `=`, `+`, `-` or `@` as a formula. A quote before it makes it text.
    let formula =
        cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if cell.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

//! The tables about memory.

use super::Report;
use super::names::printable;
use super::sections::cut;
use super::table::{Column, Table};
use crate::analyze::{HeapRow, LiveMemory, MemoryGrowth, ShortNames};
use crate::units::{bytes, count, percent, prose, shapes};

/// The tables about memory of a report.
pub(super) fn memory(report: &Report, names: &ShortNames, rows: usize) -> [Table; 3] {
    [
        held(&report.memory, names, rows),
        heap(&report.heap, names, report.memory_sampled_every, rows),
        growth(&report.memory_growth, names, rows),
    ]
}

/// Live memory, the heap by op and suspected leaks of a trace as tables, with up to `rows` rows each; empty ones are
/// left out. With `sampled_every`, the title of the heap's table states that its figures are estimates.
/// [`Report::tables`] includes them.
pub fn memory_tables(
    live: &[LiveMemory],
    heap_rows: &[HeapRow],
    grown: &[MemoryGrowth],
    sampled_every: Option<u64>,
    rows: usize,
) -> Vec<Table> {
    let ops = live
        .iter()
        .flat_map(|device| &device.holders)
        .filter_map(|holder| holder.operation.as_deref())
        .chain(heap_rows.iter().filter_map(|row| row.operation.as_deref()));
    let names = &ShortNames::of(ops);
    [
        held(live, names, rows),
        heap(heap_rows, names, sampled_every, rows),
        growth(grown, names, rows),
    ]
    .into_iter()
    .filter(|table| !table.rows.is_empty())
    .collect()
}

/// An op with its label and the shapes of its inputs.
fn op_name(
    names: &ShortNames,
    operation: Option<&str>,
    label: Option<&str>,
    input_shapes: &[Vec<usize>],
) -> String {
    let Some(operation) = operation else {
        return "(outside of ops)".to_owned();
    };
    let mut name = printable(names.get(operation));
    for part in [label.map(printable), Some(shapes(input_shapes))] {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            name = format!("{name} {part}");
        }
    }
    name
}

fn device_name(device: &str, rank: Option<u32>) -> String {
    let device = printable(device);
    match rank {
        Some(rank) => format!("{device} of rank {rank}"),
        None => device,
    }
}

fn held(memory: &[LiveMemory], names: &ShortNames, limit: usize) -> Table {
    let columns = vec![
        Column::name("held by"),
        Column::number("device", 0),
        Column::number("at peak", 0),
        Column::number("share", 0),
        Column::number("blocks", 1),
    ];
    let mut rows = Vec::new();
    let mut peaks = Vec::new();
    for memory in memory {
        let device = device_name(&memory.device, memory.rank);
        peaks.push(format!("{device} {}", prose(&bytes(memory.peak_bytes))));
        for holder in memory.holders.iter().take(limit) {
            let blocks = Some(holder.blocks as u64).filter(|&blocks| blocks > 0);
            rows.push(vec![
                op_name(
                    names,
                    holder.operation.as_deref(),
                    holder.label.as_deref(),
                    &holder.input_shapes,
                ),
                device.clone(),
                bytes(holder.bytes),
                percent(holder.bytes as f64 / memory.peak_bytes.max(1) as f64),
                blocks.map(count).unwrap_or_default(),
            ]);
        }
    }
    let table = Table {
        title: "Live memory at its peak".to_owned(),
        columns,
        rows,
        footer: Some(format!("peak: {}", peaks.join(", "))),
        ..Table::default()
    };
    cut(table, limit)
}

fn heap(heap: &[HeapRow], names: &ShortNames, sampled_every: Option<u64>, limit: usize) -> Table {
    let row = |row: &HeapRow| {
        let calls = row.calls.max(1);
        let per_call = |value: u64| {
            if row.calls == 0 || value == 0 {
                String::new()
            } else {
                bytes(value / calls)
            }
        };
        vec![
            op_name(
                names,
                row.operation.as_deref(),
                row.label.as_deref(),
                &row.input_shapes,
            ),
            Some(row.calls)
                .filter(|&calls| calls > 0)
                .map(count)
                .unwrap_or_default(),
            bytes(row.allocated_bytes),
            count(row.allocations),
            if row.calls == 0 {
                String::new()
            } else {
                format!("{:.1}", row.allocations_per_call())
            },
            per_call(row.temporary_bytes),
            per_call(row.retained_bytes),
            if row.peak_bytes == 0 {
                String::new()
            } else {
                bytes(row.peak_bytes)
            },
            if row.live_bytes == 0 {
                String::new()
            } else {
                bytes(row.live_bytes)
            },
        ]
    };
    let table = Table {
        title: match sampled_every {
            None => "Heap memory by op and input shapes".to_owned(),
            Some(_) => "Heap memory by op and input shapes (estimates)".to_owned(),
        },
        columns: vec![
            Column::name("op"),
            Column::number("calls", 1),
            Column::number("allocated", 0),
            Column::number("blocks", 1),
            Column::number("per call", 2),
            Column::number("temporary", 1),
            Column::number("kept", 1),
            Column::number("peak", 1),
            Column::number("live at end", 2),
        ],
        rows: heap.iter().map(row).collect(),
        footer: Some(
            "temporary, kept and peak are per call and include the ops inside; the rest is the op's own".to_owned(),
        ),
        ..Table::default()
    };
    cut(table, limit)
}

fn growth(grown: &[MemoryGrowth], names: &ShortNames, limit: usize) -> Table {
    let row = |grown: &MemoryGrowth| {
        vec![
            op_name(
                names,
                grown.operation.as_deref(),
                grown.label.as_deref(),
                &grown.input_shapes,
            ),
            device_name(&grown.device, grown.rank),
            bytes(grown.bytes_per_step),
            count(grown.steps as u64),
        ]
    };
    let table = Table {
        title: "Memory that grows with every step: a cache or a leak".to_owned(),
        columns: vec![
            Column::name("op"),
            Column::number("device", 0),
            Column::number("per step", 0),
            Column::number("steps", 0),
        ],
        rows: grown.iter().map(row).collect(),
        ..Table::default()
    };
    cut(table, limit)
}

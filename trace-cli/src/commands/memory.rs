//! `optrace memory`: live memory over time, its peak, and the ops that held it.

use crate::args::{Format, Layout, Reading};
use crate::failure::Failure;
use crate::{input, output};
use std::path::PathBuf;
use trace_runtime::analyze::{
    LiveMemory, heap_by_shape, live_memory, memory_growth, memory_sampled_every,
};
use trace_runtime::report::{
    Column, FREES_MISSING, Table, bytes, duration, estimates, memory_tables, printable, prose,
};

const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns that the table needs in addition to the picture.
const BESIDE: usize = 44;

#[derive(Debug, clap::Args)]
pub(crate) struct MemoryArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

pub(super) fn run(args: &MemoryArgs) -> Result<(), Failure> {
    let trace = input::load(&args.file, args.reading)?;
    let devices = live_memory(&trace);
    let plain = args.layout.format == Format::Csv;
    let columns = output::style(&args.layout)
        .width
        .saturating_sub(BESIDE)
        .max(10);
    let mut tables = vec![if plain {
        figures(&devices)
    } else {
        peaks(&devices, columns)
    }];
    let (heap, growth) = (heap_by_shape(&trace), memory_growth(&trace));
    let sampled_every = memory_sampled_every(&trace);
    let rows = args.layout.rows;
    tables.extend(memory_tables(&devices, &heap, &growth, sampled_every, rows));
    tables.retain(|table| !table.rows.is_empty());
    let line = match devices.iter().max_by_key(|device| device.peak_bytes) {
        None => FREES_MISSING.to_owned(),
        Some(most) => {
            let peak = prose(&bytes(most.peak_bytes));
            let note = sampled_every.map(|every| format!("; {}", estimates(every)));
            format!("peak {peak} on {}{}", name(most), note.unwrap_or_default())
        }
    };
    output::tables(&args.layout, &line, &tables, || {
        serde_json::to_string_pretty(&serde_json::json!({
            "live": devices,
            "heap": heap,
            "growth": growth,
            "sampled_every": sampled_every,
        }))
    })
}

fn name(device: &LiveMemory) -> String {
    let name = printable(&device.device);
    match device.rank {
        Some(rank) => format!("{name} of rank {rank}"),
        None => name,
    }
}

fn peaks(devices: &[LiveMemory], columns: usize) -> Table {
    let row = |device: &LiveMemory| {
        vec![
            name(device),
            bytes(device.peak_bytes),
            duration(device.peak_at_ns.max(0).unsigned_abs()),
            sparkline(&device.curve, columns),
        ]
    };
    Table::new(
        "live memory",
        vec![
            Column::name("device"),
            Column::number("peak", 0),
            Column::number("at", 1),
            Column::number("over time", 2),
        ],
        devices.iter().map(row).collect(),
    )
}

fn figures(devices: &[LiveMemory]) -> Table {
    let row = |device: &LiveMemory| {
        vec![
            device.device.clone(),
            device.rank.map(|rank| rank.to_string()).unwrap_or_default(),
            device.peak_bytes.to_string(),
            device.peak_at_ns.to_string(),
        ]
    };
    Table::new(
        "",
        vec![
            Column::name("device"),
            Column::number("rank", 0),
            Column::number("peak_bytes", 0),
            Column::number("peak_at_ns", 0),
        ],
        devices.iter().map(row).collect(),
    )
}

/// The highest point of each of `columns` equal time slices, one character each.
fn sparkline(curve: &[(i64, u64)], columns: usize) -> String {
    let (Some(&(first, _)), Some(&(last, _))) = (curve.first(), curve.last()) else {
        return String::new();
    };
    let span = last.abs_diff(first).max(1);
    let column = |at: i64| {
        let share = u128::from(at.abs_diff(first)) * columns as u128 / u128::from(span);
        (share as usize).min(columns - 1)
    };
    let mut highest = vec![0; columns];
    for (index, &(at, live)) in curve.iter().enumerate() {
        // A level lasts until the next point.
        let until = curve.get(index + 1).map_or(last, |&(next, _)| next);
        for height in &mut highest[column(at)..=column(until)] {
            *height = live.max(*height);
        }
    }
    let peak = highest.iter().copied().max().unwrap_or(0).max(1);
    highest
        .iter()
        .map(|&height| STEPS[(u128::from(height) * 7 / u128::from(peak)) as usize])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_holds_until_the_next_point() {
        let line = sparkline(&[(0, 0), (30, 70), (60, 10)], 60);
        assert_eq!(line.chars().count(), 60);
        assert!(line.starts_with(&"▁".repeat(30)), "{line}");
        assert_eq!(line.chars().nth(45), Some('█'));
        assert_eq!(sparkline(&[], 20), "");
        assert_eq!(sparkline(&[(5, 0)], 20).chars().next(), Some('▁'));
    }
}

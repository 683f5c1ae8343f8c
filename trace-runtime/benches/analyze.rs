//! Prints the cost of each analysis per entry, for both storages and growing traces.
//!
//! `cargo bench -p trace-runtime --bench analyze`; the figures of a row should be about equal.

use std::hint::black_box;
use std::time::Instant;
use trace_runtime::analyze::{activity, by_op, by_shape, critical_path};
use trace_runtime::model::{EntryStorage, NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, RecordedExecutionTrace, Report, TraceAnalyzer, TraceError, TraceStore};

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];

#[derive(Clone, Copy)]
enum Layout {
    Flat,
    /// Every fourth entry contains the next three.
    Nested,
}

/// 50 ops with 4 sets of shapes each, on two devices.
fn trace(entries: usize, layout: Layout) -> Result<TraceStore, TraceError> {
    let names: Vec<String> = (0..50).map(|op| format!("layer.op_{op:02}")).collect();
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), None, None);
    for step in 0..entries {
        let scrambled = step.wrapping_mul(2_654_435_761) >> 7;
        let (op, rows, inner) = (scrambled % 50, 64 << (scrambled / 50 % 4), step % 4);
        let (parent, length) = match layout {
            Layout::Flat => (None, 1 + scrambled as u64 % 900),
            Layout::Nested if inner == 0 => (None, 3_900),
            Layout::Nested => (Some(step - inner), 1 + scrambled as u64 % 800),
        };
        builder.push(
            &NewEntry::new(&names[op], thread, step as i64 * 1_000, length)
                .with_parent(parent)
                .with_device_id(["cuda:0", "cuda:1"][op % 2])
                .with_inputs(&[(&[rows, 256], DType::F32), (&[256, 1024], DType::F32)])
                .with_outputs(&[(&[rows, 1024], DType::F32)]),
        )?;
    }
    Ok(builder.finish())
}

/// The best of several runs, because the others were disturbed.
fn ns_per_entry(entries: usize, mut run: impl FnMut()) -> f64 {
    let rounds = (2_000_000 / entries).clamp(3, 40);
    let best = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .min();
    best.unwrap_or_default().as_nanos() as f64 / entries as f64
}

fn measure<T: EntryStorage>(storage: &str, traces: &[T]) {
    let row = |name: &str, run: &dyn Fn(&T)| {
        let figures: Vec<String> = traces
            .iter()
            .map(|trace| ns_per_entry(trace.entry_count(), || run(trace)))
            .map(|ns| format!("{ns:10.1}"))
            .collect();
        println!("{storage:<14}{name:<22}{}", figures.concat());
    };
    row("operation_summary", &|trace| {
        black_box(TraceAnalyzer::operation_summary(trace));
    });
    row("per_device_summary", &|trace| {
        black_box(TraceAnalyzer::per_device_summary(trace));
    });
    row("slowest(10)", &|trace| {
        black_box(TraceAnalyzer::slowest(trace, 10));
    });
    row("slowest_by_self(10)", &|trace| {
        black_box(TraceAnalyzer::slowest_by_self(trace, 10));
    });
    row("flamegraph_collapsed", &|trace| {
        black_box(TraceAnalyzer::flamegraph_collapsed(trace));
    });
    row("by_op", &|trace| {
        black_box(by_op(trace));
    });
    row("by_shape", &|trace| {
        black_box(by_shape(trace));
    });
    row("activity", &|trace| {
        black_box(activity(trace));
    });
    row("critical_path", &|trace| {
        black_box(critical_path(trace));
    });
    row("report", &|trace| {
        black_box(Report::of(trace));
    });
}

fn main() -> Result<(), TraceError> {
    let sizes: Vec<String> = SIZES.iter().map(|size| format!("{size:10}")).collect();
    println!("{:<36}{}  entries; ns per entry", "", sizes.concat());
    for (name, layout) in [("flat", Layout::Flat), ("nested", Layout::Nested)] {
        let stored: Result<Vec<_>, _> = SIZES.iter().map(|&size| trace(size, layout)).collect();
        let stored = stored?;
        measure(&format!("{name}, store"), &stored);
        let owned: Vec<_> = stored.iter().map(RecordedExecutionTrace::from).collect();
        measure(&format!("{name}, owned"), &owned);
    }
    Ok(())
}

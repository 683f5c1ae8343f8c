//! Exports of entries need no more memory for a long trace than for a short one.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io;
use trace_runtime::export::{
    ChromeTrace, CollapsedStacks, CsvTable, Exporter, PerfettoTrace, Speedscope, TraceJson,
    write_file,
};
use trace_runtime::model::{MemoryEvent, NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, TraceStore, TraceView as _};

thread_local! {
    /// Bytes that this thread has allocated, and their maximum.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn hold(bytes: isize) {
    let _ = HELD.try_with(|held| {
        let (now, peak) = held.get();
        held.set((now + bytes, peak.max(now + bytes)));
    });
}

struct Counting;

#[allow(
    unsafe_code,
    reason = "an allocator is unsafe by nature; this one forwards"
)]
// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        hold(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Layers with two ops in each, on a device, alternating between two threads, with an allocation in each.
fn layers(count: i64) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let threads = [1, 2].map(|id| builder.thread(Some(id), Some(0), Some("worker")));
    let tensors: [(&[usize], DType); 1] = [(&[64, 32], DType::F32)];
    for layer in 0..count {
        let (start, thread) = (layer * 1000, threads[(layer % 2) as usize]);
        let outer = builder.push(&NewEntry::new("layer", thread, start, 900));
        let outer = outer.expect("few entries");
        for (name, offset) in [("matmul", 10), ("all_reduce", 500)] {
            let mut op = NewEntry::new(name, thread, start + offset, 300);
            op.parent = Some(outer);
            op.device_id = Some("cuda:0");
            op.inputs = &tensors;
            op.outputs = &tensors;
            builder.push(&op).expect("few entries");
        }
        builder.push_memory(
            &MemoryEvent::new(start, 64, "cuda:0")
                .with_rank(0)
                .with_during(outer),
        );
    }
    builder.finish()
}

/// The most memory that an export allocated in addition to the trace, in bytes.
fn peak(exporter: &dyn Exporter, trace: &TraceStore) -> isize {
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    exporter
        .export(trace, &mut io::sink())
        .expect("a sink takes every write");
    HELD.with(|held| held.get().1 - before)
}

/// Bytes that an export needs for each further entry, measured with a trace of ten times the length.
fn growth(exporter: &dyn Exporter) -> f64 {
    let (short, long) = (layers(1000), layers(10_000));
    // The first export also fills caches in the trace.
    peak(exporter, &short);
    peak(exporter, &long);
    let more = peak(exporter, &long) - peak(exporter, &short);
    more as f64 / (long.len() - short.len()) as f64
}

#[test]
fn an_export_of_entries_does_not_grow_with_the_trace() {
    assert!(growth(&ChromeTrace::new()) < 0.01);
    assert!(growth(&PerfettoTrace::new()) < 0.01);
    assert!(growth(&TraceJson) < 0.01);
}

/// The most memory that writing a file allocated in addition to the trace, in bytes.
fn peak_of_file(trace: &TraceStore, name: &str) -> isize {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    trace.total_duration_us();
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    write_file(trace, &path).expect("the file can be written");
    std::fs::remove_file(path).expect("the file was written");
    HELD.with(|held| held.get().1 - before)
}

#[test]
fn an_output_file_needs_a_megabyte_in_addition_to_the_trace() {
    let trace = layers(30_000);
    for name in ["memory.json", "memory.json.gz", "memory.pftrace"] {
        let peak = peak_of_file(&trace, name);
        assert!(peak < 1 << 20, "{name}: {peak}");
    }
}

#[test]
#[ignore = "minutes without optimisation: run with --release"]
fn ten_million_entries_are_written_with_64_megabytes_in_addition_to_the_trace() {
    let trace = layers(3_333_334);
    assert!(trace.len() >= 10_000_000);
    for name in ["long.json", "long.json.gz", "long.pftrace"] {
        let peak = peak_of_file(&trace, name);
        println!("{name}: {peak} bytes beside the trace");
        assert!(peak < 64 << 20, "{name}: {peak}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_table_of_entries_grows_up_to_a_group_of_rows() {
    use trace_runtime::export::parquet::ParquetEntries;
    let sizes = [50_000, 100_000].map(|count| peak(&ParquetEntries, &layers(count)));
    let grown = (sizes[1] - sizes[0]) as f64 / sizes[0] as f64;
    assert!(grown < 0.1, "{sizes:?}");
}

#[test]
fn sums_and_speedscope_need_a_few_bytes_per_entry() {
    let speedscope = growth(&Speedscope);
    // Lists double their capacity.
    assert!(speedscope <= 8.5, "{speedscope}");
    for sums in [growth(&CollapsedStacks), growth(&CsvTable::ByShape)] {
        assert!(sums <= 56.0, "{sums}");
    }
}

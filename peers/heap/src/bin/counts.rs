//! One program under two tools at once: compares the counts of `TracedAlloc` and hotpath for the same functions.
//!
//! Both charge an allocation to the innermost function. hotpath has no shapes, no frees and no live memory. Each tool
//! also counts the few blocks that the other one allocates inside a function (tables of the first calls, logs that
//! grow). So whole blocks per call are compared, and the remaining blocks must be few. Fails if a function differs. The
//! variable `HOTPATH_ALLOC_METRIC=count` must be set.
use hotpath::CountingAllocator;
use std::collections::BTreeMap;
use std::hint::black_box;
use trace_runtime::model::{MemoryContext, memory_contexts};
use trace_runtime::{Session, TracedAlloc, traced_op};

#[global_allocator]
static ALLOC: TracedAlloc<CountingAllocator> = TracedAlloc::new(CountingAllocator::new());

#[hotpath::measure]
#[traced_op]
fn scale(x: &[f32]) -> Vec<f32> {
    x.iter().map(|x| x * 2.0).collect()
}

#[hotpath::measure]
#[traced_op]
fn normalise(x: &[f32]) -> Vec<f32> {
    let copy = black_box(x.to_vec());
    let sum: f32 = copy.iter().sum();
    copy.iter().map(|x| x / sum).collect()
}

#[hotpath::measure]
#[traced_op]
fn grow(x: &[f32]) -> Vec<f32> {
    let mut all = Vec::new();
    for &value in x {
        all.push(value);
    }
    all
}

#[hotpath::measure]
#[traced_op]
fn layer(x: &[f32]) -> f32 {
    let scratch = black_box(vec![1.0f32; x.len()]);
    let scaled = scale(x);
    let normal = normalise(&scaled);
    let grown = grow(&normal);
    grown[0] + scratch[0]
}

const CALLS: u64 = 50;
/// Blocks that the other tool allocates inside one function, at most.
const MOST_OF_OTHER: u64 = 12;

fn main() {
    let path = std::env::temp_dir().join(format!("heap-counts-{}.json", std::process::id()));
    let x = vec![0.5f32; 1000];
    let session = Session::start().expect("no other session");
    layer(&x);
    let guard = hotpath::HotpathGuardBuilder::new("main")
        .format(hotpath::Format::Json)
        .output_path(&path)
        .report("functions-alloc")
        .build();
    for _ in 0..CALLS {
        layer(&x);
    }
    drop(guard);
    let trace = session.finish();
    let text = std::fs::read_to_string(&path).expect("hotpath has written its report");
    let _ = std::fs::remove_file(&path);
    let theirs = of_hotpath(&serde_json::from_str(&text).expect("hotpath writes JSON"));

    let contexts = memory_contexts(&trace, None);
    println!(
        "{:<22} {:>8} {:>8}",
        "allocations per call", "ours", "hotpath"
    );
    for name in ["scale", "normalise", "grow", "layer"] {
        let rows = contexts.iter().filter(|row| row.operation == name);
        let (calls, blocks) = rows.fold((0, 0), |sum, row: &MemoryContext| {
            (sum.0 + row.calls, sum.1 + row.allocations)
        });
        assert_eq!(calls, CALLS + 1);
        let (their_calls, their_blocks) = theirs.get(name).copied().unwrap_or((1, 0));
        let (ours, left) = (blocks / calls, blocks % calls);
        let (others, their_left) = (their_blocks / their_calls, their_blocks % their_calls);
        println!("{name:<22} {ours:>8} {others:>8}   left over: {left} and {their_left}");
        assert_eq!(ours, others, "{name}: {text}");
        assert!(left.max(their_left) <= MOST_OF_OTHER, "{name}: {text}");
    }
}

/// Calls and allocations by function.
fn of_hotpath(report: &serde_json::Value) -> BTreeMap<String, (u64, u64)> {
    let rows = report["functions_alloc"]["data"].as_array();
    let rows = rows.into_iter().flatten().filter_map(|row| {
        let name = row["name"].as_str()?.rsplit("::").next()?;
        let blocks = row["total"].as_str()?.replace(',', "").parse().ok()?;
        Some((name.to_owned(), (row["calls"].as_u64()?.max(1), blocks)))
    });
    rows.collect()
}

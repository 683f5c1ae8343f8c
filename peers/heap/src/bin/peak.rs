//! Allocates one large tensor after another, and compares the recorded peak with the peak resident set of the process
//! and with dhat's figure. Fails if they differ by more than 2 %.
use std::hint::black_box;
use trace_runtime::analyze::live_memory;
use trace_runtime::{Session, TracedAlloc, traced_op};

#[global_allocator]
static ALLOC: TracedAlloc<dhat::Alloc> = TracedAlloc::new(dhat::Alloc);

const TENSORS: usize = 24;
const ELEMENTS: usize = 2 << 20;
/// The largest difference, as a share.
const TOLERANCE: f64 = 0.02;

#[traced_op]
fn make(rows: usize, value: f32) -> Vec<f32> {
    vec![value; rows]
}

/// A figure of this process in bytes.
fn status(key: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

fn main() {
    let profiler = dhat::Profiler::builder().testing().build();
    let session = Session::start().expect("no other session");
    let before = status("VmRSS:");
    let held: Vec<Vec<f32>> = (0..TENSORS)
        .map(|index| make(ELEMENTS, index as f32 + 0.5))
        .collect();
    black_box(&held);
    let after = status("VmHWM:");
    drop(held);
    // These are not live at the same time: each replaces the one before.
    for index in 0..TENSORS {
        drop(black_box(make(ELEMENTS, index as f32)));
    }
    let trace = session.finish();
    let dhat = dhat::HeapStats::get().max_bytes as u64;
    drop(profiler);
    let ours = live_memory(&trace)
        .into_iter()
        .find(|device| device.device == "cpu")
        .expect("the heap was recorded")
        .peak_bytes;
    println!("recorded peak           {ours:>12}");
    compare("dhat", ours, dhat);
    match before.zip(after) {
        Some((before, after)) => compare("resident set", ours, after.saturating_sub(before)),
        None => println!("there is no /proc/self/status: the resident set was not compared"),
    }
}

fn compare(name: &str, ours: u64, other: u64) {
    let share = ours.abs_diff(other) as f64 / other as f64;
    println!("{name:<23} {other:>12} {:>7.2} %", share * 100.0);
    assert!(
        share <= TOLERANCE,
        "{name}: the peaks differ by more than 2 %"
    );
}

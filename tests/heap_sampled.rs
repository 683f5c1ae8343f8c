//! A sampled recording of the heap: its figures are unbiased estimates of the exact figures, and are marked as
//! estimates.
#![cfg(feature = "enabled")]

use std::alloc::System;
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trace_runtime::analyze::{live_memory, memory_sampled_every};
use trace_runtime::model::{MemoryContext, memory_contexts};
use trace_runtime::{RecordedExecutionTrace, Session, TracedAlloc, traced_op};

#[global_allocator]
static ALLOC: TracedAlloc = TracedAlloc::new(System);

/// There is one session at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const EVERY: u64 = 8 << 10;

#[traced_op]
fn scratch(blocks: usize, bytes: usize) {
    for _ in 0..blocks {
        drop(black_box(vec![1u8; bytes]));
    }
}

#[traced_op]
fn keep(blocks: usize, bytes: usize) -> Vec<Vec<u8>> {
    (0..blocks).map(|_| vec![1; bytes]).collect()
}

fn find(trace: &RecordedExecutionTrace, operation: &str) -> MemoryContext {
    let contexts = memory_contexts(trace, None);
    let found = contexts.into_iter().find(|one| one.operation == operation);
    found.unwrap_or_default()
}

/// Asserts that the mean of some estimates is the exact figure, within five standard errors.
fn assert_unbiased(name: &str, estimates: &[u64], exact: u64) {
    let count = estimates.len() as f64;
    let mean = estimates.iter().sum::<u64>() as f64 / count;
    let squares: f64 = estimates
        .iter()
        .map(|&one| (one as f64 - mean).powi(2))
        .sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    assert!(
        (mean - exact as f64).abs() <= 5.0 * error,
        "{name}: {mean} instead of {exact}, standard error {error}"
    );
    // If the error were large, this test would accept anything.
    assert!(error < 0.05 * exact as f64, "{name}: {error} of {exact}");
}

#[test]
fn estimates_are_unbiased_for_small_and_large_blocks() {
    let _alone = alone();
    let (mut bytes, mut blocks, mut kept, mut temporary) = (vec![], vec![], vec![], vec![]);
    for _ in 0..24 {
        let session = Session::builder()
            .sample_allocations(EVERY)
            .start()
            .unwrap();
        scratch(20_000, 100);
        scratch(200, 9_000);
        let held = keep(400, 3_000);
        let trace = session.finish();
        drop(held);
        let of_scratch = find(&trace, "scratch");
        bytes.push(of_scratch.allocated_bytes);
        blocks.push(of_scratch.allocations);
        temporary.push(of_scratch.temporary_bytes);
        kept.push(find(&trace, "keep").live_bytes());
    }
    let allocated = 20_000 * 100 + 200 * 9_000;
    assert_unbiased("bytes", &bytes, allocated);
    assert_unbiased("blocks", &blocks, 20_200);
    assert_unbiased("temporary", &temporary, allocated);
    // The outer vector has 24 bytes for each inner one.
    assert_unbiased("kept", &kept, 400 * 3_000 + 400 * 24);
}

#[test]
fn freed_blocks_were_sampled_when_they_were_allocated() {
    let _alone = alone();
    let session = Session::builder()
        .sample_allocations(EVERY)
        .start()
        .unwrap();
    let held = keep(2_000, 500);
    std::thread::spawn(move || drop(held)).join().unwrap();
    let trace = session.finish();
    let keep = find(&trace, "keep");
    assert!(keep.allocated_bytes > 0);
    assert_eq!(keep.live_bytes(), 0, "{keep:?}");
    assert_eq!(keep.allocations, keep.frees);
}

#[test]
fn estimates_are_marked_in_the_trace_and_in_the_report() {
    let _alone = alone();
    let session = Session::builder()
        .sample_allocations(EVERY)
        .start()
        .unwrap();
    let held = keep(2_000, 500);
    let trace = session.finish();
    assert_eq!(memory_sampled_every(&trace), Some(EVERY));
    assert!(!live_memory(&trace).is_empty());
    let report = trace.report();
    assert_eq!(report.memory_sampled_every, Some(EVERY));
    let text = report.to_string();
    assert!(text.contains("figures of the heap are estimates"), "{text}");
    assert!(text.contains("(estimates)"), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["memory_sampled_every"], EVERY);
    drop(held);

    let session = Session::start().unwrap();
    drop(keep(2_000, 500));
    let trace = session.finish();
    assert_eq!(memory_sampled_every(&trace), None);
    assert!(!trace.report().to_string().contains("estimates"));
}

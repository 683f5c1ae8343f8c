//! `TracedAlloc`: memory is charged to the op that allocates it.
#![cfg(feature = "enabled")]

use std::alloc::System;
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use trace_runtime::model::{MemoryContext, memory_contexts};
use trace_runtime::{
    RecordedExecutionTrace, Session, TraceView as _, TracedAlloc, current_op, in_op, traced_op,
};

#[global_allocator]
static ALLOC: TracedAlloc = TracedAlloc::new(System);

/// There is one session at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[traced_op]
fn keep(x: &[u8]) -> Vec<u8> {
    x.to_vec()
}

#[traced_op]
fn scratch(x: &[u8]) -> u8 {
    let copy = black_box(x.to_vec());
    copy[0]
}

#[traced_op]
fn layer(x: &[u8]) -> Vec<u8> {
    scratch(x);
    let doubled = keep(&x.repeat(2));
    drop(black_box(Vec::<u64>::with_capacity(x.len())));
    doubled
}

fn contexts(trace: &RecordedExecutionTrace) -> Vec<MemoryContext> {
    memory_contexts(trace, None)
}

fn find<'a>(contexts: &'a [MemoryContext], operation: &str) -> &'a MemoryContext {
    let found: Vec<_> = contexts
        .iter()
        .filter(|context| context.operation == operation)
        .collect();
    assert_eq!(found.len(), 1, "{operation}: {found:#?}");
    found[0]
}

#[test]
fn memory_is_charged_to_the_innermost_op_and_its_inputs() {
    let _alone = alone();
    let x = vec![1u8; 1000];
    let session = Session::start().unwrap();
    let kept: Vec<_> = (0..3).map(|_| layer(&x)).collect();
    let trace = session.finish();
    let contexts = contexts(&trace);

    let layer = find(&contexts, "layer");
    assert_eq!(layer.input_shapes, [[1000]]);
    assert_eq!((layer.calls, layer.parent), (3, None));
    // `repeat` and the vector of u64.
    assert_eq!(layer.allocated_bytes, 3 * (2000 + 8000));
    assert_eq!(layer.inside_bytes, 3 * (2000 + 8000 + 1000 + 2000));
    assert_eq!(layer.retained_bytes(), 3 * 2000, "what `keep` returned");
    assert_eq!(layer.live_bytes(), 0);
    assert_eq!(layer.inside_allocations, 3 * 4);
    // `keep` has returned, and the repeated input was freed.
    assert_eq!(layer.peak_bytes, 2000 + 8000);

    let scratch = find(&contexts, "scratch");
    assert_eq!(scratch.allocated_bytes, 3000);
    assert_eq!(scratch.retained_bytes(), 0);
    let parent = &contexts[scratch.parent.unwrap()];
    assert_eq!(parent.operation, "layer");

    let keep = find(&contexts, "keep");
    assert_eq!(keep.input_shapes, [[2000]]);
    assert_eq!((keep.live_bytes(), keep.retained_bytes()), (6000, 6000));
    drop(kept);
}

#[test]
fn a_free_on_another_thread_or_later_belongs_to_the_op_that_allocated() {
    let _alone = alone();
    let session = Session::start().unwrap();
    let (send, receive) = mpsc::channel::<Vec<u8>>();
    let freeing = std::thread::spawn(move || receive.into_iter().map(|block| block.len()).sum());
    for _ in 0..100 {
        send.send(keep(&[7; 512])).unwrap();
    }
    drop(send);
    let freed: usize = freeing.join().unwrap();
    assert_eq!(freed, 51_200);
    let contexts = contexts(&session.finish());
    let keep = find(&contexts, "keep");
    assert_eq!((keep.allocated_bytes, keep.freed_bytes), (51_200, 51_200));
    assert_eq!(keep.temporary_bytes, 0, "freed after the op");
}

#[test]
fn ops_on_the_threads_of_a_pool_are_charged_to_the_byte() {
    use rayon::prelude::*;
    let _alone = alone();
    let x = vec![1u8; 4096];
    let session = Session::start().unwrap();
    let size = |index: usize| index * 7919 % 4000 + 1;
    for _ in 0..3 {
        let made: Vec<Vec<u8>> = (0..2000usize)
            .into_par_iter()
            .map(|index| layer(&x[..size(index)]))
            .collect();
        // On other threads than those that allocated.
        made.into_par_iter().rev().for_each(drop);
    }
    let contexts = contexts(&session.finish());
    let sum: u64 = (0..2000).map(|index| 3 * size(index) as u64).sum();
    let of = |operation: &str| {
        let mut total = (0, 0, 0);
        for one in contexts.iter().filter(|one| one.operation == operation) {
            total.0 += one.calls;
            total.1 += one.allocated_bytes;
            total.2 += one.freed_bytes;
        }
        total
    };
    assert_eq!(of("keep"), (6000, 2 * sum, 2 * sum));
    assert_eq!(of("scratch"), (6000, sum, sum));
    // `repeat`, and the vector of u64.
    assert_eq!(of("layer"), (6000, 10 * sum, 10 * sum));
}

#[test]
fn ops_that_allocate_nothing_have_no_context() {
    #[traced_op]
    fn sum(x: &[u8]) -> u64 {
        x.iter().map(|&x| u64::from(x)).sum()
    }
    #[traced_op]
    fn outer(x: &[u8]) -> u64 {
        let before = sum(x);
        let made = keep(x);
        before + sum(&made)
    }
    let _alone = alone();
    let session = Session::start().unwrap();
    for _ in 0..100 {
        sum(&[1; 10]);
        outer(&[1; 50]);
    }
    let trace = session.finish();
    let contexts = contexts(&trace);
    assert!(contexts.iter().all(|one| one.operation != "sum"));
    // `outer` frees the memory that `keep` allocated inside it.
    let outer = find(&contexts, "outer");
    assert_eq!((outer.calls, outer.allocated_bytes), (100, 0));
    assert_eq!((outer.inside_bytes, outer.temporary_bytes), (5000, 5000));
    assert_eq!(outer.peak_bytes, 50);
    assert_eq!(find(&contexts, "keep").calls, 100);
    let sums = trace.entries.iter().filter(|one| one.operation == "sum");
    assert_eq!(sums.count(), 300, "but every execution is recorded");
}

#[test]
fn work_that_is_handed_over_is_charged_inside_the_op() {
    #[traced_op]
    fn parallel(x: &[u8]) -> usize {
        let here = current_op();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| in_op(&here, || keep(x)));
            worker.join().unwrap().len()
        })
    }
    let _alone = alone();
    let session = Session::start().unwrap();
    parallel(&[1; 300]);
    let contexts = contexts(&session.finish());
    let keep = find(&contexts, "keep");
    assert_eq!(contexts[keep.parent.unwrap()].operation, "parallel");
    assert_eq!(keep.allocated_bytes, 300);
}

#[test]
fn blocks_from_before_the_session_are_not_counted() {
    let _alone = alone();
    let before = vec![0u8; 100_000];
    let session = Session::start().unwrap();
    drop(black_box(before));
    let trace = session.finish();
    let freed: u64 = contexts(&trace).iter().map(|c| c.freed_bytes).sum();
    assert!(freed < 100_000, "{freed}");
    // A block that outlives a session does not count as a block of the next session either.
    let session = Session::start().unwrap();
    let kept = keep(&[1; 4096]);
    drop(session.finish());
    let session = Session::start().unwrap();
    drop(kept);
    let contexts = contexts(&session.finish());
    assert!(contexts.iter().all(|context| context.operation != "keep"));
}

#[test]
fn the_curve_ends_with_what_is_live() {
    let _alone = alone();
    let session = Session::start().unwrap();
    let kept: Vec<_> = (0..50).map(|_| keep(&vec![1; 100_000])).collect();
    let trace = session.finish();
    let mut live = std::collections::BTreeMap::<u32, i64>::new();
    let mut last = i64::MIN;
    for event in trace.memory_events() {
        assert!(event.at_ns >= last);
        last = event.at_ns;
        *live.entry(event.context.unwrap()).or_default() += event.bytes;
    }
    for (index, context) in contexts(&trace).iter().enumerate().skip(3) {
        let bytes = live.get(&(index as u32)).copied().unwrap_or(0);
        assert_eq!(bytes, context.live_bytes() as i64, "{context:?}");
    }
    drop(kept);
}

#[test]
fn device_memory_that_is_reported_is_live_until_it_is_freed() {
    use trace_runtime::analyze::live_memory;
    use trace_runtime::{Device, memory};
    #[traced_op]
    fn upload(address: usize, bytes: usize) {
        memory::allocated(address, bytes, Device::Cuda(0));
    }
    let _alone = alone();
    memory::allocated(1, 1 << 40, Device::Cuda(0));
    let session = Session::start().unwrap();
    upload(0x10, 1000);
    upload(0x20, 500);
    memory::freed(0x10, Device::Cuda(0));
    memory::freed(0x999, Device::Cuda(0));
    memory::freed(0x20, Device::Cuda(1));
    upload(0x30, 700);
    let trace = session.finish();
    let devices = live_memory(&trace);
    let device = devices
        .iter()
        .find(|device| device.device == "cuda:0")
        .unwrap();
    assert_eq!(device.peak_bytes, 1500);
    assert_eq!(device.curve.last().unwrap().1, 1200);
    let [holder] = &device.holders[..] else {
        panic!("{:?}", device.holders);
    };
    assert_eq!(
        (holder.operation.as_deref(), holder.blocks),
        (Some("upload"), 2)
    );
}

#[test]
fn memory_that_grows_with_every_step_is_found() {
    use trace_runtime::analyze::memory_growth;
    let _alone = alone();
    let large = vec![1; 50_000];
    let mut leaked = Vec::new();
    let mut session = Session::start().unwrap();
    for _ in 0..8 {
        leaked.push(keep(&large[..20_000]));
        scratch(&large);
        session.step();
    }
    let trace = session.finish();
    let found = memory_growth(&trace);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].operation.as_deref(), Some("keep"));
    assert_eq!((found[0].bytes_per_step, found[0].steps), (20_000, 7));
}

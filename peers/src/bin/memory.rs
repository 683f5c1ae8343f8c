//! The memory that ours takes for 10^6 ops: counted by the allocator, and mapped for blocks of rows. It is a separate program, because counting would
//! slow down the peers that allocate in each call.

#![allow(unsafe_code, reason = "an allocator is declared unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use trace_core::__engine::block::mapped_bytes;
use trace_peers::subject::Subject;
use trace_peers::subjects::Ours;
use trace_runtime::Session;

const OPS: usize = 1_000_000;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// A block that grows counts twice while it is copied, because `realloc` has the trait's default implementation.
// SAFETY: every request is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let before = LIVE.load(Relaxed);
    let session = Session::start().expect("no other session runs");
    Ours.with_shapes(OPS / 10);
    let allocations = ALLOCATIONS.load(Relaxed);
    Ours.with_shapes(OPS);
    let allocations = ALLOCATIONS.load(Relaxed) - allocations;
    let mapped = mapped_bytes();
    let recorded = LIVE.load(Relaxed) - before + mapped;

    PEAK.store(LIVE.load(Relaxed), Relaxed);
    let store = session.finish_store();
    let peak = PEAK.load(Relaxed) - before + mapped.max(mapped_bytes());

    let ops = store.len() as f64;
    println!("{}", recorded as f64 / ops);
    println!("{}", store.heap_bytes() as f64 / ops);
    println!("{}", allocations as f64 / OPS as f64);
    println!("{}", peak as f64 / recorded as f64);
}

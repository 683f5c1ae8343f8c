//! In the steady state recording an op allocates nothing, and an op takes at most 32 bytes.
#![cfg(feature = "enabled")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use trace_runtime::{Session, traced_op};

thread_local! {
    static ALLOCATED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Counts the allocations and bytes of each thread.
struct Counting;

#[allow(
    unsafe_code,
    reason = "an allocator is unsafe by nature; this one forwards"
)]
// SAFETY: every call is forwarded as it came to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|counts| {
            let (calls, bytes) = counts.get();
            counts.set((calls + 1, bytes + layout.size()));
        });
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[traced_op]
fn matmul(a: &[[f32; 8]; 4], b: &[[f32; 2]; 8]) -> [[f32; 2]; 4] {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..8).map(|k| a[i][k] * b[k][j]).sum()))
}

#[traced_op]
fn layer(a: &[[f32; 8]; 4], b: &[[f32; 2]; 8]) -> [[f32; 2]; 4] {
    matmul(a, b)
}

fn run(layers: usize) {
    let (a, b) = ([[1.0; 8]; 4], [[2.0; 2]; 8]);
    for _ in 0..layers {
        std::hint::black_box(layer(std::hint::black_box(&a), std::hint::black_box(&b)));
    }
}

#[test]
fn a_steady_state_allocates_only_chunks() {
    let session = Session::start().unwrap();
    run(5000); // past the growing chunks
    let (calls, bytes) = ALLOCATED.get();
    run(50_000);
    let (calls, bytes) = (ALLOCATED.get().0 - calls, ALLOCATED.get().1 - bytes);
    let store = session.finish_store();
    assert_eq!(store.len(), 110_000);
    // A chunk is two allocations, and the list of chunks grows now and then.
    let chunks = 100_000_usize.div_ceil(4096) + 1;
    assert!(
        calls <= 2 * chunks + 4,
        "{calls} allocations for {chunks} chunks"
    );
    assert!(
        bytes <= 100_000 * 32,
        "{} bytes an op",
        bytes as f64 / 100_000.0
    );
    assert!(
        store.heap_bytes() <= store.len() * 32,
        "{} bytes in all",
        store.heap_bytes()
    );
}

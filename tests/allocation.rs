//! In the steady state recording an op allocates nothing, and an op takes at most 32 bytes.
#![cfg(feature = "enabled")]

mod counting;

use counting::Allocated;
use trace_runtime::{Session, traced_op};

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
    let Allocated { calls, bytes } = counting::during(|| run(50_000));
    let store = session.finish_store();
    assert_eq!(store.len(), 110_000);
    // A chunk is two allocations, and the list of chunks grows a few times.
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

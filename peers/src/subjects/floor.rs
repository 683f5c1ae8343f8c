//! The lowest possible cost of recording: two reads of the counter and 64 bytes appended to memory that was
//! used before.

use crate::subject::{Matrix, Subject, timed};
use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

pub struct Floor;

type Record = [u64; 8];

/// 128 KiB, which fit into the second-level cache, unlike a recording that keeps all of its records.
const RECORDS: usize = 2048;

thread_local! {
    // The ring is neither lazy nor dropped, so that its address is one addition to the thread's pointer.
    static RING: [Cell<Record>; RECORDS] = const { [const { Cell::new([0; 8]) }; RECORDS] };
    static NEXT: Cell<usize> = const { Cell::new(0) };
}

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the floor reads the time stamp counter of x86-64");

#[inline]
#[allow(unsafe_code, reason = "the intrinsic is declared unsafe")]
fn counter() -> u64 {
    // SAFETY: `rdtsc` reads a register that every x86-64 processor has.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[inline]
fn append(record: Record) {
    let next = NEXT.get();
    RING.with(|ring| ring[next % RECORDS].set(record));
    NEXT.set(next + 1);
}

#[allow(clippy::many_single_char_names, reason = "as one writes matrices")]
#[inline(never)]
fn matmul(a: &Matrix, b: &Matrix) -> Matrix {
    let start = counter();
    let c = a.times(b);
    let [[m, k], [_, n]] = [a.dims, b.dims].map(|dims| dims.map(|dim| dim as u64));
    append([start, counter(), m, k, k, n, m, n]);
    c
}

impl Subject for Floor {
    fn name(&self) -> &'static str {
        "floor"
    }

    fn bare(&self, calls: usize) -> Option<Duration> {
        // More than a whole ring, so that all of its pages are present.
        timed(RECORDS, matmul);
        let taken = timed(calls, matmul);
        // Read back, because the compiler removes stores that are never read.
        RING.with(|ring| ring.iter().for_each(|record| _ = black_box(record.get())));
        Some(taken)
    }
}

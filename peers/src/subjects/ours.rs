//! `trace_runtime`, by its attribute alone.

use crate::subject::{Matrix, Subject, timed};
use std::hint::black_box;
use std::time::Duration;
use trace_runtime::{Session, traced_op};

pub struct Ours;

#[traced_op]
#[inline(never)]
fn matmul(a: &Matrix, b: &Matrix) -> Matrix {
    a.times(b)
}

/// Its parameters are numbers, not tensors: only the name and the times are recorded.
#[traced_op]
#[inline(never)]
fn bare(rows: usize, columns: usize) -> usize {
    rows + columns
}

impl Subject for Ours {
    fn name(&self) -> &'static str {
        "ours"
    }

    fn collect(&self, work: &mut dyn FnMut()) {
        let session = Session::start().expect("no other session runs");
        work();
        drop(session);
    }

    fn bare(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, |a, b| {
            black_box(bare(a.dims[0], b.dims[1]));
            *a
        }))
    }

    fn with_shapes(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, matmul))
    }

    fn off(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, matmul))
    }
}

//! The call without a tracer. The costs of the other subjects are differences to it.

use crate::subject::{Matrix, Subject, timed};
use std::time::Duration;

pub struct Plain;

#[inline(never)]
fn matmul(a: &Matrix, b: &Matrix) -> Matrix {
    a.times(b)
}

impl Subject for Plain {
    fn name(&self) -> &'static str {
        "plain call"
    }

    fn bare(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, matmul))
    }
}

//! firestorm: an event at the begin and one at the end, in a vector of the thread; it cannot be switched off.

use crate::subject::{Matrix, Subject, timed};
use std::time::Duration;

pub struct Firestorm;

#[inline(never)]
fn matmul(a: &Matrix, b: &Matrix) -> Matrix {
    firestorm::profile_fn!(matmul);
    a.times(b)
}

impl Subject for Firestorm {
    fn name(&self) -> &'static str {
        "firestorm"
    }

    fn bare(&self, calls: usize) -> Option<Duration> {
        let taken = timed(calls, matmul);
        firestorm::clear();
        Some(taken)
    }
}

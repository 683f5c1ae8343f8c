//! hotpath: durations by function, aggregated by a separate thread.

use crate::subject::{Matrix, Subject, timed};
use hotpath::{Format, HotpathGuardBuilder};
use std::time::Duration;

pub struct Hotpath;

#[hotpath::measure]
#[inline(never)]
fn matmul(a: &Matrix, b: &Matrix) -> Matrix {
    a.times(b)
}

impl Subject for Hotpath {
    fn name(&self) -> &'static str {
        "hotpath"
    }

    fn collect(&self, work: &mut dyn FnMut()) {
        let guard = HotpathGuardBuilder::new("round")
            .format(Format::None)
            .build();
        work();
        // Drains the queues and ends the thread.
        drop(guard);
    }

    fn bare(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, matmul))
    }

    fn off(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, matmul))
    }
}

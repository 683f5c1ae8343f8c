//! puffin: scopes in a stream of bytes, which is handed over once per frame.

use crate::subject::{Matrix, Subject, timed};
use puffin::GlobalProfiler;
use std::time::Duration;

pub struct Puffin;

#[inline(never)]
fn matmul(a: &Matrix, b: &Matrix) -> Matrix {
    puffin::profile_function!();
    a.times(b)
}

impl Subject for Puffin {
    fn name(&self) -> &'static str {
        "puffin"
    }

    fn collect(&self, work: &mut dyn FnMut()) {
        puffin::set_scopes_on(true);
        work();
        puffin::set_scopes_on(false);
        GlobalProfiler::lock().new_frame();
    }

    fn bare(&self, calls: usize) -> Option<Duration> {
        // Measured inside a scope, as in a frame, because an outermost scope takes a lock at its end.
        puffin::profile_scope!("round");
        Some(timed(calls, matmul))
    }

    fn off(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, matmul))
    }
}

//! tensorlogic: `tensorlogic_infer::TraceRecorder`, called by hand, with `Instant` and owned vectors.

use crate::subject::{Matrix, Subject, timed};
use std::time::Duration;
use tensorlogic_infer::TraceRecorder;

pub struct TensorLogic;

#[inline(never)]
fn bare(recorder: &mut TraceRecorder, a: &Matrix, b: &Matrix) -> Matrix {
    recorder.begin_op("matmul");
    let c = a.times(b);
    recorder.end_op();
    c
}

#[inline(never)]
fn with_shapes(recorder: &mut TraceRecorder, a: &Matrix, b: &Matrix) -> Matrix {
    recorder.begin_op("matmul");
    let c = a.times(b);
    recorder.end_op_with_shapes(vec![a.dims.to_vec(), b.dims.to_vec()], c.dims.to_vec());
    c
}

impl Subject for TensorLogic {
    fn name(&self) -> &'static str {
        "tensorlogic"
    }

    fn bare(&self, calls: usize) -> Option<Duration> {
        let mut recorder = TraceRecorder::new();
        Some(timed(calls, |a, b| bare(&mut recorder, a, b)))
    }

    fn with_shapes(&self, calls: usize) -> Option<Duration> {
        let mut recorder = TraceRecorder::new();
        Some(timed(calls, |a, b| with_shapes(&mut recorder, a, b)))
    }
}

//! The subjects of measurement: one op, called many times under one tracer.

use std::hint::black_box;
use std::time::{Duration, Instant};
use trace_runtime::{DType, Device, TensorLike, TensorSink};

/// A tensor of rank 2, with the facts that tracers read.
#[derive(Debug, Clone, Copy)]
pub struct Matrix {
    pub dims: [usize; 2],
}

impl Matrix {
    /// The op: almost no work, so that the cost of the tracer dominates.
    #[inline]
    pub fn times(&self, other: &Matrix) -> Matrix {
        Matrix {
            dims: [self.dims[0], other.dims[1]],
        }
    }
}

impl TensorLike for Matrix {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(&self.dims, DType::F32, Device::Cpu);
    }
}

/// A tracer, or the absence of one.
pub trait Subject: Sync {
    fn name(&self) -> &'static str;

    /// Records while `work` runs and discards the recording. Returns once every thread of the tracer is
    /// idle.
    fn collect(&self, work: &mut dyn FnMut()) {
        work();
    }

    /// Times `calls` calls that are recorded with their name and times.
    fn bare(&self, calls: usize) -> Option<Duration>;

    /// The same, with the shapes of two inputs and an output.
    fn with_shapes(&self, _calls: usize) -> Option<Duration> {
        None
    }

    /// The same code, while nothing records.
    fn off(&self, _calls: usize) -> Option<Duration> {
        None
    }
}

/// A measurement of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Bare,
    WithShapes,
    Off,
}

impl Column {
    pub const ALL: [Column; 3] = [Column::Bare, Column::WithShapes, Column::Off];

    pub fn name(self) -> &'static str {
        match self {
            Column::Bare => "bare",
            Column::WithShapes => "shapes",
            Column::Off => "off",
        }
    }

    /// `None` if the subject cannot do it.
    pub fn measure(self, subject: &dyn Subject, calls: usize) -> Option<Duration> {
        if self == Column::Off {
            return subject.off(calls);
        }
        let mut taken = None;
        subject.collect(&mut || {
            taken = match self {
                Column::WithShapes => subject.with_shapes(calls),
                _ => subject.bare(calls),
            };
        });
        taken
    }
}

/// Calls before the measurement, to fill the caches after the previous subject.
const WARM_UP: usize = 512;

/// Times `calls` calls of `op`.
#[inline(always)]
pub fn timed(calls: usize, mut op: impl FnMut(&Matrix, &Matrix) -> Matrix) -> Duration {
    // Outside the loop below, where callgrind would count costs that only the first call has.
    warm_up(&mut op);
    let start = Instant::now();
    repeat(calls, &mut op);
    start.elapsed()
}

#[inline(never)]
fn warm_up(op: &mut impl FnMut(&Matrix, &Matrix) -> Matrix) {
    for _ in 0..WARM_UP {
        call(op);
    }
}

/// Reads one word of the result. Reading both at once would wait for the stores of both, in subjects that
/// the compiler does not inline.
#[inline(always)]
fn call(op: &mut impl FnMut(&Matrix, &Matrix) -> Matrix) {
    black_box(op(black_box(&A), black_box(&B)).dims[0]);
}

/// The loop that is timed. `scripts/peers.sh` makes callgrind count its instructions, by its name.
#[inline(never)]
fn repeat(calls: usize, op: &mut impl FnMut(&Matrix, &Matrix) -> Matrix) {
    for _ in 0..calls {
        call(op);
    }
}

const A: Matrix = Matrix { dims: [64, 32] };
const B: Matrix = Matrix { dims: [32, 8] };

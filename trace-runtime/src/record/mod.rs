//! The write side: what runs inside an instrumented program.

mod sink;

pub use sink::{TensorLike, TensorSink};

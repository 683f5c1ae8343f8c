//! The write side: what runs inside an instrumented program.

mod element;
mod sink;

pub use element::Element;
pub use sink::{TensorLike, TensorSink};

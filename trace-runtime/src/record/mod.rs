//! The write side: what runs inside an instrumented program.

mod element;
#[cfg_attr(
    not(test),
    allow(
        dead_code,
        unreachable_pub,
        reason = "expanded code calls it, and there is none yet"
    )
)]
pub(crate) mod probe;
mod sink;
mod tensors;

pub use element::Element;
pub use sink::{TensorLike, TensorSink};
#[doc(hidden)]
pub use tensors::Dims;

//! Traced MPI calls: every collective and message is an op with shapes, dtype, process group, peer, tag and sequence
//! number, so that the entries of different ranks match.
//!
//! [`Traced`] wraps a communicator. A call that does not block returns a [`TracedRequest`]. [`exchange_clocks`] reads
//! the clocks of all ranks at the same moments, so that `optrace merge` can align them to less than a microsecond. Call
//! it at the start and at the end.

mod clocks;
mod request;
mod traced;

pub use clocks::exchange_clocks;
pub use request::{TracedRequest, wait_all};
pub use traced::Traced;

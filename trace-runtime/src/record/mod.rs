//! The write side: what runs inside an instrumented program.
//!
//! A thread's [`TraceRecorder`] appends one row to its own chunk when an op ends. The [`Session`]
//! knows every thread's log and takes the chunks over when it finishes. Nothing on the way takes a
//! lock except a new shape signature, a new chunk, and the few ops with extras.

mod builder;
mod clock;
pub(crate) mod describe;
mod element;
mod handoff;
mod live_trace;
mod log;
pub(crate) mod op;
mod overhead;
pub(crate) mod probe;
mod recorder;
mod schedule;
mod session;
mod signatures;
mod sink;
mod site;
pub(crate) mod slices;
mod state;
mod target;
pub(crate) mod task;
mod tensors;

pub use builder::SessionBuilder;
pub use element::Element;
pub use handoff::{OpHandle, current_op, in_op};
pub use recorder::TraceRecorder;
pub use session::{Session, SessionError, record};
pub use sink::{TensorLike, TensorSink};
pub use state::with_recorder;
#[doc(hidden)]
pub use tensors::Dims;

//! The write side: sessions, and the recorder of one thread.
//!
//! The hot path is in `trace_core`: a thread's recorder appends one row to its own chunk when an op ends. The
//! [`Session`] knows every thread's log and takes the chunks over when it finishes.

mod builder;
mod live_trace;
mod recorder;
mod schedule;
mod session;
mod step_marks;

pub use builder::SessionBuilder;
pub use recorder::{TraceRecorder, with_recorder};
pub use session::{Session, SessionError, record};
#[doc(inline)]
pub use trace_core::__private::TensorLike;
#[doc(inline)]
pub use trace_core::{Element, OpHandle, TensorSink, current_op, in_op};

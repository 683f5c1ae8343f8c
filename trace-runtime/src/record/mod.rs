//! The write side: sessions, and the recorder of one thread.
//!
//! The hot path is in `trace_core`: a thread's recorder appends one row to its own chunk when an op ends. The
//! [`Session`] knows every thread's log and takes the chunks over when it finishes.

mod builder;
mod environment;
mod error;
mod live_trace;
mod recorder;
mod schedule;
mod session;
mod step_marks;

pub use builder::SessionBuilder;
pub use environment::EnvSession;
pub use error::{SessionError, SessionErrorKind};
pub use recorder::{TraceRecorder, with_recorder};
pub use schedule::Schedule;
pub use session::{Session, record};
#[doc(inline)]
pub use trace_core::__engine::filter::Filter;
#[doc(inline)]
pub use trace_core::__private::TensorLike;
#[doc(inline)]
pub use trace_core::{Element, OpHandle, TensorSink, current_op, in_op, label_scope};

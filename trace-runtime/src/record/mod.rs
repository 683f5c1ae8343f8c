//! Records ops: sessions, and the recorder of one thread.
//!
//! The hot path is in `trace_core`: a thread's recorder appends one row to its own chunk when an op ends. The
//! [`Session`] knows every thread's log and takes the chunks over when it finishes.

mod builder;
mod destination;
mod device_memory;
mod environment;
mod error;
mod flight;
#[cfg_attr(not(feature = "alloc"), path = "no_heap.rs")]
mod heap;
mod live_trace;
mod recorder;
mod run_facts;
mod schedule;
mod session;
mod signal_output;
mod step_marks;
#[cfg(all(unix, feature = "stream", not(loom)))]
mod stream;
#[cfg(not(all(unix, feature = "stream", not(loom))))]
#[path = "no_stream.rs"]
mod stream;

pub use builder::SessionBuilder;
pub use environment::EnvSession;
pub use error::{SessionError, SessionErrorKind};
pub use flight::KeepLast;
pub use recorder::{TraceRecorder, with_recorder};
pub use schedule::Schedule;
pub use session::{Session, record};
#[doc(inline)]
pub use trace_core::__engine::filter::Filter;
#[doc(inline)]
pub use trace_core::__private::TensorLike;
#[doc(inline)]
pub use trace_core::{Element, OpHandle, TensorSink, current_op, in_op, label_scope};

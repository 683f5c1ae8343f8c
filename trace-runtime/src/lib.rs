//! Records tensor ops with their shapes inferred, and answers where time, memory and waiting went.
//!
//! Put [`#[traced_op]`](traced_op) on the functions you have, start a [`Session`] (or [`record`](record())
//! one closure), and read the [`Report`]:
//!
//! ```
//! use trace_runtime::{record, traced_op};
//!
//! #[traced_op]
//! fn scale(x: &[f32], by: f32) -> Vec<f32> {
//!     x.iter().map(|x| x * by).collect()
//! }
//!
//! let (_, trace) = record(|| scale(&[1.0, 2.0, 3.0], 2.0));
//! # #[cfg(feature = "enabled")]
//! assert_eq!(trace.entries[0].output_shape, [3]);
//! println!("{}", trace.report());
//! ```
//!
//! | to | see |
//! |---|---|
//! | annotate functions, blocks, impls | [`traced_op`], [`op!`] |
//! | make a tensor type known whose shapes are not seen | [`TensorLike`](trait@TensorLike): one method, or [its derive](derive@TensorLike); [`tensors`] for the libraries that are |
//! | record | [`Session`], [`record`](record()), [`TraceRecorder`]; across threads [`current_op`] and [`in_op`] |
//! | hold a trace | [`RecordedExecutionTrace`], [`TraceStore`]; both are a [`TraceView`] |
//! | read one | [`RecordedExecutionTrace::read`], [`read`](mod@read) for other formats |
//! | ask | [`Report`], [`TraceAnalyzer`], [`analyze`] |
//! | open it elsewhere | [`export`] |
//!
//! # Features
//!
//! `enabled` (default) makes the attribute record; without it functions are left as written. `ndarray`,
//! `candle`, `burn`, `nalgebra`, `faer`, `half` and `num-complex` make those libraries' tensors known. The
//! features of [`export`] add formats that need a library of their own.

pub mod analyze;
mod csv_text;
pub mod export;
pub mod model;
mod printable;
pub mod read;
pub mod record;
pub mod report;
mod units;

pub use analyze::{
    CommunicationBottleneck, DeviceSummary, LoadBalanceMetrics, OpSummary, TraceAnalyzer,
};
pub use model::{
    DType, Device, DeviceName, EntryView, OpKind, Outcome, RecordedExecutionTrace,
    RecordedTraceEntry, TraceError, TraceStep, TraceStore, TraceView,
};
pub use record::{
    Element, EnvSession, OpHandle, Schedule, Session, SessionBuilder, SessionError,
    SessionErrorKind, TensorLike, TensorSink, TraceRecorder, current_op, in_op, label_scope,
    record, with_recorder,
};
pub use report::Report;
#[doc(inline)]
pub use trace_core::{op, tensors};
#[doc = include_str!("derive.md")]
pub use trace_macros::TensorLike;
#[doc = include_str!("traced_op.md")]
pub use trace_macros::traced_op;

#[doc(hidden)]
pub use trace_core::__private;

/// Compiles the code in the README.
#[cfg(all(doctest, feature = "enabled"))]
#[doc = include_str!("../README.md")]
pub struct Readme;

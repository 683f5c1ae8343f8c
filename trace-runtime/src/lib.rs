//! A tracer for tensor code: records ops with the shapes of their tensors, and reports where time, memory and
//! waiting went.
//!
//! Put [`#[traced_op]`](traced_op) on your functions, start a [`Session`] (or [`record`](record()) one closure),
//! and print the [`Report`]:
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
//! | to | use |
//! |---|---|
//! | record functions, methods, whole `impl` blocks | [`traced_op`] |
//! | record a block, or a call into code that you cannot annotate | [`op!`] |
//! | record tensors of ndarray, candle, burn, nalgebra or faer | a feature: see [`tensors`] |
//! | record your own tensor type | [`TensorLike`](trait@TensorLike), or [its derive](derive@TensorLike) for a struct that holds tensors |
//! | distinguish the instances of an op, such as the layers of a model | the option `label`, or [`label_scope`] |
//! | attribute work on another thread to an op | [`current_op`] and [`in_op`] |
//! | record heap memory by op | `TracedAlloc`, with the feature `alloc` |
//! | report device memory, from a tensor library | [`memory`] |
//! | record only some ops or some steps | [`Filter`], [`Schedule`] |
//! | keep the last ops of a program that always records | [`KeepLast`] |
//! | read a trace from a file | [`read`](mod@read) |
//! | see where time went | [`Report`]: `trace.report()` |
//! | compute figures yourself | [`analyze`] |
//! | write files for Perfetto, Chrome, speedscope, … | [`export`] |
//!
//! # Which one
//!
//! **To record:** [`record`](record()) for one closure on one thread, in tests and experiments. [`Session`] for all
//! threads of a program, with a memory limit, sampling and schedules. [`Session::from_env`] for a program that is
//! traced only if the environment variable `OPTRACE` is set. [`TraceRecorder`] for ops that are not function calls:
//! you begin and end each yourself.
//!
//! **To hold a trace:** [`RecordedExecutionTrace`] has public fields, to build and inspect entries one by one.
//! [`TraceStore`] holds the same in 24 to 28 bytes per entry, for large traces; readers and [`Session::finish_store`]
//! return it. Functions that read a trace take either, as a [`TraceView`].
//!
//! **For figures by op:** [`TraceAnalyzer::operation_summary`] returns a map from names to [`OpSummary`] (count, time,
//! memory). [`analyze::by_op`] returns rows with self time, percentiles and FLOP/s; [`analyze::by_shape`] the same for
//! each op and its input shapes.
//!
//! # Features
//!
//! `enabled` (default) makes the attribute record; without it functions are compiled as written. `ndarray`,
//! `ndarray-0_16`, `candle`, `burn`, `nalgebra`, `faer`, `half` and `num-complex` support those libraries: [`tensors`]
//! has the versions. `flamegraph`, `gzip`, `html` and `parquet` add formats to [`export`]. `stream` (default) records
//! into mapped files, on Unix. `alloc` adds `TracedAlloc`, an allocator that charges heap memory to ops.
//!
//! A library that is only annotated depends on `trace-core` instead, which has the attribute and the traits.

pub mod analyze;
mod csv_text;
pub mod export;
pub mod model;
mod printable;
pub mod read;
pub mod record;
pub mod report;
mod units;

#[doc(inline)]
pub use analyze::{
    CommunicationBottleneck, DeviceSummary, LoadBalanceMetrics, OpSummary, TraceAnalyzer,
};
#[doc(inline)]
pub use model::{
    DType, Device, DeviceName, EntryView, OpKind, Outcome, RecordedExecutionTrace,
    RecordedTraceEntry, TraceError, TraceErrorKind, TraceStep, TraceStore, TraceView,
};
#[doc(inline)]
pub use record::{
    Element, EnvSession, Filter, KeepLast, OpHandle, Schedule, Session, SessionBuilder,
    SessionError, SessionErrorKind, TensorLike, TensorSink, TraceRecorder, current_op, in_op,
    label_scope, record, with_recorder,
};
#[doc(inline)]
pub use report::Report;
#[cfg(feature = "alloc")]
#[doc(inline)]
pub use trace_core::TracedAlloc;
#[doc(inline)]
pub use trace_core::{memory, op, tensors};
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

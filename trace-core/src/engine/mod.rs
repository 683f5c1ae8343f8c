//! The recorder: the part that runs inside an instrumented program.
//!
//! A thread's [`Recorder`](recorder::Recorder) appends one row to its own chunk when an op ends. A session of
//! trace-runtime knows every thread's log and takes the chunks over when it finishes. Nothing on the way takes a
//! lock except a new shape signature, a new chunk, and the few ops with extras.

#![allow(
    missing_docs,
    clippy::len_without_is_empty,
    clippy::missing_panics_doc,
    clippy::return_self_not_must_use,
    reason = "the public items are for trace-runtime alone"
)]

pub mod block;
pub mod chunk;
pub mod clock;
pub mod extra_words;
pub mod failures;
pub mod filter;
pub(crate) mod handoff;
#[cfg(feature = "alloc")]
pub mod heap;
pub mod interner;
mod label_scope;
pub(crate) mod labels;
mod local;
pub mod log;
#[cfg(all(test, loom))]
mod loom_tests;
pub mod memory;
pub(crate) mod op;
mod open_slot;
pub mod overhead;
pub mod recorder;
pub mod rows;
pub mod signature;
pub mod signatures;
pub(crate) mod sink;
mod site;
pub mod state;
pub mod storage;
mod target;
pub(crate) mod task;
pub mod ticks;

pub use handoff::{OpHandle, current_op, in_op};
pub use label_scope::label_scope;
pub use op::{Op, begin, begin_kind};
pub use sink::TensorSink;
pub use target::DEFAULT_LIMIT;
pub use task::{AsyncOp, begin_async, begin_deferred};

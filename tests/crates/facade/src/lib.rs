//! A framework that re-exports the runtime to its users.

#![forbid(unsafe_code, warnings)]

pub use trace_runtime as trace;

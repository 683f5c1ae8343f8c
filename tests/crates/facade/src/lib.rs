//! A framework that hands the runtime on to its users.

#![forbid(unsafe_code, warnings)]

pub use trace_runtime as trace;

//! The parts that writers and readers of trace files share: keys, versions, and the writer and reader of the
//! JSON format.
//!
//! A key that one side writes and another reads has its constant here, and is written as a literal
//! nowhere else.

pub(crate) mod chrome;
pub(crate) mod json;
pub mod metadata;

pub use json::SCHEMA_VERSION;

//! The library, compiled so that the attribute expands but the recorder is compiled out.

#[path = "../../library/src/lib.rs"]
pub mod library;

//! The library, compiled where the attribute expands and the recorder is compiled out.

#[path = "../../library/src/lib.rs"]
pub mod library;

//! Every diagnostic of the macros: its words and the place it points at.
//!
//! To see a changed message: `TRYBUILD=overwrite cargo test -p trace-runtime --test diagnostics`, then read
//! the diff. The test is here and its cases in `tests/ui` of the workspace: it is built with the features of
//! the package it is in.

#![cfg(feature = "enabled")]

#[test]
fn mistakes_are_reported_at_their_place() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("../tests/ui/*/*.rs");
}

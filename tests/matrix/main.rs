//! Signatures with `#[traced_op]`: each function is run, and its trace is compared as text.
//!
//! A row is a function, a call, and the expected lines: `op(inputs) -> outputs @device !outcome`,
//! indented below its parent. With the feature off the same rows compile and run, and record nothing.

#![cfg_attr(not(feature = "enabled"), allow(dead_code))]
#![allow(
    unsafe_code,
    unreachable_pub,
    unused_must_use,
    clippy::all,
    clippy::pedantic,
    reason = "the signatures are the test, whether or not one would write them so"
)]

mod asynchronous;
mod complaints;
mod control_flow;
mod future_sizes;
mod futures;
mod generics;
mod hidden_tensors;
mod impl_blocks;
mod in_place;
mod macro_made;
mod methods;
mod options;
mod parameters;
mod returns;
mod stack;
mod support;

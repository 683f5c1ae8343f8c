//! The kernels of a user with edition 2024 and every lint on.

#![forbid(unsafe_code)]
#![forbid(warnings)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
// With the feature off the function is unchanged, and could be `const`.
#![cfg_attr(not(feature = "enabled"), allow(clippy::missing_const_for_fn))]
#![deny(missing_docs, unused, unreachable_code)]

#[path = "../../kernels.rs"]
pub mod kernels;

//! The macros of trace-core and trace-runtime, which re-export and document them.
//!
//! Each macro exists twice, because expanded code names the crate that the user depends on: macros that end in `core`
//! name `::trace_core`, the others `::trace_runtime`.

mod derive;
#[cfg(test)]
mod stages;
#[cfg(feature = "enabled")]
mod traced_op;

use proc_macro::TokenStream;

/// Records every execution of a function; see `trace_runtime::traced_op`.
#[proc_macro_attribute]
#[cfg(feature = "enabled")]
pub fn traced_op(options: TokenStream, item: TokenStream) -> TokenStream {
    traced_op::expand("trace_runtime", options.into(), item.into()).into()
}

/// Records every execution of a function; see `trace_core::traced_op`.
#[proc_macro_attribute]
#[cfg(feature = "enabled")]
pub fn traced_op_core(options: TokenStream, item: TokenStream) -> TokenStream {
    traced_op::expand("trace_core", options.into(), item.into()).into()
}

/// Returns the function unchanged: recording is compiled out.
#[proc_macro_attribute]
#[cfg(not(feature = "enabled"))]
pub fn traced_op(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Returns the function unchanged: recording is compiled out.
#[proc_macro_attribute]
#[cfg(not(feature = "enabled"))]
pub fn traced_op_core(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Implements `TensorLike` for a struct or an enum that holds tensors; see `trace_runtime::TensorLike`.
#[proc_macro_derive(TensorLike, attributes(tensor_like))]
pub fn tensor_like(input: TokenStream) -> TokenStream {
    derive::expand("::trace_runtime", input)
}

/// Implements `TensorLike` for a struct or an enum that holds tensors; see `trace_core::TensorLike`.
#[proc_macro_derive(TensorLikeCore, attributes(tensor_like))]
pub fn tensor_like_core(input: TokenStream) -> TokenStream {
    derive::expand("::trace_core", input)
}

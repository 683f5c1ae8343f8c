//! The macros of trace-runtime, which re-exports and documents them.

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
    traced_op::expand(options.into(), item.into()).into()
}

/// Returns the function unchanged: recording is compiled out.
#[proc_macro_attribute]
#[cfg(not(feature = "enabled"))]
pub fn traced_op(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Implements `TensorLike` for a struct or an enum that holds tensors; see `trace_runtime::TensorLike`.
#[proc_macro_derive(TensorLike, attributes(tensor_like))]
pub fn tensor_like(input: TokenStream) -> TokenStream {
    derive::expand(input)
}

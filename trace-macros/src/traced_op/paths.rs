//! Paths in expanded code, and a test for paths in user code.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Path;

/// `::trace_runtime::__private`, or the same module below the path given by `crate = path`.
pub(crate) fn private(root: Option<&Path>) -> TokenStream {
    let span = Span::mixed_site();
    if let Some(root) = root {
        quote_spanned!(span=> #root::__private)
    } else {
        quote_spanned!(span=> ::trace_runtime::__private)
    }
}

/// Whether this is the last segment of the path. The macro cannot see what the path refers to.
pub(crate) fn ends_in(path: &Path, name: &str) -> bool {
    path.segments
        .last()
        .is_some_and(|segment| segment.ident == name)
}

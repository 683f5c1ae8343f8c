//! The names that expanded code uses, all of them below one root.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Path;

/// `::trace_runtime::__private`, or the same module below what `crate = path` says.
pub(crate) fn private(root: Option<&Path>) -> TokenStream {
    let span = Span::mixed_site();
    if let Some(root) = root {
        quote_spanned!(span=> #root::__private)
    } else {
        quote_spanned!(span=> ::trace_runtime::__private)
    }
}

/// The last segment of a path, which is all that the macro goes by.
pub(crate) fn ends_in(path: &Path, name: &str) -> bool {
    path.segments
        .last()
        .is_some_and(|segment| segment.ident == name)
}

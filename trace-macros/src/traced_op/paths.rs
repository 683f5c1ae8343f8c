//! Paths in expanded code, and a test for paths in user code.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Path;

/// The private module of the crate that expanded code names.
pub(crate) fn private(root: Option<&Path>) -> TokenStream {
    quote_spanned!(Span::mixed_site()=> #root::__private)
}

/// True if this is the last segment of the path. A macro cannot resolve paths.
pub(crate) fn ends_in(path: &Path, name: &str) -> bool {
    path.segments
        .last()
        .is_some_and(|segment| segment.ident == name)
}

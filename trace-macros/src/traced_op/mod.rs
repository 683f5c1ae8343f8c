//! `#[traced_op]`: takes an annotated function or `impl` block and returns the instrumented one.
//!
//! There are three stages. [`validate`] reads the attribute and the item and reports every mistake. [`plan`] decides
//! how each function is recorded. [`emit`] writes the plan as tokens. Only the first stage can reject user code.
//! [`signature`], [`types`], [`borrows`] and [`body`] answer questions about tokens for the first two stages.

mod body;
mod borrows;
mod emit;
mod paths;
mod plan;
mod signature;
#[cfg(test)]
mod snapshots;
mod types;
mod validate;

use plan::Plan;
use proc_macro2::TokenStream;

/// `root` is the crate that expanded code names, unless `crate = path` names another.
pub(crate) fn expand(root: &str, options: TokenStream, item: TokenStream) -> TokenStream {
    match validate::validate(root, options, item) {
        Ok(checked) => emit::item(&Plan::new(checked)),
        Err(item_and_errors) => item_and_errors,
    }
}

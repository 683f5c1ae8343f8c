//! `#[derive(TensorLike)]`: describes a struct or enum by the tensors in its fields.
//!
//! The same stages as `#[traced_op]`: [`validate`] reads the type and reports every mistake, [`plan`] decides which
//! fields are described and which bounds that needs, [`emit`] writes the impl. The impl is part of the type's API, so
//! it is also written with the feature `enabled` off. syn is not built then, so this folder parses with [`tokens`]
//! only.

mod emit;
mod plan;
mod tokens;
mod validate;

use plan::Plan;
use proc_macro::TokenStream;

/// `root` is the crate that expanded code names, unless `#[tensor_like(crate = path)]` names another.
pub(crate) fn expand(root: &str, input: TokenStream) -> TokenStream {
    match validate::validate(root, input) {
        Ok(checked) => emit::tensor_like(&Plan::new(checked)),
        Err(errors) => errors,
    }
}

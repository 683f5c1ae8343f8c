//! What is left of the item when its attribute has mistakes: the item as written, beside the errors.
//!
//! The rest of the crate goes on to see the function, so that one mistake is one error.

use super::diagnostics::Mistakes;
use super::function::{Item, Member};
use super::paths::ends_in;
use proc_macro2::TokenStream;
use quote::quote;

pub(crate) fn item_beside_errors(item: TokenStream, mistakes: Mistakes) -> TokenStream {
    let errors = mistakes.into_compile_errors();
    let item = match Item::parse(item.clone()) {
        Ok(Item::Function(mut function)) => {
            function
                .attrs
                .retain(|attr| !ends_in(attr.path(), "traced_op"));
            function.as_written()
        }
        Ok(Item::Impl(block)) => {
            // The attributes on methods belong to the block's; alone they would report again.
            let members = block.members.iter().map(|member| match member {
                Member::Method { function, .. } => function.as_written(),
                Member::Other(item) => quote!(#item),
            });
            block.around(members)
        }
        Err(_) => item,
    };
    quote!(#errors #item)
}

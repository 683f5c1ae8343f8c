//! The expansion of an attribute with mistakes: the item as written, and the errors.
//!
//! The rest of the crate can still use the function, so one mistake gives one error.

use super::item::{Item, Member};
use super::mistakes::Mistakes;
use crate::traced_op::paths::ends_in;
use proc_macro2::TokenStream;
use quote::quote;

pub(crate) fn item_with_errors(item: TokenStream, mistakes: Mistakes) -> TokenStream {
    let errors = mistakes.into_compile_errors();
    let item = match Item::parse(item.clone()) {
        Ok(Item::Function(mut function)) => {
            function
                .attrs
                .retain(|attr| !ends_in(attr.path(), "traced_op"));
            function.as_written()
        }
        Ok(Item::Impl(block)) => {
            // The options on methods belong to the block's attribute. Alone, they would be reported again.
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

//! `#[traced_op]`: an annotated function in, an instrumented one out.
//!
//! [`options`] and [`function`] read what was written, [`signature`] and [`body`] what it says; [`validate`]
//! and [`impl_block`] decide whether it makes sense; [`emit`] cannot fail. Mistakes are collected in
//! [`diagnostics`] and end in [`fallback`].

mod body;
mod diagnostics;
mod emit;
mod fallback;
mod function;
mod impl_block;
mod options;
mod paths;
mod signature;
#[cfg(test)]
mod snapshots;
mod validate;

use diagnostics::Mistakes;
use function::Item;
use options::Options;
use proc_macro2::TokenStream;
use validate::Context;

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let options = Options::parse(options, &mut mistakes);
    match Item::parse(item.clone()) {
        Ok(Item::Function(function)) => {
            let context = Context::default();
            if let Some(op) = validate::function(*function, options, &context, &mut mistakes) {
                return emit::function(&op);
            }
        }
        Ok(Item::Impl(mut block)) => {
            let members = impl_block::members(&mut block, &options, &mut mistakes);
            if mistakes.is_empty() {
                return emit::block(&block, &members);
            }
        }
        Err(error) => mistakes.take(error),
    }
    fallback::item_beside_errors(item, mistakes)
}

//! The `#[traced_op]` attribute.

#[cfg(feature = "enabled")]
mod body;
mod derive;
#[cfg(feature = "enabled")]
mod diagnostics;
#[cfg(feature = "enabled")]
mod emit;
#[cfg(feature = "enabled")]
mod fallback;
#[cfg(feature = "enabled")]
mod function;
#[cfg(feature = "enabled")]
mod impl_block;
#[cfg(feature = "enabled")]
mod options;
#[cfg(feature = "enabled")]
mod paths;
#[cfg(feature = "enabled")]
mod signature;
#[cfg(all(test, feature = "enabled"))]
mod snapshots;
#[cfg(feature = "enabled")]
mod validate;

use proc_macro::TokenStream;

/// Records a function.
#[proc_macro_attribute]
pub fn traced_op(options: TokenStream, item: TokenStream) -> TokenStream {
    #[cfg(feature = "enabled")]
    return expand(options.into(), item.into()).into();
    #[cfg(not(feature = "enabled"))]
    {
        let _ = options;
        item
    }
}

#[cfg(feature = "enabled")]
fn expand(
    options: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    use function::Item;

    let mut mistakes = diagnostics::Mistakes::default();
    let options = options::Options::parse(options, &mut mistakes);
    match Item::parse(item.clone()) {
        Ok(Item::Function(function)) => {
            let context = validate::Context::default();
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

/// derive
#[proc_macro_derive(TensorLike, attributes(tensor_like))]
pub fn tensor_like(input: TokenStream) -> TokenStream {
    derive::expand(input)
}

//! Stage 1: reads the attribute and its item, and reports every mistake at once.
//!
//! Everything that can reject user code is in this folder: [`options`] checks the form of the options, [`item`]
//! that the item can be recorded, [`function`] and [`impl_block`] that the options fit the item. What leaves this
//! stage has no mistakes.

pub(crate) mod fallback;
pub(crate) mod function;
pub(crate) mod impl_block;
pub(crate) mod item;
mod mistakes;
pub(crate) mod options;

use function::CheckedFunction;
use impl_block::CheckedImpl;
use item::Item;
use mistakes::Mistakes;
use options::Options;
use proc_macro2::TokenStream;

/// An item without mistakes in it or in its attribute.
pub(crate) enum CheckedItem {
    Function(Box<CheckedFunction>),
    Impl(CheckedImpl),
}

/// Returns the checked item, or the item as written together with an error for each mistake.
pub(crate) fn validate(
    root: &str,
    options: TokenStream,
    item: TokenStream,
) -> Result<CheckedItem, TokenStream> {
    let mut mistakes = Mistakes::default();
    let mut options = Options::parse(options, &mut mistakes);
    options.set_root(root);
    let checked = match Item::parse(item.clone()) {
        Ok(Item::Function(function)) => {
            let function = CheckedFunction::new(*function, options, None, &mut mistakes);
            CheckedItem::Function(Box::new(function))
        }
        Ok(Item::Impl(block)) => {
            CheckedItem::Impl(CheckedImpl::new(block, &options, &mut mistakes))
        }
        Err(error) => {
            mistakes.add(error);
            return Err(fallback::item_with_errors(item, mistakes));
        }
    };
    if mistakes.is_empty() {
        Ok(checked)
    } else {
        Err(fallback::item_with_errors(item, mistakes))
    }
}

//! Stage 1: reads the attribute and its item, and reports every mistake at once.
//!
//! Everything that can reject user code is in this folder: [`options`] checks the form of the options, [`item`]
//! that the item can be recorded, [`function`] and [`impl_block`] that the options fit the item. The results of this
//! stage have no mistakes.

pub(crate) mod fallback;
pub(crate) mod function;
pub(crate) mod impl_block;
pub(crate) mod item;
mod mistakes;
pub(crate) mod options;

use function::CheckedFunction;
use impl_block::CheckedImpl;
use item::{Function, Item};
use mistakes::Mistakes;
use options::{Given, Options, Skip};
use proc_macro2::TokenStream;

/// An item without mistakes in it or in its attribute.
pub(crate) enum CheckedItem {
    Function(Box<CheckedFunction>),
    /// A method that is left out of an annotated `impl`.
    Untouched(Box<Function>),
    Impl(CheckedImpl),
}

/// Returns the checked item, or the item as written together with an error for each mistake.
pub(crate) fn validate(
    root: &str,
    options: TokenStream,
    item: TokenStream,
) -> Result<CheckedItem, TokenStream> {
    let mut mistakes = Mistakes::default();
    let written = options.clone();
    let mut options = Options::parse(options, &mut mistakes);
    let checked = match Item::parse(item.clone()) {
        Ok(Item::Function(function)) => check_function(root, options, function, &mut mistakes),
        Ok(Item::Impl(block)) => {
            options.set_root(root);
            CheckedItem::Impl(CheckedImpl::new(block, written, &options, &mut mistakes))
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

fn check_function(
    root: &str,
    mut options: Options,
    mut function: Box<Function>,
    mistakes: &mut Mistakes,
) -> CheckedItem {
    // This attribute is on a method, under a name that the attribute on the `impl` did not recognise.
    if let Some(attribute) = function.take_block_attribute() {
        let given = Options::parse(attribute, mistakes);
        options.block = given.block;
        options.krate = options.krate.or(given.krate);
    }
    let mut type_name = None;
    if let Some(block) = options.block.take() {
        if let Some(Given {
            value: Skip::Method,
            ..
        }) = options.skip
        {
            return CheckedItem::Untouched(function);
        }
        let defaults = Options::parse(block.value.options, mistakes);
        options = options.over(&defaults, &function);
        type_name = block.value.type_name;
    }
    options.set_root(root);
    let function = CheckedFunction::new(*function, options, type_name, mistakes);
    CheckedItem::Function(Box::new(function))
}

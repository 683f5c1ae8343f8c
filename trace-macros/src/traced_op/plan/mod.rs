//! Stage 2: decides how each function is recorded. Nothing here can fail.

pub(crate) mod op_plan;
pub(crate) mod output;

use super::paths;
use super::validate::CheckedItem;
use super::validate::impl_block::{CheckedImpl, CheckedMember};
use super::validate::item::{Function, ImplBlock};
use super::validate::options::BLOCK;
use op_plan::OpPlan;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::ImplItem;

/// The plan for an annotated item.
pub(crate) enum Plan {
    Function(Box<OpPlan>),
    /// The function stays as written.
    Untouched(Box<Function>),
    Impl(ImplBlock, Vec<MemberPlan>),
}

/// The plan for one member of an annotated `impl`.
pub(crate) enum MemberPlan {
    Op(Box<OpPlan>),
    /// A method that is left as written.
    Function(Box<Function>),
    /// A method that gets this attribute.
    Annotated(Box<Function>, TokenStream),
    Other(Box<ImplItem>),
}

impl Plan {
    pub(crate) fn new(item: CheckedItem) -> Plan {
        match item {
            CheckedItem::Function(function) => Plan::Function(Box::new(OpPlan::new(*function))),
            CheckedItem::Untouched(function) => Plan::Untouched(function),
            CheckedItem::Impl(checked) => {
                let attribute = block_attribute(&checked);
                let members = checked.members.into_iter().map(|member| match member {
                    CheckedMember::Recorded(function) => {
                        MemberPlan::Op(Box::new(OpPlan::new(*function)))
                    }
                    CheckedMember::Untouched(function) => MemberPlan::Function(function),
                    CheckedMember::Delegated(function) => {
                        MemberPlan::Annotated(function, attribute.clone())
                    }
                    CheckedMember::Other(item) => MemberPlan::Other(item),
                });
                Plan::Impl(checked.block, members.collect())
            }
        }
    }
}

/// `#[trace_runtime::__private::traced_op(__block("Linear", kind = compute), crate = trace_runtime)]`
fn block_attribute(checked: &CheckedImpl) -> TokenStream {
    let root = &checked.root;
    let private = paths::private(root.as_deref());
    let key = Ident::new(BLOCK, Span::mixed_site());
    let type_name = checked.type_name.as_deref().unwrap_or_default();
    let options = &checked.options;
    quote_spanned! {Span::mixed_site()=>
        #[#private::traced_op(#key(#type_name, #options), crate = #root)]
    }
}

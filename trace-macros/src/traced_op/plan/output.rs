//! The outputs of an op: in its result, in parameters, or given by an option.

use crate::traced_op::body;
use crate::traced_op::signature::{Access, Binding};
use crate::traced_op::types::Search;
use crate::traced_op::validate::item::Function;
use proc_macro2::{Ident, TokenStream};
use syn::Expr;

/// The place of the op's outputs.
pub(crate) enum Output {
    /// In the result.
    Result,
    /// In the parameters that the body wrote to.
    InPlace(Vec<InPlace>),
    /// In the expressions of `output(…)`.
    Given(Vec<Expr>),
}

/// A `&mut` parameter that is read again after the body.
pub(crate) struct InPlace {
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
    pub(crate) search: Search,
    /// The body gets a reborrow under the same name, which it may move. `self` cannot be bound again.
    pub(crate) reborrow: Option<Reborrow>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reborrow {
    Plain,
    /// The parameter was declared `mut`; now the reborrow is.
    Mut,
}

impl Output {
    /// The `&mut` parameters if there are any, otherwise the result.
    pub(super) fn in_place(
        described: &[&Binding],
        function: &Function,
        may_borrow: bool,
    ) -> Output {
        let in_place: Vec<InPlace> = described
            .iter()
            .filter_map(|binding| InPlace::of(binding, function, may_borrow))
            .collect();
        if in_place.is_empty() {
            return Output::Result;
        }
        Output::InPlace(in_place)
    }

    /// The parameters that are read again after the body.
    pub(crate) fn read_again(&self) -> &[InPlace] {
        match self {
            Output::InPlace(in_place) => in_place,
            _ => &[],
        }
    }

    pub(super) fn reads_again(&self, ident: &Ident) -> bool {
        self.read_again().iter().any(|one| one.ident == *ident)
    }

    /// True if `self` is read again after the body. The body must not move it then.
    pub(super) fn reads_self(&self) -> bool {
        self.read_again().iter().any(|one| one.reborrow.is_none())
    }
}

impl InPlace {
    fn of(binding: &Binding, function: &Function, may_borrow: bool) -> Option<InPlace> {
        let reborrow = match binding.access {
            Access::InPlace if binding.is_mut => Some(Reborrow::Mut),
            Access::InPlace => Some(Reborrow::Plain),
            Access::SelfInPlace if may_borrow && body::keeps_self(&function.body) => None,
            _ => return None,
        };
        Some(InPlace {
            ident: binding.ident.clone(),
            cfgs: binding.cfgs.clone(),
            search: binding.search.clone(),
            reborrow,
        })
    }
}

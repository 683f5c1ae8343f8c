//! Questions about the tokens of a signature: what may be a tensor, and how it is passed.

use super::types::{Search, is_scalar, without_groups};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, FnArg, Pat, PatIdent, ReceiverKind, Signature, Type};

/// A name that a parameter binds. A pattern may bind several.
pub(crate) struct Binding {
    pub(crate) ident: Ident,
    /// The `#[cfg]`s of its parameter.
    pub(crate) cfgs: TokenStream,
    pub(crate) search: Search,
    /// `mut x`.
    pub(crate) is_mut: bool,
    pub(crate) access: Access,
    pub(crate) passed: Passed,
}

/// How to write a reference to a parameter. Taking the address of a parameter that is a reference would force it out of
/// its register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// `x: &T`, written `x`.
    Shared,
    /// `x: &mut T`, written `&*x`.
    Mut,
    /// Anything else, written `&x`.
    Value,
}

/// The access that the body has to a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Write to it: `x: &mut T` without a named lifetime, so the tensor can be read again after the body.
    InPlace,
    /// Write to `&mut self`, whose name cannot be bound again.
    SelfInPlace,
    /// Read it: `x: &T`, or a number.
    Shared,
    /// Move it.
    Other,
}

pub(crate) fn bindings(sig: &Signature) -> Vec<Binding> {
    let mut found = Vec::new();
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                let access = match &receiver.kind {
                    ReceiverKind::Reference(_, None, Some(_)) => Access::SelfInPlace,
                    ReceiverKind::Reference(_, _, None) => Access::Shared,
                    _ => Access::Other,
                };
                found.push(Binding {
                    ident: Ident::new("self", receiver.self_token.span),
                    cfgs: cfgs(&receiver.attrs),
                    search: Search::Whole,
                    is_mut: false,
                    access,
                    passed: match &receiver.kind {
                        ReceiverKind::Reference(_, _, None) => Passed::Shared,
                        ReceiverKind::Reference(_, _, Some(_)) => Passed::Mut,
                        _ => Passed::Value,
                    },
                });
            }
            FnArg::Typed(typed) => {
                let cfgs = cfgs(&typed.attrs);
                bound_by(&typed.pat, &mut |bound| {
                    let is_whole =
                        matches!(&*typed.pat, Pat::Ident(whole) if std::ptr::eq(whole, bound));
                    found.push(Binding {
                        ident: bound.ident.clone(),
                        cfgs: cfgs.clone(),
                        search: match Search::of(&typed.ty) {
                            // The pattern has already divided the tuple or result.
                            Search::Tuple(_) | Search::Success(_) if !is_whole => Search::Whole,
                            search => search,
                        },
                        is_mut: bound.mutability.is_some() && bound.by_ref.is_none(),
                        access: if is_whole {
                            access(bound, &typed.ty)
                        } else {
                            Access::Other
                        },
                        passed: if is_whole {
                            passed(bound, &typed.ty)
                        } else {
                            Passed::Value
                        },
                    });
                });
            }
        }
    }
    found
}

/// True if the function is certainly in an `impl` or a trait: its signature contains `self` or `Self`.
pub(crate) fn is_method(sig: &Signature) -> bool {
    let is_self_type =
        |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "Self");
    sig.receiver().is_some()
        || any_token(sig.inputs.to_token_stream(), &is_self_type)
        || any_token(sig.output.to_token_stream(), &is_self_type)
}

fn cfgs(attrs: &[Attribute]) -> TokenStream {
    let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    quote!(#(#cfgs)*)
}

fn access(bound: &PatIdent, ty: &Type) -> Access {
    match without_groups(ty) {
        _ if bound.by_ref.is_some() || bound.subpat.is_some() => Access::Other,
        Type::Reference(reference) if reference.mutability.is_none() => Access::Shared,
        Type::Reference(reference) if reference.lifetime.is_none() => Access::InPlace,
        ty if is_scalar(ty) => Access::Shared,
        _ => Access::Other,
    }
}

fn passed(bound: &PatIdent, ty: &Type) -> Passed {
    match without_groups(ty) {
        Type::Reference(reference) if bound.by_ref.is_none() && bound.subpat.is_none() => {
            match reference.mutability {
                None => Passed::Shared,
                Some(_) => Passed::Mut,
            }
        }
        _ => Passed::Value,
    }
}

/// Visits the names in a pattern. For `whole @ (a, b)` only `whole`, which contains the others.
fn bound_by(pat: &Pat, found: &mut impl FnMut(&PatIdent)) {
    match pat {
        Pat::Ident(bound) => found(bound),
        Pat::Paren(paren) => bound_by(&paren.pat, found),
        Pat::Reference(reference) => bound_by(&reference.pat, found),
        Pat::Type(typed) => bound_by(&typed.pat, found),
        Pat::Tuple(tuple) => tuple.elems.iter().for_each(|pat| bound_by(pat, found)),
        Pat::TupleStruct(tuple) => tuple.elems.iter().for_each(|pat| bound_by(pat, found)),
        Pat::Slice(slice) => slice.elems.iter().for_each(|pat| bound_by(pat, found)),
        Pat::Struct(fields) => fields
            .fields
            .iter()
            .for_each(|field| bound_by(&field.pat, found)),
        // The cases of `A(x) | B(x)` bind the same names.
        Pat::Or(or) => or.cases.iter().take(1).for_each(|pat| bound_by(pat, found)),
        _ => {}
    }
}

/// Removes the `mut` from these names, which are bound again in the body.
pub(crate) fn without_mut(sig: &mut Signature, names: &[&Ident]) {
    for input in &mut sig.inputs {
        if let FnArg::Typed(typed) = input {
            pattern_without_mut(&mut typed.pat, names);
        }
    }
}

fn pattern_without_mut(pat: &mut Pat, names: &[&Ident]) {
    let each = |pat: &mut Pat| pattern_without_mut(pat, names);
    match pat {
        Pat::Ident(bound) if bound.by_ref.is_none() && names.contains(&&bound.ident) => {
            bound.mutability = None;
        }
        Pat::Paren(paren) => each(&mut paren.pat),
        Pat::Reference(reference) => each(&mut reference.pat),
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(each),
        Pat::TupleStruct(tuple) => tuple.elems.iter_mut().for_each(each),
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(each),
        Pat::Struct(fields) => fields
            .fields
            .iter_mut()
            .for_each(|field| each(&mut field.pat)),
        _ => {}
    }
}

/// True if the tokens, or the groups in them, contain such a token.
pub(crate) fn any_token(tokens: TokenStream, wanted: &impl Fn(&TokenTree) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => any_token(group.stream(), wanted),
        token => wanted(&token),
    })
}

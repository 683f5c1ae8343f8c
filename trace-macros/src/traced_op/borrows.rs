//! Decides whether the error of a `Result` may contain a borrow of a parameter.
//! A type may have a lifetime that is not written: `Result<(), ParseError>` for `ParseError<'_>`. The macro cannot see
//! it, and reading a parameter that the result borrows is a compile error. So a type is assumed to contain no borrow
//! only if the rules of elision exclude one, or if its name looks like that of an error without lifetimes. For other
//! types the outputs of an in-place op are not recorded.

use super::paths::ends_in;
use super::signature::any_token;
use super::types::{is_scalar, type_arguments, without_groups};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{FnArg, GenericParam, Path, ReceiverKind, Signature, Type};

pub(super) fn may_borrow(error: &Type, sig: &Signature) -> bool {
    has_written_lifetime(error) || can_elide(sig) && !is_known(error, sig)
}

fn has_written_lifetime(ty: &Type) -> bool {
    any_token(ty.to_token_stream(), &|token| match token {
        TokenTree::Punct(punct) => matches!(punct.as_char(), '\'' | '&'),
        TokenTree::Ident(ident) => ident == "impl",
        _ => false,
    })
}

/// True if a lifetime that is not written in the result would be that of a `&mut` parameter.
fn can_elide(sig: &Signature) -> bool {
    match sig.inputs.first() {
        Some(FnArg::Receiver(receiver)) => {
            // The lifetime would be that of `self`, so only `&mut self` matters.
            !matches!(&receiver.kind, ReceiverKind::Reference(_, _, None))
        }
        // If there are two candidates, the compiler requires a written lifetime.
        _ => elided_references(sig.inputs.to_token_stream()) == 1,
    }
}

/// The number of `&` without a lifetime.
fn elided_references(tokens: TokenStream) -> usize {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_punct = |token: Option<&TokenTree>, wanted| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted);
    let mut found = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => found += elided_references(group.stream()),
            token if is_punct(Some(token), '&') && !is_punct(tokens.get(at + 1), '\'') => {
                found += 1;
            }
            _ => {}
        }
    }
    found
}

/// Suffixes in the names of errors that own their data.
const KNOWN: [&str; 6] = ["Error", "Err", "Failure", "Infallible", "Report", "Status"];

fn is_known(ty: &Type, sig: &Signature) -> bool {
    match without_groups(ty) {
        ty if is_scalar(ty) => true,
        Type::Tuple(tuple) => tuple.elems.iter().all(|ty| is_known(ty, sig)),
        // In a box, a trait object without a lifetime is `'static`.
        Type::Path(path) if ends_in(&path.path, "Box") => type_arguments(&path.path)
            .all(|ty| matches!(ty, Type::TraitObject(_)) || is_known(ty, sig)),
        Type::Path(path) => {
            let named = path.path.segments.last().is_some_and(|last| {
                let name = last.ident.to_string();
                KNOWN.iter().any(|end| name.ends_with(end))
            });
            (named || is_parameter(&path.path, sig))
                && type_arguments(&path.path).all(|ty| is_known(ty, sig))
        }
        _ => false,
    }
}

/// True for a type parameter of the function, which has no lifetime that could be elided.
fn is_parameter(path: &Path, sig: &Signature) -> bool {
    sig.generics.params.iter().any(|param| match param {
        GenericParam::Type(param) => path.is_ident(&param.ident),
        _ => false,
    })
}

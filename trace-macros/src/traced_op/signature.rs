//! Questions about the tokens of a signature: what may be a tensor, and how it is passed.

use super::paths::ends_in;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, FnArg, GenericArgument, Pat, PatIdent, Path, PathArguments, ReceiverKind,
    ReturnType, Signature, Token, Type, TypeParamBound,
};

/// A name that a parameter binds. A pattern may bind several.
pub(crate) struct Binding {
    pub(crate) ident: Ident,
    /// The `#[cfg]`s of its parameter.
    pub(crate) cfgs: TokenStream,
    /// Whether a value of its type could be a tensor.
    pub(crate) may_hold_tensors: bool,
    /// `mut x`.
    pub(crate) is_mut: bool,
    pub(crate) access: Access,
    pub(crate) passed: Passed,
}

/// How to write a reference to a parameter. Taking the address of a reference would force it out of its register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// `x: &T`, written `x`.
    Shared,
    /// `x: &mut T`, written `&*x`.
    Mut,
    /// Anything else, written `&x`.
    Value,
}

/// What the body can do with a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Write to it: `x: &mut T` without a named lifetime, so the tensor can be read again after the body.
    InPlace,
    /// The same for `&mut self`, whose name cannot be bound again.
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
                    may_hold_tensors: true,
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
                let may_hold_tensors = !is_scalar(&typed.ty);
                let cfgs = cfgs(&typed.attrs);
                bound_by(&typed.pat, &mut |bound| {
                    let is_whole =
                        matches!(&*typed.pat, Pat::Ident(whole) if std::ptr::eq(whole, bound));
                    found.push(Binding {
                        ident: bound.ident.clone(),
                        cfgs: cfgs.clone(),
                        may_hold_tensors,
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

/// Whether the function is certainly in an `impl` or a trait: its signature contains `self` or `Self`.
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

/// Visits the names in a pattern. Of `whole @ (a, b)` only `whole`, which contains the others.
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

/// The return type, as the code around the body needs it.
pub(crate) enum Returns {
    /// Nothing: `()`.
    Unit,
    /// `!`: the function does not return.
    Never,
    /// A type that can be written in a `let`.
    Typed(TokenStream),
    /// A type that contains `impl Trait`, with `_` in its place.
    Opaque(TokenStream),
    /// The same for a closure. The compiler infers the closure's parameters from the return type only if the body is the
    /// last expression of the function.
    OpaqueFn(TokenStream),
    /// `impl Future`: the op ends when the future does.
    Future,
    /// `Pin<Box<dyn Future>>`: the same.
    BoxedFuture(TokenStream),
}

pub(crate) fn returns(sig: &Signature) -> Returns {
    let ReturnType::Type(_, ty) = &sig.output else {
        return Returns::Unit;
    };
    let ty = without_groups(ty);
    match ty {
        Type::Tuple(tuple) if tuple.elems.is_empty() => Returns::Unit,
        Type::Never(_) => Returns::Never,
        Type::ImplTrait(opaque) if sig.asyncness.is_none() && is_plain_future(&opaque.bounds) => {
            Returns::Future
        }
        Type::Path(path) if sig.asyncness.is_none() && is_boxed_future(&path.path) => {
            Returns::BoxedFuture(quote!(#ty))
        }
        _ if mentions(ty, &["impl"]) && mentions(ty, &["Fn", "FnMut", "FnOnce"]) => {
            Returns::OpaqueFn(inferred(ty))
        }
        _ if mentions(ty, &["impl"]) => Returns::Opaque(inferred(ty)),
        _ => Returns::Typed(quote!(#ty)),
    }
}

/// What the result of a function can be, judging by its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// A value that is neither a tensor nor a failure: `()`, `f32`.
    Scalar,
    /// A scalar or a failure: `Result<(), E>`.
    FallibleScalar,
    Anything,
}

impl ResultKind {
    /// Whether the result certainly contains no borrow of a parameter.
    pub(crate) fn holds_no_borrow(self) -> bool {
        self != ResultKind::Anything
    }
}

pub(crate) fn result_kind(sig: &Signature) -> ResultKind {
    match &sig.output {
        ReturnType::Default => ResultKind::Scalar,
        ReturnType::Type(_, ty) => kind_of(ty),
    }
}

fn kind_of(ty: &Type) -> ResultKind {
    match without_groups(ty) {
        Type::Tuple(tuple) if tuple.elems.is_empty() => ResultKind::Scalar,
        Type::Path(path) if ends_in(&path.path, "Result") || ends_in(&path.path, "Option") => {
            let mut arguments = type_arguments(&path.path);
            let scalar = arguments
                .next()
                .is_none_or(|ty| kind_of(ty) == ResultKind::Scalar);
            if scalar && arguments.all(is_free_of_lifetimes) {
                ResultKind::FallibleScalar
            } else {
                ResultKind::Anything
            }
        }
        ty @ Type::Path(_) if is_scalar(ty) => ResultKind::Scalar,
        _ => ResultKind::Anything,
    }
}

fn type_arguments(path: &Path) -> impl Iterator<Item = &Type> {
    let arguments = match path.segments.last().map(|segment| &segment.arguments) {
        Some(PathArguments::AngleBracketed(arguments)) => Some(&arguments.args),
        _ => None,
    };
    arguments
        .into_iter()
        .flatten()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
}

const SCALARS: [&str; 19] = [
    "f32", "f64", "bool", "usize", "isize", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32",
    "i64", "i128", "char", "str", "String", "Duration",
];

/// Types that are never tensors, so they are not searched.
fn is_scalar(ty: &Type) -> bool {
    match without_groups(ty) {
        Type::Path(path) => path
            .path
            .get_ident()
            .is_some_and(|ident| SCALARS.iter().any(|scalar| ident == scalar)),
        Type::Reference(reference) => is_scalar(&reference.elem),
        _ => false,
    }
}

fn is_free_of_lifetimes(ty: &Type) -> bool {
    !any_token(ty.to_token_stream(), &|token| match token {
        TokenTree::Punct(punct) => matches!(punct.as_char(), '\'' | '&'),
        TokenTree::Ident(ident) => ident == "impl",
        _ => false,
    })
}

fn mentions(ty: &Type, words: &[&str]) -> bool {
    any_token(
        ty.to_token_stream(),
        &|token| matches!(token, TokenTree::Ident(ident) if words.iter().any(|word| ident == word)),
    )
}

/// Whether the tokens, or the groups in them, contain such a token.
pub(crate) fn any_token(tokens: TokenStream, wanted: &impl Fn(&TokenTree) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => any_token(group.stream(), wanted),
        token => wanted(&token),
    })
}

/// The type with `_` for every `impl Trait`.
fn inferred(ty: &Type) -> TokenStream {
    if !mentions(ty, &["impl"]) {
        return quote!(#ty);
    }
    match ty {
        Type::Group(group) => inferred(&group.elem),
        Type::Paren(paren) => inferred(&paren.elem),
        Type::Tuple(tuple) => {
            let elems = tuple.elems.iter().map(inferred);
            quote!((#(#elems,)*))
        }
        Type::Reference(reference) => {
            let mutability = &reference.mutability;
            let lifetime = &reference.lifetime;
            let elem = inferred(&reference.elem);
            quote!(& #lifetime #mutability #elem)
        }
        Type::Array(array) => {
            let elem = inferred(&array.elem);
            let len = &array.len;
            quote!([#elem; #len])
        }
        Type::Path(path) if path.qself.is_none() => {
            let leading = &path.path.leading_colon;
            let segments = path.path.segments.iter().map(|segment| {
                let ident = &segment.ident;
                let PathArguments::AngleBracketed(angle) = &segment.arguments else {
                    return quote!(#segment);
                };
                let arguments = angle.args.iter().map(|argument| match argument {
                    GenericArgument::Type(ty) => inferred(ty),
                    other => quote!(#other),
                });
                quote!(#ident<#(#arguments),*>)
            });
            quote!(#leading #(#segments)::*)
        }
        _ => quote!(_),
    }
}

/// `impl Future<Output = T> + Send + 'a`. The future that is returned instead may not satisfy other bounds, such as
/// `Unpin`; such a function is recorded as an ordinary one.
fn is_plain_future(bounds: &syn::punctuated::Punctuated<TypeParamBound, Token![+]>) -> bool {
    let mut is_future = false;
    bounds.iter().all(|bound| match bound {
        TypeParamBound::Trait(bound) if ends_in(&bound.path, "Future") => {
            is_future = true;
            true
        }
        TypeParamBound::Trait(bound) => bound.path.is_ident("Send"),
        TypeParamBound::Lifetime(_) | TypeParamBound::PreciseCapture(_) => true,
        _ => false,
    }) && is_future
}

fn is_boxed_future(path: &Path) -> bool {
    if ends_in(path, "BoxFuture") || ends_in(path, "LocalBoxFuture") {
        return true;
    }
    ends_in(path, "Pin")
        && type_arguments(path).any(|boxed| {
            matches!(without_groups(boxed), Type::Path(boxed)
                if ends_in(&boxed.path, "Box")
                    && type_arguments(&boxed.path).any(is_future_object))
        })
}

fn is_future_object(ty: &Type) -> bool {
    match without_groups(ty) {
        Type::TraitObject(object) => is_plain_future(&object.bounds),
        _ => false,
    }
}

fn without_groups(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => without_groups(&group.elem),
        Type::Paren(paren) => without_groups(&paren.elem),
        ty => ty,
    }
}

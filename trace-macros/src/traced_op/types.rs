//! Questions about the tokens of a type: what may be a tensor, a failure, a future or a borrow.

use super::borrows::may_borrow;
use super::paths::ends_in;
use super::signature::any_token;
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    GenericArgument, Path, PathArguments, ReturnType, Signature, Token, Type, TypeParamBound,
};

/// The parts of a value that may be tensors, by its type.
#[derive(Clone)]
pub(crate) enum Search {
    /// Nowhere: the type is a number or a text.
    Nothing,
    /// Decided by the compiler: the whole value is probed.
    Whole,
    /// In some parts of a tuple. A tuple that contains an unknown type cannot be probed as a whole: no tensor in it
    /// would be found.
    Tuple(Vec<Search>),
    /// In the success value of a `Result` or `Option`, which contains a tuple.
    Success(Box<Search>),
}

impl Search {
    pub(crate) fn of(ty: &Type) -> Search {
        match without_groups(ty) {
            ty if is_scalar(ty) => Search::Nothing,
            Type::Reference(reference) => Search::of(&reference.elem),
            Type::Tuple(tuple) => {
                let parts: Vec<Search> = tuple.elems.iter().map(Search::of).collect();
                if parts.iter().all(|part| matches!(part, Search::Nothing)) {
                    return Search::Nothing;
                }
                Search::Tuple(parts)
            }
            Type::Path(path) if ends_in(&path.path, "Result") || ends_in(&path.path, "Option") => {
                match type_arguments(&path.path).next().map(Search::of) {
                    Some(inner @ (Search::Tuple(_) | Search::Success(_))) => {
                        Search::Success(Box::new(inner))
                    }
                    _ => Search::Whole,
                }
            }
            _ => Search::Whole,
        }
    }

    /// The parts of a function's result that may be tensors.
    pub(crate) fn of_result(sig: &Signature) -> Search {
        match &sig.output {
            ReturnType::Default => Search::Nothing,
            ReturnType::Type(_, ty) => Search::of(ty),
        }
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
    /// A type with `_` in place of `impl Fn`. The compiler infers the parameters of the closure from the return type
    /// only if the body is the last expression of the function.
    OpaqueFn(TokenStream),
    /// `impl Future`: the op ends when the future does.
    Future,
    /// `Pin<Box<dyn Future>>`: the op also ends when the future does.
    BoxedFuture(TokenStream),
    /// A type whose name suggests that it is an alias of such a box: `BoxFuture<'a, T>`, `Self::Future`.
    PerhapsBoxedFuture(TokenStream),
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
        Type::Path(path) if is_boxed_future(&path.path) => Returns::BoxedFuture(quote!(#ty)),
        Type::Path(path) if is_named_like_boxed_future(&path.path) && !mentions(ty, &["impl"]) => {
            Returns::PerhapsBoxedFuture(quote!(#ty))
        }
        _ if mentions(ty, &["impl"]) && mentions(ty, &["Fn", "FnMut", "FnOnce"]) => {
            Returns::OpaqueFn(inferred(ty))
        }
        _ if mentions(ty, &["impl"]) => Returns::Opaque(inferred(ty)),
        _ => Returns::Typed(quote!(#ty)),
    }
}

/// The possible content of a function's result, by its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// A value that is neither a tensor nor a failure: `()`, `f32`, `Option<(u32, bool)>`.
    Scalar,
    /// A scalar or a failure: `Result<(), E>`.
    FallibleScalar,
    Anything,
}

impl ResultKind {
    /// True if the result certainly contains no borrow of a parameter.
    pub(crate) fn holds_no_borrow(self) -> bool {
        self != ResultKind::Anything
    }
}

pub(crate) fn result_kind(sig: &Signature) -> ResultKind {
    match &sig.output {
        ReturnType::Default => ResultKind::Scalar,
        ReturnType::Type(_, ty) => match kind_of(ty) {
            // A `Result` without a second argument is an alias, and its error is named elsewhere.
            ResultKind::FallibleScalar
                if error_of(ty).is_some_and(|error| may_borrow(error, sig)) =>
            {
                ResultKind::Anything
            }
            kind => kind,
        },
    }
}

pub(crate) fn returns_option(sig: &Signature) -> bool {
    match &sig.output {
        ReturnType::Type(_, ty) => {
            matches!(without_groups(ty), Type::Path(path) if ends_in(&path.path, "Option"))
        }
        ReturnType::Default => false,
    }
}

fn kind_of(ty: &Type) -> ResultKind {
    match without_groups(ty) {
        Type::Tuple(tuple)
            if tuple
                .elems
                .iter()
                .all(|ty| kind_of(ty) == ResultKind::Scalar) =>
        {
            ResultKind::Scalar
        }
        Type::Path(path) if ends_in(&path.path, "Option") => {
            let is_scalar = type_arguments(&path.path).all(|ty| kind_of(ty) == ResultKind::Scalar);
            if is_scalar {
                ResultKind::Scalar
            } else {
                ResultKind::Anything
            }
        }
        Type::Path(path) if ends_in(&path.path, "Result") => {
            let is_scalar = type_arguments(&path.path)
                .next()
                .is_none_or(|ty| kind_of(ty) == ResultKind::Scalar);
            if is_scalar {
                ResultKind::FallibleScalar
            } else {
                ResultKind::Anything
            }
        }
        ty @ Type::Path(_) if is_scalar(ty) => ResultKind::Scalar,
        _ => ResultKind::Anything,
    }
}

/// `E` of `Result<T, E>`.
fn error_of(ty: &Type) -> Option<&Type> {
    match without_groups(ty) {
        Type::Path(path) => type_arguments(&path.path).nth(1),
        _ => None,
    }
}

pub(super) fn type_arguments(path: &Path) -> impl Iterator<Item = &Type> {
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
pub(crate) fn is_scalar(ty: &Type) -> bool {
    match without_groups(ty) {
        Type::Path(path) => path
            .path
            .get_ident()
            .is_some_and(|ident| SCALARS.iter().any(|scalar| ident == scalar)),
        Type::Reference(reference) => is_scalar(&reference.elem),
        _ => false,
    }
}

fn mentions(ty: &Type, words: &[&str]) -> bool {
    any_token(
        ty.to_token_stream(),
        &|token| matches!(token, TokenTree::Ident(ident) if words.iter().any(|word| ident == word)),
    )
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

/// True for `impl Future<Output = T> + Send + 'a`. The future that is returned instead has the same auto traits, but no
/// other traits, so a function with another bound is recorded as an ordinary one.
fn is_plain_future(bounds: &syn::punctuated::Punctuated<TypeParamBound, Token![+]>) -> bool {
    let mut is_future = false;
    bounds.iter().all(|bound| match bound {
        TypeParamBound::Trait(bound) if ends_in(&bound.path, "Future") => {
            is_future = true;
            true
        }
        TypeParamBound::Trait(bound) => ["Send", "Sync", "Unpin"]
            .iter()
            .any(|auto| ends_in(&bound.path, auto)),
        TypeParamBound::Lifetime(_) | TypeParamBound::PreciseCapture(_) => true,
        _ => false,
    }) && is_future
}

fn is_boxed_future(path: &Path) -> bool {
    ends_in(path, "Pin")
        && type_arguments(path).any(|boxed| {
            matches!(without_groups(boxed), Type::Path(boxed)
                if ends_in(&boxed.path, "Box")
                    && type_arguments(&boxed.path).any(is_future_object))
        })
}

/// True if the name looks like that of a boxed future. This is only a guess, so that expanded code checks the types of
/// few functions.
fn is_named_like_boxed_future(path: &Path) -> bool {
    path.segments.last().is_some_and(|segment| {
        let name = segment.ident.to_string();
        name.contains("Fut") || name.contains("Box") && name != "Box"
    })
}

fn is_future_object(ty: &Type) -> bool {
    match without_groups(ty) {
        Type::TraitObject(object) => is_plain_future(&object.bounds),
        _ => false,
    }
}

pub(crate) fn without_groups(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => without_groups(&group.elem),
        Type::Paren(paren) => without_groups(&paren.elem),
        ty => ty,
    }
}

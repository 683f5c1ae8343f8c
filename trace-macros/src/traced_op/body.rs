//! Questions about the tokens of a body, answered without parsing them.

use super::signature::any_token;
use super::validate::item::{Function, outer};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::Attribute;
use syn::parse::{ParseStream, Parser};

/// Moves `#![attributes]` at the top of the body to the function, where they have the same meaning.
pub(crate) fn lift_inner_attributes(function: &mut Function) {
    let mut tokens = function.body.stream().into_iter();
    let (Some(TokenTree::Punct(pound)), Some(TokenTree::Punct(bang))) =
        (tokens.next(), tokens.next())
    else {
        return;
    };
    if pound.as_char() != '#' || bang.as_char() != '!' {
        return;
    }
    let parser = |input: ParseStream<'_>| {
        let attrs = input.call(Attribute::parse_inner)?;
        let rest: TokenStream = input.parse()?;
        Ok((attrs, rest))
    };
    // Attributes that do not parse stay in the body, and the compiler reports them.
    if let Ok((attrs, rest)) = parser.parse2(function.body.stream()) {
        function.attrs.extend(attrs.into_iter().map(outer));
        let mut body = Group::new(Delimiter::Brace, rest);
        body.set_span(function.body.span());
        function.body = body;
    }
}

/// True if the body contains a `return`, including one inside a closure.
pub(crate) fn has_return(body: &Group) -> bool {
    any_token(
        body.stream(),
        &|token| matches!(token, TokenTree::Ident(ident) if ident == "return"),
    )
}

/// True if the body contains a `?`.
pub(crate) fn has_question_mark(body: &Group) -> bool {
    any_token(
        body.stream(),
        &|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '?'),
    )
}

/// True if the last expression of the body is a closure.
pub(crate) fn ends_in_closure(body: &Group) -> bool {
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let is_semicolon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
    let start = tokens.iter().rposition(is_semicolon).map_or(0, |at| at + 1);
    tokens[start..].iter().any(|token| match token {
        TokenTree::Punct(punct) => punct.as_char() == '|',
        _ => false,
    })
}

/// Methods that take an iterator by value. If `&mut self` is an iterator, calling them on it moves it.
const CONSUMING: [&str; 24] = [
    "into_iter",
    "map",
    "filter",
    "filter_map",
    "flat_map",
    "zip",
    "chain",
    "take",
    "skip",
    "step_by",
    "enumerate",
    "rev",
    "fold",
    "collect",
    "sum",
    "product",
    "for_each",
    "inspect",
    "peekable",
    "scan",
    "count",
    "last",
    "bytes",
    "chars",
];

/// True if `&mut self` is certainly not moved by the body: every `self` is followed by a field or by a method that
/// borrows it, and no closure is `move`.
pub(crate) fn keeps_self(body: &Group) -> bool {
    keeps_self_in(body.stream())
}

fn keeps_self_in(tokens: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.iter().enumerate().all(|(at, token)| match token {
        TokenTree::Group(group) => keeps_self_in(group.stream()),
        TokenTree::Ident(ident) if ident == "move" => false,
        TokenTree::Ident(ident) if ident == "self" => {
            let dot =
                matches!(tokens.get(at + 1), Some(TokenTree::Punct(dot)) if dot.as_char() == '.');
            let consumed = matches!(tokens.get(at + 2), Some(TokenTree::Ident(method))
                if CONSUMING.iter().any(|name| method == name));
            dot && !consumed
        }
        _ => true,
    })
}

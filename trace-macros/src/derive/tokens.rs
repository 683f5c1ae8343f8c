//! Reading and writing tokens without syn and quote.

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use std::iter::Peekable;

pub(super) type Tokens = Peekable<proc_macro::token_stream::IntoIter>;

pub(super) fn next_ident(tokens: &mut Tokens) -> Option<Ident> {
    match tokens.next()? {
        TokenTree::Ident(ident) => Some(ident),
        _ => None,
    }
}

pub(super) fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

pub(super) fn is_word(token: Option<&TokenTree>, wanted: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident.to_string() == wanted)
}

pub(super) fn skip_visibility(tokens: &mut Tokens) {
    if is_word(tokens.peek(), "pub") {
        tokens.next();
        if matches!(tokens.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
        {
            tokens.next();
        }
    }
}

/// Passes on the tokens up to a comma outside angle brackets, and skips the comma. Stops before a `>` that closes
/// brackets opened earlier.
pub(super) fn up_to_comma(tokens: &mut Tokens, mut each: impl FnMut(TokenTree)) {
    let mut depth = 0_usize;
    let mut after_dash = false;
    while let Some(token) = tokens.peek() {
        if let TokenTree::Punct(punct) = token {
            match punct.as_char() {
                ',' if depth == 0 => {
                    tokens.next();
                    return;
                }
                '<' => depth += 1,
                '>' if after_dash => {}
                '>' if depth == 0 => return,
                '>' => depth -= 1,
                _ => {}
            }
        }
        after_dash = is_punct(Some(token), '-');
        if let Some(token) = tokens.next() {
            each(token);
        }
    }
}

/// Every identifier in the tokens and in the groups in them.
pub(super) fn names(tokens: impl IntoIterator<Item = TokenTree>) -> Vec<String> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(name) => found.push(name.to_string()),
            TokenTree::Group(group) => found.extend(names(group.stream())),
            _ => {}
        }
    }
    found
}

/// Source text of this crate as tokens.
pub(super) fn text(source: &str) -> TokenStream {
    source.parse().unwrap_or_default()
}

pub(super) fn concat(parts: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    parts.into_iter().collect()
}

pub(super) fn group(delimiter: Delimiter, inside: TokenStream) -> TokenStream {
    TokenTree::from(Group::new(delimiter, inside)).into()
}

/// A name that user code cannot see.
pub(super) fn hygienic(name: &str) -> TokenStream {
    TokenTree::from(Ident::new(name, Span::mixed_site())).into()
}

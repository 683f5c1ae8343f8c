//! Stage 1: reads the type and its `#[tensor_like(…)]` options, and reports every mistake at once.

use super::tokens::{Tokens, is_punct, is_word, next_ident, skip_visibility, text, up_to_comma};
use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use std::iter::once;

/// A struct or enum without mistakes in its options.
pub(super) struct CheckedType {
    /// The crate that expanded code names.
    pub(super) root: TokenStream,
    pub(super) name: Ident,
    pub(super) params: Vec<Param>,
    /// The predicates of the `where` clause.
    pub(super) predicates: TokenStream,
    pub(super) body: Body,
}

pub(super) enum Body {
    Struct(Vec<Field>),
    Enum(Vec<(Ident, Vec<Field>)>),
}

/// A generic parameter.
pub(super) struct Param {
    /// As declared, without its default.
    pub(super) declared: TokenStream,
    /// As an argument: `'a`, `T`, `N`.
    pub(super) argument: TokenStream,
    /// The name of a type parameter.
    pub(super) type_name: Option<String>,
}

/// A field that is not skipped.
pub(super) struct Field {
    /// A name, or a number in a tuple.
    pub(super) member: TokenTree,
    pub(super) ty: Vec<TokenTree>,
}

/// Returns the checked type, or an error for each mistake.
pub(super) fn validate(root: &str, input: TokenStream) -> Result<CheckedType, TokenStream> {
    let mut mistakes = Mistakes::default();
    match CheckedType::parse(root, input, &mut mistakes) {
        Some(checked) if mistakes.0.is_empty() => Ok(checked),
        _ => Err(mistakes.0),
    }
}

impl CheckedType {
    fn parse(root: &str, input: TokenStream, mistakes: &mut Mistakes) -> Option<CheckedType> {
        let mut tokens = input.into_iter().peekable();
        let mut root = text(root);
        for option in options(&mut tokens, mistakes) {
            match option {
                Choice::Crate(_, path) => root = path,
                Choice::Skip(span) => mistakes.at(span, SKIP_IS_FOR_FIELDS),
            }
        }
        skip_visibility(&mut tokens);
        let keyword = next_ident(&mut tokens);
        let is_enum = match keyword.as_ref().map(ToString::to_string).as_deref() {
            Some("struct") => false,
            Some("enum") => true,
            _ => {
                let span = keyword.map_or_else(Span::call_site, |keyword| keyword.span());
                let message = "`TensorLike` can be derived for a struct or an enum only; implement it by hand";
                mistakes.at(span, message);
                return None;
            }
        };
        let name = next_ident(&mut tokens)?;
        let params = if is_punct(tokens.peek(), '<') {
            params(&mut tokens)
        } else {
            Vec::new()
        };
        let (predicates, group) = where_clause_and_fields(tokens);
        let body = match group {
            Some(group) if is_enum => Body::Enum(variants(group.stream(), mistakes)),
            Some(group) => Body::Struct(fields(&group, mistakes)),
            None => Body::Struct(Vec::new()),
        };
        Some(CheckedType {
            root,
            name,
            params,
            predicates,
            body,
        })
    }
}

/// Reads the rest of the type. The fields of a tuple struct come before its `where` clause, all others after it.
fn where_clause_and_fields(tokens: Tokens) -> (TokenStream, Option<Group>) {
    let mut predicates = TokenStream::new();
    let mut group = None;
    for token in tokens {
        match token {
            TokenTree::Ident(word) if word.to_string() == "where" => {}
            TokenTree::Punct(end) if end.as_char() == ';' => {}
            TokenTree::Group(fields)
                if fields.delimiter() == Delimiter::Brace
                    || fields.delimiter() == Delimiter::Parenthesis
                        && group.is_none()
                        && predicates.is_empty() =>
            {
                group = Some(fields);
            }
            token => predicates.extend(once(token)),
        }
    }
    (predicates, group)
}

/// An option of `#[tensor_like(…)]`.
enum Choice {
    Skip(Span),
    Crate(Span, TokenStream),
}

const FORMS: &str =
    "write `#[tensor_like(skip)]` on a field or `#[tensor_like(crate = path)]` on the type";
const SKIP_IS_FOR_FIELDS: &str = "`skip` leaves out one field; put it on a field";
const CRATE_IS_FOR_TYPES: &str = "`crate` is for the whole type; put it on the struct or enum";

/// Reads past attributes and returns the options of each `#[tensor_like(…)]`.
fn options(tokens: &mut Tokens, mistakes: &mut Mistakes) -> Vec<Choice> {
    let mut found = Vec::new();
    while is_punct(tokens.peek(), '#') {
        tokens.next();
        let Some(TokenTree::Group(attribute)) = tokens.next() else {
            break;
        };
        let mut inside = attribute.stream().into_iter().peekable();
        if next_ident(&mut inside).is_none_or(|name| name.to_string() != "tensor_like") {
            continue;
        }
        match inside.next() {
            Some(TokenTree::Group(list)) if !list.stream().is_empty() => {
                let mut inside = list.stream().into_iter().peekable();
                while inside.peek().is_some() {
                    found.extend(option(&mut inside, mistakes));
                }
            }
            _ => mistakes.at(attribute.span(), FORMS),
        }
    }
    found
}

/// Reads one option and the comma after it.
fn option(tokens: &mut Tokens, mistakes: &mut Mistakes) -> Option<Choice> {
    let mut written = Vec::new();
    up_to_comma(tokens, |token| written.push(token));
    let mut written = written.into_iter();
    let key = written.next()?;
    let value: Vec<TokenTree> = written.collect();
    if is_word(Some(&key), "skip") && value.is_empty() {
        return Some(Choice::Skip(key.span()));
    }
    if is_word(Some(&key), "crate") && value.len() > 1 && is_punct(value.first(), '=') {
        return Some(Choice::Crate(
            key.span(),
            value.into_iter().skip(1).collect(),
        ));
    }
    match key {
        TokenTree::Ident(ref name)
            if !is_word(Some(&key), "skip") && !is_word(Some(&key), "crate") =>
        {
            let message = format!(
                "`{name}` is not an option of `tensor_like`; there are `skip` and `crate = path`"
            );
            mistakes.at(key.span(), &message);
        }
        _ => mistakes.at(key.span(), FORMS),
    }
    None
}

/// Reads `<'a, T: Bound = Default, const N: usize>`.
fn params(tokens: &mut Tokens) -> Vec<Param> {
    tokens.next();
    let mut found = Vec::new();
    while !is_punct(tokens.peek(), '>') && tokens.peek().is_some() {
        let mut declared: Vec<TokenTree> = Vec::new();
        let mut has_default = false;
        up_to_comma(tokens, |token| {
            has_default |= is_punct(Some(&token), '=') && !is_punct(declared.last(), '.');
            if !has_default {
                declared.push(token);
            }
        });
        found.extend(Param::from_declared(declared));
    }
    tokens.next();
    found
}

impl Param {
    fn from_declared(declared: Vec<TokenTree>) -> Option<Param> {
        let mut inside = TokenStream::from_iter(declared.clone())
            .into_iter()
            .peekable();
        while is_punct(inside.peek(), '#') {
            inside.next();
            inside.next();
        }
        let (argument, type_name) = match inside.next()? {
            quote @ TokenTree::Punct(_) => (TokenStream::from_iter([quote, inside.next()?]), None),
            TokenTree::Ident(word) if word.to_string() == "const" => (inside.next()?.into(), None),
            name => (name.clone().into(), Some(name.to_string())),
        };
        Some(Param {
            declared: declared.into_iter().collect(),
            argument,
            type_name,
        })
    }
}

fn variants(body: TokenStream, mistakes: &mut Mistakes) -> Vec<(Ident, Vec<Field>)> {
    let mut tokens = body.into_iter().peekable();
    let mut found = Vec::new();
    while tokens.peek().is_some() {
        for option in options(&mut tokens, mistakes) {
            match option {
                Choice::Skip(span) => mistakes.at(span, SKIP_IS_FOR_FIELDS),
                Choice::Crate(span, _) => mistakes.at(span, CRATE_IS_FOR_TYPES),
            }
        }
        let Some(name) = next_ident(&mut tokens) else {
            break;
        };
        let fields = match tokens.peek() {
            Some(TokenTree::Group(group)) => fields(&group.clone(), mistakes),
            _ => Vec::new(),
        };
        // Skips the fields, which were read above, and a discriminant.
        up_to_comma(&mut tokens, |_| {});
        found.push((name, fields));
    }
    found
}

/// The fields without `#[tensor_like(skip)]`.
fn fields(group: &Group, mistakes: &mut Mistakes) -> Vec<Field> {
    let is_tuple = group.delimiter() == Delimiter::Parenthesis;
    let mut tokens = group.stream().into_iter().peekable();
    let mut found = Vec::new();
    for index in 0.. {
        let mut is_skipped = false;
        for option in options(&mut tokens, mistakes) {
            match option {
                Choice::Skip(_) => is_skipped = true,
                Choice::Crate(span, _) => mistakes.at(span, CRATE_IS_FOR_TYPES),
            }
        }
        skip_visibility(&mut tokens);
        let member = if is_tuple {
            let mut number = Literal::usize_unsuffixed(index);
            number.set_span(group.span());
            TokenTree::from(number)
        } else {
            match tokens.next() {
                Some(name) => {
                    tokens.next();
                    name
                }
                None => break,
            }
        };
        if tokens.peek().is_none() {
            break;
        }
        let mut ty = Vec::new();
        up_to_comma(&mut tokens, |token| ty.push(token));
        if !is_skipped {
            found.push(Field { member, ty });
        }
    }
    found
}

/// The mistakes found so far, each as a `compile_error!`.
#[derive(Default)]
struct Mistakes(TokenStream);

impl Mistakes {
    /// Adds `::core::compile_error! { "message" }` with this span.
    fn at(&mut self, span: Span, message: &str) {
        let punct = |char, spacing| TokenTree::from(Punct::new(char, spacing));
        let ident = |name| TokenTree::from(Ident::new(name, span));
        let message = TokenTree::from(Literal::string(message));
        let error = [
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            ident("core"),
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            ident("compile_error"),
            punct('!', Spacing::Alone),
            TokenTree::from(Group::new(
                Delimiter::Brace,
                [message].into_iter().collect(),
            )),
        ];
        self.0.extend(error.into_iter().map(|mut token| {
            token.set_span(span);
            token
        }));
    }
}

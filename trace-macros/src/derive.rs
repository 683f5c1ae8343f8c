//! `#[derive(TensorLike)]`: a struct or enum lets the tensors in its fields speak.
//!
//! The impl is part of a type's API and there with the feature off as well, so this file reads its tokens
//! by hand: syn is not built then.
//!
//! ```text
//! impl<T> TensorLike for Layer<T> where Vec<T>: TensorLike {
//!     fn describe(&self, sink: &mut TensorSink) {
//!         let Self { weight: __0, bias: __1, .. } = self;
//!         probe(__0).__seen().__tell(sink);
//!         probe(__1).__seen().__tell(sink);
//!     }
//! }
//! ```

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use std::iter::{Peekable, once};

type Tokens = Peekable<proc_macro::token_stream::IntoIter>;

pub(crate) fn expand(input: TokenStream) -> TokenStream {
    match Input::parse(input) {
        Ok(input) => input.expand(),
        Err(mistake) => mistake.into_compile_error(),
    }
}

struct Input {
    /// `::trace_runtime`, or what `#[tensor_like(crate = path)]` says.
    root: TokenStream,
    name: Ident,
    params: Vec<Param>,
    /// The predicates of the `where` clause.
    predicates: TokenStream,
    body: Body,
}

enum Body {
    Struct(Vec<Field>),
    Enum(Vec<(Ident, Vec<Field>)>),
}

struct Param {
    /// As declared, without its default.
    declared: TokenStream,
    /// As an argument: `'a`, `T`, `N`.
    argument: TokenStream,
    /// The name, of a type parameter.
    type_name: Option<String>,
}

struct Field {
    /// A name or, in a tuple, a number.
    member: TokenTree,
    ty: Vec<TokenTree>,
}

struct Mistake {
    span: Span,
    message: String,
}

impl Input {
    fn parse(input: TokenStream) -> Result<Input, Mistake> {
        let mut tokens = input.into_iter().peekable();
        let mut root = text("::trace_runtime");
        for option in options(&mut tokens)? {
            match option {
                Choice::Crate(path) => root = path,
                Choice::Skip(span) => {
                    return Err(Mistake::new(
                        span,
                        "`skip` leaves out a field; put it on one",
                    ));
                }
            }
        }
        skip_visibility(&mut tokens);
        let keyword = next_ident(&mut tokens);
        let is_enum = match keyword.as_ref().map(ToString::to_string).as_deref() {
            Some("struct") => false,
            Some("enum") => true,
            _ => {
                let span = keyword.map_or_else(Span::call_site, |keyword| keyword.span());
                return Err(Mistake::new(
                    span,
                    "only the tensors of a struct or an enum can be found; implement `TensorLike` by hand",
                ));
            }
        };
        let Some(name) = next_ident(&mut tokens) else {
            return Err(Mistake::new(Span::call_site(), "a type needs a name"));
        };
        let params = if is_punct(tokens.peek(), '<') {
            params(&mut tokens)
        } else {
            Vec::new()
        };
        let mut predicates = TokenStream::new();
        let mut group = None;
        for token in tokens {
            match token {
                TokenTree::Ident(word) if word.to_string() == "where" => {}
                TokenTree::Punct(end) if end.as_char() == ';' => {}
                // A tuple struct's fields stand before its `where` clause.
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
        let body = match group {
            Some(group) if is_enum => Body::Enum(variants(group.stream())?),
            Some(group) => Body::Struct(fields(&group)?),
            None => Body::Struct(Vec::new()),
        };
        Ok(Input {
            root,
            name,
            params,
            predicates,
            body,
        })
    }

    fn expand(self) -> TokenStream {
        let private = || tokens([self.root.clone(), text("::__private::")]);
        let declared = self
            .params
            .iter()
            .flat_map(|param| [param.declared.clone(), text(",")]);
        let arguments = self
            .params
            .iter()
            .flat_map(|param| [param.argument.clone(), text(",")]);
        let mut predicates = self.predicates.clone();
        if !predicates.is_empty() && !is_punct(predicates.clone().into_iter().last().as_ref(), ',')
        {
            predicates.extend(text(","));
        }
        for ty in self.bounded_types() {
            predicates.extend([ty, text(":"), private(), text("TensorLike,")]);
        }
        let describe = match &self.body {
            Body::Struct(fields) => {
                let pattern = tokens([text("let Self"), pattern(fields), text("= self;")]);
                tokens([pattern, probes(fields, &private())])
            }
            Body::Enum(variants) if variants.is_empty() => text("match *self {}"),
            Body::Enum(variants) => {
                let arms = variants.iter().flat_map(|(name, fields)| {
                    let name = tokens([text("Self::"), TokenTree::from(name.clone()).into()]);
                    [
                        name,
                        pattern(fields),
                        text("=>"),
                        group(Delimiter::Brace, probes(fields, &private())),
                    ]
                });
                tokens([text("match self"), group(Delimiter::Brace, tokens(arms))])
            }
        };
        let sink = if self.has_fields() { "sink" } else { "_" };
        let method = tokens([
            text("#[inline] fn describe"),
            group(
                Delimiter::Parenthesis,
                tokens([
                    text("&self,"),
                    text(sink),
                    text(": &mut"),
                    private(),
                    text("TensorSink"),
                ]),
            ),
            group(Delimiter::Brace, describe),
        ]);
        tokens([
            text("#[automatically_derived] impl <"),
            tokens(declared),
            text(">"),
            private(),
            text("TensorLike for"),
            TokenTree::from(self.name.clone()).into(),
            text("<"),
            tokens(arguments),
            text("> where"),
            predicates,
            group(Delimiter::Brace, method),
        ])
    }

    fn fields(&self) -> impl Iterator<Item = &Field> {
        let (of_struct, of_enum) = match &self.body {
            Body::Struct(fields) => (Some(fields), None),
            Body::Enum(variants) => (None, Some(variants.iter().map(|(_, fields)| fields))),
        };
        of_struct
            .into_iter()
            .chain(of_enum.into_iter().flatten())
            .flatten()
    }

    fn has_fields(&self) -> bool {
        self.fields().next().is_some()
    }

    /// The field types that say nothing of themselves unless a bound says that they do: those with a type
    /// parameter in them. A type that contains itself would go around in circles.
    fn bounded_types(&self) -> Vec<TokenStream> {
        let generic = |field: &&Field| {
            let own_name = self.name.to_string();
            let mut names = Vec::new();
            collect_names(field.ty.iter().cloned(), &mut names);
            let is_param = |name: &String| {
                self.params
                    .iter()
                    .any(|param| param.type_name.as_ref() == Some(name))
            };
            let says_nothing =
                |name: &String| name == "PhantomData" || name == "fn" || *name == own_name;
            names.iter().any(is_param) && !names.iter().any(says_nothing)
        };
        let types = self.fields().filter(generic);
        types
            .map(|field| field.ty.iter().cloned().collect())
            .collect()
    }
}

/// What `#[tensor_like(…)]` can say.
enum Choice {
    Skip(Span),
    Crate(TokenStream),
}

/// Reads past attributes; keeps what `#[tensor_like(…)]` ones say.
fn options(tokens: &mut Tokens) -> Result<Vec<Choice>, Mistake> {
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
        let Some(TokenTree::Group(list)) = inside.next() else {
            return Err(Mistake::new(
                attribute.span(),
                "write `#[tensor_like(skip)]`",
            ));
        };
        let mut inside = list.stream().into_iter().peekable();
        match next_ident(&mut inside) {
            Some(key) if key.to_string() == "skip" => found.push(Choice::Skip(key.span())),
            Some(key) if key.to_string() == "crate" => {
                inside.next();
                found.push(Choice::Crate(inside.collect()));
            }
            Some(key) => {
                let message = format!(
                    "`{key}` is not an option of `tensor_like`; there are `skip` and `crate = path`"
                );
                return Err(Mistake::new(key.span(), &message));
            }
            None => return Err(Mistake::new(list.span(), "write `#[tensor_like(skip)]`")),
        }
    }
    Ok(found)
}

fn skip_visibility(tokens: &mut Tokens) {
    if matches!(tokens.peek(), Some(TokenTree::Ident(word)) if word.to_string() == "pub") {
        tokens.next();
        if matches!(tokens.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
        {
            tokens.next();
        }
    }
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
        options(&mut inside).ok()?;
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

fn variants(body: TokenStream) -> Result<Vec<(Ident, Vec<Field>)>, Mistake> {
    let mut tokens = body.into_iter().peekable();
    let mut found = Vec::new();
    while tokens.peek().is_some() {
        if let Some(Choice::Skip(span)) = options(&mut tokens)?.pop() {
            return Err(Mistake::new(
                span,
                "`skip` leaves out a field; put it on one",
            ));
        }
        let Some(name) = next_ident(&mut tokens) else {
            break;
        };
        let fields = match tokens.peek() {
            Some(TokenTree::Group(group)) => fields(&group.clone())?,
            _ => Vec::new(),
        };
        // Past the fields and a discriminant.
        up_to_comma(&mut tokens, |_| {});
        found.push((name, fields));
    }
    Ok(found)
}

/// The fields that may hold tensors.
fn fields(group: &Group) -> Result<Vec<Field>, Mistake> {
    let is_tuple = group.delimiter() == Delimiter::Parenthesis;
    let mut tokens = group.stream().into_iter().peekable();
    let mut found = Vec::new();
    for index in 0.. {
        let is_skipped = !options(&mut tokens)?.is_empty();
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
        if !is_skipped && !is_scalar(&ty) {
            found.push(Field { member, ty });
        }
    }
    Ok(found)
}

/// Types that are never tensors and not worth asking.
fn is_scalar(ty: &[TokenTree]) -> bool {
    const SCALARS: [&str; 18] = [
        "f32", "f64", "bool", "usize", "isize", "u8", "u16", "u32", "u64", "u128", "i8", "i16",
        "i32", "i64", "i128", "char", "str", "String",
    ];
    matches!(ty, [TokenTree::Ident(name)] if SCALARS.contains(&name.to_string().as_str()))
}

/// Hands on the tokens up to a comma that is in no angle brackets, and reads past it. Stops in front of a
/// `>` that closes what this began in.
fn up_to_comma(tokens: &mut Tokens, mut each: impl FnMut(TokenTree)) {
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

/// `{ weight: __0, bias: __1, .. }`
fn pattern(fields: &[Field]) -> TokenStream {
    let bound = fields.iter().enumerate().flat_map(|(index, field)| {
        [
            TokenStream::from(field.member.clone()),
            text(":"),
            binding(index),
            text(","),
        ]
    });
    let bound = tokens(bound.chain(once(text(".."))));
    group(Delimiter::Brace, bound)
}

fn probes(fields: &[Field], private: &TokenStream) -> TokenStream {
    let probes = (0..fields.len()).flat_map(|index| {
        [
            private.clone(),
            text("probe"),
            group(Delimiter::Parenthesis, binding(index)),
            text(".__seen().__tell(sink);"),
        ]
    });
    tokens(probes)
}

fn binding(index: usize) -> TokenStream {
    TokenTree::from(Ident::new(&format!("__{index}"), Span::mixed_site())).into()
}

fn collect_names(tokens: impl Iterator<Item = TokenTree>, names: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => names.push(name.to_string()),
            TokenTree::Group(group) => collect_names(group.stream().into_iter(), names),
            _ => {}
        }
    }
}

fn next_ident(tokens: &mut Tokens) -> Option<Ident> {
    match tokens.next()? {
        TokenTree::Ident(ident) => Some(ident),
        _ => None,
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// Source text of this file's own as tokens.
fn text(source: &str) -> TokenStream {
    source.parse().unwrap_or_default()
}

fn tokens(parts: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    parts.into_iter().collect()
}

fn group(delimiter: Delimiter, inside: TokenStream) -> TokenStream {
    TokenTree::from(Group::new(delimiter, inside)).into()
}

impl Mistake {
    fn new(span: Span, message: &str) -> Mistake {
        Mistake {
            span,
            message: message.to_owned(),
        }
    }

    /// `::core::compile_error! { "message" }`, all of it at the mistake.
    fn into_compile_error(self) -> TokenStream {
        let punct = |char, spacing| TokenTree::from(Punct::new(char, spacing));
        let ident = |name| TokenTree::from(Ident::new(name, self.span));
        let message = TokenTree::from(Literal::string(&self.message));
        [
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
        ]
        .into_iter()
        .map(|mut token| {
            token.set_span(self.span);
            token
        })
        .collect()
    }
}

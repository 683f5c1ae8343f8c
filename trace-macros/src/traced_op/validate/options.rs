//! Reads the options in the parentheses of `#[traced_op(…)]`.
//!
//! Only the form of each option is checked here; [`function`](super::function) and
//! [`impl_block`](super::impl_block) check whether it fits the item.

use super::mistakes::{Mistakes, did_you_mean, listed};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use std::rc::Rc;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Lit, LitStr, Path, PathSegment, Token, parenthesized, token};

/// The options of one attribute, as written.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<Given<Expr>>,
    pub(crate) kind: Option<Given<Ident>>,
    pub(crate) device: Option<Given<Rc<Expr>>>,
    pub(crate) label: Option<Given<Rc<Expr>>>,
    pub(crate) skip: Option<Given<Skip>>,
    pub(crate) inputs: Option<Given<Vec<Expr>>>,
    pub(crate) output: Option<Given<Vec<Expr>>>,
    pub(crate) flops: Option<Given<Expr>>,
    pub(crate) bytes: Option<Given<Expr>>,
    pub(crate) meta: Option<Given<Vec<Meta>>>,
    /// `group`, `peer` and `tag`, until all options are read.
    pub(super) communication: Vec<Given<Meta>>,
    pub(crate) sync: Option<Given<Rc<Expr>>>,
    pub(crate) krate: Option<Given<Rc<Path>>>,
    /// Given by the attribute of an `impl` to the attribute that it puts on a method; not for users.
    pub(crate) block: Option<Given<BlockDefaults>>,
}

/// The defaults that a method gets from the annotated `impl` around it.
pub(crate) struct BlockDefaults {
    /// The word in front of the method's name.
    pub(crate) type_name: Option<String>,
    /// The options of the block, as written.
    pub(crate) options: TokenStream,
}

/// The key of [`Options::block`].
pub(crate) const BLOCK: &str = "__block";

/// An option's value, and its key, at which mistakes in the option are reported.
#[derive(Clone)]
pub(crate) struct Given<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
}

#[derive(Clone)]
pub(crate) enum Skip {
    /// `skip(a, b)`: these parameters are not described.
    Parameters(Vec<Ident>),
    /// `skip`: this method of an annotated `impl` is left as it is.
    Method,
}

/// One `key = value` of `meta(…)`.
#[derive(Clone)]
pub(crate) struct Meta {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) value: Rc<Expr>,
}

const KEYS: [&str; 15] = [
    "name", "kind", "device", "label", "skip", "inputs", "output", "flops", "bytes", "meta",
    "group", "peer", "tag", "sync", "crate",
];

/// The key of the metadata that an option about communication sets, and an example of its value.
fn communication_key(option: &str) -> Option<(&'static str, &'static str)> {
    match option {
        "group" => Some(("process_group", "\"data parallel\"")),
        "peer" => Some(("peer", "destination")),
        "tag" => Some(("tag", "7")),
        _ => None,
    }
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream, mistakes: &mut Mistakes) -> Options {
        let mut options = Options::default();
        if tokens.is_empty() {
            return options;
        }
        let parser = |input: ParseStream<'_>| {
            while !input.is_empty() {
                if let Err(error) = options.parse_one(input, mistakes) {
                    mistakes.add(error);
                    skip_to_comma(input);
                }
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = parser.parse2(tokens) {
            mistakes.add(error);
        }
        options.add_communication();
        options
    }

    /// Sets the crate that expanded code names if `crate = path` is not given: `::root`.
    pub(crate) fn set_root(&mut self, root: &str) {
        self.krate.get_or_insert_with(|| {
            let span = Span::mixed_site();
            Given {
                key: Ident::new("root", span),
                value: Rc::new(Path {
                    leading_colon: Some(Token![::](span)),
                    segments: [PathSegment::from(Ident::new(root, span))]
                        .into_iter()
                        .collect(),
                }),
            }
        });
    }

    fn parse_one(&mut self, input: ParseStream<'_>, mistakes: &mut Mistakes) -> syn::Result<()> {
        if let Ok(literal) = input.parse::<LitStr>() {
            let message = format!("an option needs its key: `name = {:?}`", literal.value());
            return Err(syn::Error::new(literal.span(), message));
        }
        let key = input.call(Ident::parse_any)?;
        if let Some((name, example)) = communication_key(&key.to_string()) {
            return self.parse_communication(input, mistakes, key, (name, example));
        }
        let repeated = match key.to_string().as_str() {
            "name" => set(&mut self.name, key, value(input, "\"…\"")),
            "kind" => set(&mut self.kind, key, word(input, "compute")),
            "device" => set(&mut self.device, key, shared(value(input, "\"cuda:0\""))),
            "label" => set(&mut self.label, key, shared(value(input, "&self.name"))),
            "skip" if input.is_empty() || input.peek(Token![,]) => {
                set(&mut self.skip, key, |_| Ok(Skip::Method))
            }
            "skip" => set(&mut self.skip, key, |key| {
                let names: Vec<Name> = list(input, "x, y")(key)?;
                Ok(Skip::Parameters(
                    names.into_iter().map(|name| name.0).collect(),
                ))
            }),
            "inputs" => set(&mut self.inputs, key, list(input, "&x, &self.weight")),
            "output" => set(&mut self.output, key, list(input, "&result.0")),
            "flops" => set(&mut self.flops, key, value(input, "2 * m * n * k")),
            "bytes" => set(&mut self.bytes, key, value(input, "4 * x.len()")),
            "meta" => set(&mut self.meta, key, list(input, "layer = self.index")),
            "sync" => set(
                &mut self.sync,
                key,
                shared(value(input, "device.synchronize()")),
            ),
            "crate" => set(
                &mut self.krate,
                key,
                shared(word(input, "path::to::trace_runtime")),
            ),
            BLOCK => set(&mut self.block, key, |_| BlockDefaults::parse(input)),
            written => {
                let message = match did_you_mean(written, KEYS) {
                    Some(hint) => format!("`{written}` is not an option of `traced_op`{hint}"),
                    None => format!(
                        "`{written}` is not an option of `traced_op`; there are {}",
                        listed(KEYS)
                    ),
                };
                return Err(syn::Error::new(key.span(), message));
            }
        }?;
        if let Some(key) = repeated {
            mistakes.at(&key, format_args!("`{key}` is given twice; keep one"));
        }
        Ok(())
    }
}

impl Options {
    /// Reads `group`, `peer` or `tag`, which are metadata of an op that is communication.
    fn parse_communication(
        &mut self,
        input: ParseStream<'_>,
        mistakes: &mut Mistakes,
        key: Ident,
        (name, example): (&str, &str),
    ) -> syn::Result<()> {
        let value = shared(value(input, example))(&key)?;
        if self.communication.iter().any(|one| one.value.key == name) {
            mistakes.at(&key, format_args!("`{key}` is given twice; keep one"));
            return Ok(());
        }
        let key_span = key.span();
        self.communication.push(Given {
            key,
            value: Meta {
                key: name.to_owned(),
                key_span,
                value,
            },
        });
        Ok(())
    }

    /// Adds the options of [`parse_communication`](Self::parse_communication) to the metadata, and sets the kind if
    /// none is given.
    fn add_communication(&mut self) {
        let Some(first) = self.communication.first() else {
            return;
        };
        let key = first.key.clone();
        let kind = Ident::new("communication", key.span());
        self.kind.get_or_insert_with(|| Given {
            key: key.clone(),
            value: kind,
        });
        let meta = self.meta.get_or_insert_with(|| Given {
            key,
            value: Vec::new(),
        });
        meta.value
            .extend(self.communication.drain(..).map(|one| one.value));
    }
}

impl BlockDefaults {
    /// Reads `("Linear", kind = compute, …)`.
    fn parse(input: ParseStream<'_>) -> syn::Result<BlockDefaults> {
        let content;
        parenthesized!(content in input);
        let type_name = content.parse::<LitStr>()?.value();
        content.parse::<Option<Token![,]>>()?;
        Ok(BlockDefaults {
            type_name: (!type_name.is_empty()).then_some(type_name),
            options: content.parse()?,
        })
    }
}

/// Keeps the first value; returns the key of a second one.
fn set<T>(
    slot: &mut Option<Given<T>>,
    key: Ident,
    read: impl FnOnce(&Ident) -> syn::Result<T>,
) -> syn::Result<Option<Ident>> {
    let value = read(&key)?;
    if slot.is_some() {
        return Ok(Some(key));
    }
    *slot = Some(Given { key, value });
    Ok(None)
}

/// Puts the value in an `Rc`: an `impl` gives it to each of its methods, and syn's `Expr` can be cloned only with a
/// feature.
fn shared<T>(
    read: impl FnOnce(&Ident) -> syn::Result<T>,
) -> impl FnOnce(&Ident) -> syn::Result<Rc<T>> {
    |key| read(key).map(Rc::new)
}

/// Reads `= value`.
fn value<'a, T: Parse>(
    input: ParseStream<'a>,
    example: &'a str,
) -> impl FnOnce(&Ident) -> syn::Result<T> + 'a {
    move |key| {
        if !input.peek(Token![=]) {
            let message = format!("`{key}` takes one value: `{key} = {example}`");
            return Err(syn::Error::new(key.span(), message));
        }
        input.parse::<Token![=]>()?;
        if input.is_empty() || input.peek(Token![,]) {
            let message = format!("`{key}` has no value; write `{key} = {example}`");
            return Err(syn::Error::new(key.span(), message));
        }
        let value = input.parse()?;
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error("a comma separates the options"));
        }
        Ok(value)
    }
}

/// Reads `= value` of an option whose value has no quotes.
fn word<'a, T: Parse>(
    input: ParseStream<'a>,
    example: &'a str,
) -> impl FnOnce(&Ident) -> syn::Result<T> + 'a {
    move |key| {
        if input.peek(Token![=]) && input.peek2(Lit) {
            let message = format!("`{key}` takes no quotes: `{key} = {example}`");
            input.parse::<Token![=]>()?;
            return Err(syn::Error::new(input.parse::<Lit>()?.span(), message));
        }
        value(input, example)(key)
    }
}

/// Reads `(value, value, …)`.
fn list<'a, T: Parse>(
    input: ParseStream<'a>,
    example: &'a str,
) -> impl FnOnce(&Ident) -> syn::Result<Vec<T>> + 'a {
    move |key| {
        if !input.peek(token::Paren) {
            let message = format!("`{key}` takes a list: `{key}({example})`");
            return Err(syn::Error::new(key.span(), message));
        }
        let content;
        parenthesized!(content in input);
        let values = Punctuated::<T, Token![,]>::parse_terminated(&content);
        // Tokens that are left after a mistake would be reported again.
        content.parse::<TokenStream>()?;
        Ok(values?.into_iter().collect())
    }
}

/// Skips the rest of a broken option, so that the options after it are read too.
fn skip_to_comma(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        if input.parse::<TokenTree>().is_err() {
            return;
        }
    }
}

/// A parameter's name, which may be `self`.
struct Name(Ident);

impl Parse for Name {
    fn parse(input: ParseStream<'_>) -> syn::Result<Name> {
        input.call(Ident::parse_any).map(Name)
    }
}

impl Parse for Meta {
    fn parse(input: ParseStream<'_>) -> syn::Result<Meta> {
        let (key, key_span) = if input.peek(LitStr) {
            let literal: LitStr = input.parse()?;
            (literal.value(), literal.span())
        } else {
            let ident = input.call(Ident::parse_any)?;
            (ident.unraw().to_string(), ident.span())
        };
        if !input.peek(Token![=]) {
            let message = format!("`{key}` has no value; write `meta({key} = …)`");
            return Err(syn::Error::new(key_span, message));
        }
        input.parse::<Token![=]>()?;
        Ok(Meta {
            key,
            key_span,
            value: Rc::new(input.parse()?),
        })
    }
}

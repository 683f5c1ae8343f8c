//! Reads the annotated item: a function, or an `impl` block with its methods.
//!
//! Signatures are parsed strictly, and bodies are kept as tokens. So an incomplete body still expands in an editor, and
//! a long one takes no time.

use super::options::BLOCK;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, FnModifiers, Generics, ImplItem, Path, Signature, Token, Type, Visibility};

use crate::traced_op::paths::ends_in;

/// An item that `#[traced_op]` is on.
pub(crate) enum Item {
    Function(Box<Function>),
    Impl(ImplBlock),
}

/// A function with a body.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) modifiers: FnModifiers,
    pub(crate) sig: Signature,
    pub(crate) body: Group,
}

/// An `impl` block. Its header is kept as tokens.
pub(crate) struct ImplBlock {
    header: TokenStream,
    braces: Group,
    /// `Linear` in `impl<T> Layer for nn::Linear<T>`.
    pub(crate) type_name: Option<String>,
    pub(crate) members: Vec<Member>,
}

pub(crate) enum Member {
    Method {
        /// The options of the method's own `#[traced_op(…)]`, if it has one.
        options: Option<TokenStream>,
        function: Function,
    },
    Other(ImplItem),
}

impl Item {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Item> {
        let (head, last) = split_last(tokens);
        let Some(last) = last else {
            return Err(no_body(head));
        };
        let Some(body) = brace_group(&last) else {
            return Err(no_body(head));
        };
        let parser = |input: ParseStream<'_>| {
            let attrs = input.call(Attribute::parse_outer)?;
            if input.peek(Token![impl]) || input.peek(Token![unsafe]) && input.peek2(Token![impl]) {
                return ImplBlock::parse(&attrs, input, body).map(Item::Impl);
            }
            let vis = input.parse()?;
            if let Some(what) = not_a_function(input) {
                return Err(input.error(refusal(what)));
            }
            let function = Function {
                attrs,
                vis,
                modifiers: FnModifiers::default(),
                sig: input.parse()?,
                body,
            };
            Ok(Item::Function(Box::new(function)))
        };
        parser.parse2(head)
    }
}

impl Function {
    pub(crate) fn as_written(&self) -> TokenStream {
        self.with_body(&self.body)
    }

    /// Removes the attribute that an annotated `impl` has put on this method, and returns its options.
    pub(crate) fn take_block_attribute(&mut self) -> Option<TokenStream> {
        let is_of_block = |attr: &Attribute| match &attr.meta {
            syn::Meta::List(list) => {
                ends_in(&list.path, "traced_op")
                    && matches!(list.tokens.clone().into_iter().next(),
                        Some(TokenTree::Ident(key)) if key == BLOCK)
            }
            _ => false,
        };
        let at = self.attrs.iter().position(is_of_block)?;
        match self.attrs.remove(at).meta {
            syn::Meta::List(list) => Some(list.tokens),
            _ => None,
        }
    }

    /// The function as written, with one more attribute after its own.
    pub(crate) fn with_attribute(&self, attribute: &TokenStream) -> TokenStream {
        let Function {
            attrs,
            vis,
            modifiers: FnModifiers { defaultness, .. },
            sig,
            body,
        } = self;
        quote!(#(#attrs)* #attribute #vis #defaultness #sig #body)
    }

    /// The same function around another body.
    pub(crate) fn with_body(&self, body: &Group) -> TokenStream {
        let Function {
            attrs,
            vis,
            modifiers: FnModifiers { defaultness, .. },
            sig,
            ..
        } = self;
        quote!(#(#attrs)* #vis #defaultness #sig #body)
    }
}

impl ImplBlock {
    fn parse(attrs: &[Attribute], input: ParseStream<'_>, braces: Group) -> syn::Result<ImplBlock> {
        let unsafety: Option<Token![unsafe]> = input.parse()?;
        let impl_token: Token![impl] = input.parse()?;
        let has_generics = input.peek(Token![<])
            && (input.peek2(Token![>])
                || input.peek2(Token![#])
                || input.peek2(Token![const])
                || input.peek2(syn::Lifetime)
                || input.peek2(syn::Ident) && !input.peek3(Token![::]) && !input.peek3(Token![as]));
        let mut generics: Generics = if has_generics {
            input.parse()?
        } else {
            Generics::default()
        };
        let negative: Option<Token![!]> = input.parse()?;
        let first: Type = input.parse()?;
        let for_token: Option<Token![for]> = input.parse()?;
        let second: Option<Type> = match for_token {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        generics.where_clause = input.parse()?;
        let where_clause = &generics.where_clause;
        let self_ty = second.as_ref().unwrap_or(&first);
        let type_name = name_of_type(self_ty);
        let header = quote!(
            #(#attrs)* #unsafety #impl_token #generics #negative #first #for_token #second #where_clause
        );
        let members = |input: ParseStream<'_>| {
            let inner = input.call(Attribute::parse_inner)?;
            let mut members = Vec::new();
            while !input.is_empty() {
                members.push(Member::parse(input)?);
            }
            Ok((inner, members))
        };
        let (inner, members) = members.parse2(braces.stream())?;
        let inner = inner.into_iter().map(outer);
        Ok(ImplBlock {
            header: quote!(#(#inner)* #header),
            braces,
            type_name,
            members,
        })
    }

    /// The same block around other members.
    pub(crate) fn around(&self, members: impl IntoIterator<Item = TokenStream>) -> TokenStream {
        let mut braces = Group::new(Delimiter::Brace, members.into_iter().collect());
        braces.set_span(self.braces.span());
        let header = &self.header;
        quote!(#header #braces)
    }
}

impl Member {
    fn parse(input: ParseStream<'_>) -> syn::Result<Member> {
        let ahead = input.fork();
        let mut attrs = ahead.call(Attribute::parse_outer)?;
        let vis: Visibility = ahead.parse()?;
        let defaultness: Option<Token![default]> =
            if ahead.peek(Token![default]) && !ahead.peek2(Token![!]) {
                ahead.parse()?
            } else {
                None
            };
        if !starts_function(&ahead) {
            return input.parse().map(Member::Other);
        }
        let sig: Signature = ahead.parse()?;
        let body: TokenTree = ahead.parse()?;
        let Some(body) = brace_group(&body) else {
            return input.parse().map(Member::Other);
        };
        syn::parse::discouraged::Speculative::advance_to(input, &ahead);
        let own = attrs
            .iter()
            .position(|attr| ends_in(attr.path(), "traced_op"))
            .map(|index| attrs.remove(index));
        let options = own.map(|attr| match attr.meta {
            syn::Meta::List(list) => list.tokens,
            _ => TokenStream::new(),
        });
        let mut modifiers = FnModifiers::default();
        modifiers.defaultness = defaultness;
        let function = Function {
            attrs,
            vis,
            modifiers,
            sig,
            body,
        };
        Ok(Member::Method { options, function })
    }
}

/// `#![attr]` as `#[attr]`: an inner attribute cannot be before the item.
pub(crate) fn outer(mut attr: Attribute) -> Attribute {
    attr.style = syn::AttrStyle::Outer;
    attr
}

fn starts_function(input: ParseStream<'_>) -> bool {
    input.peek(Token![fn])
        || input.peek(Token![async])
        || input.peek(Token![extern])
        || input.peek(Token![unsafe])
        || input.peek(Token![const]) && {
            input.peek2(Token![fn])
                || input.peek2(Token![async])
                || input.peek2(Token![extern])
                || input.peek2(Token![unsafe])
        }
}

/// Separates the last token, which is the body, before anything is parsed.
fn split_last(tokens: TokenStream) -> (TokenStream, Option<TokenTree>) {
    let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let last = tokens.pop();
    (tokens.into_iter().collect(), last)
}

/// The braces, with or without the invisible delimiters that `macro_rules!` puts around `$body`.
fn brace_group(token: &TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = token else {
        return None;
    };
    match group.delimiter() {
        Delimiter::Brace => Some(group.clone()),
        Delimiter::None => {
            let (head, last) = split_last(group.stream());
            if !head.is_empty() {
                return None;
            }
            brace_group(&last?)
        }
        _ => None,
    }
}

fn no_body(head: TokenStream) -> syn::Error {
    let parser = |input: ParseStream<'_>| {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        if let Some(what) = not_a_function(input) {
            let error = input.error(refusal(what));
            input.parse::<TokenStream>()?;
            return Ok(error);
        }
        let ident = input.parse::<Signature>()?.ident;
        let name = ident.unraw();
        Ok(syn::Error::new_spanned(
            &ident,
            format_args!(
                "`{name}` has no body to record; put `#[traced_op]` on its implementations"
            ),
        ))
    };
    match parser.parse2(head) {
        Ok(error) | Err(error) => error,
    }
}

/// The kind of the item, if its first word shows that it is not a function.
fn not_a_function(input: ParseStream<'_>) -> Option<&'static str> {
    if input.peek(Token![struct]) {
        Some("a struct")
    } else if input.peek(Token![enum]) {
        Some("an enum")
    } else if input.peek(Token![trait])
        || input.peek(Token![unsafe]) && input.peek2(Token![trait])
        || input.peek(Token![auto]) && input.peek2(Token![trait])
    {
        Some("a trait")
    } else if input.peek(Token![mod]) {
        Some("a module")
    } else if input.peek(Token![static]) {
        Some("a static")
    } else if input.peek(Token![const]) && !starts_function(input) {
        Some("a constant")
    } else if input.peek(Token![type]) {
        Some("a type alias")
    } else if input.peek(Token![use]) {
        Some("an import")
    } else if input.peek(Token![let]) {
        Some("a statement")
    } else if is_foreign_block(input) {
        Some("a foreign block")
    } else if !starts_function(input) && !input.peek(syn::Ident) {
        Some("an expression")
    } else {
        None
    }
}

/// True for `extern "C"` with nothing after it: the braces were assumed to be a body.
fn is_foreign_block(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    let _ = ahead.parse::<Option<Token![unsafe]>>();
    ahead.parse::<Token![extern]>().is_ok()
        && (ahead.is_empty() || ahead.parse::<syn::LitStr>().is_ok() && ahead.is_empty())
}

fn refusal(what: &str) -> String {
    let way_out = match what {
        "a trait" => "put it on the default methods or on the `impl` blocks",
        "a struct" | "an enum" => {
            "to describe the tensors in it, use `#[derive(TensorLike)]`; to record its methods, put the attribute on \
             the `impl` block"
        }
        "a module" => "put it on each function",
        "a foreign block" => "wrap each call in `trace_runtime::op!`",
        "an expression" | "a statement" => "record a block with `trace_runtime::op!`",
        _ => "it belongs on a function or an `impl` block",
    };
    format!("`#[traced_op]` cannot record {what}; {way_out}")
}

/// `Linear` for `nn::Linear<T>` and for `&Linear`.
fn name_of_type(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => last_name(&path.path),
        Type::Reference(reference) => name_of_type(&reference.elem),
        Type::Group(group) => name_of_type(&group.elem),
        Type::Paren(paren) => name_of_type(&paren.elem),
        Type::TraitObject(object) => object.bounds.iter().find_map(|bound| match bound {
            syn::TypeParamBound::Trait(bound) => last_name(&bound.path),
            _ => None,
        }),
        _ => None,
    }
}

fn last_name(path: &Path) -> Option<String> {
    Some(path.segments.last()?.ident.unraw().to_string())
}

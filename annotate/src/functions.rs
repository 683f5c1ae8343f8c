//! Finds the functions of a source file that the attribute `#[traced_op]` can be put on.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, ImplItemFn, ItemFn, Signature, TraitItemFn, Visibility};

/// The text with `attribute` before every function that can have it, and the number of these functions.
///
/// Nothing else changes: lines, comments and formatting stay, so that positions in messages can be compared.
pub fn annotate(text: &str, attribute: &str) -> Result<(String, usize), syn::Error> {
    let file = syn::parse_file(text)?;
    let mut functions = Functions::default();
    functions.visit_file(&file);
    let offsets = functions.offsets;
    let mut annotated = String::with_capacity(text.len() + offsets.len() * (attribute.len() + 1));
    let mut copied = 0;
    for &offset in &offsets {
        annotated.push_str(&text[copied..offset]);
        annotated.push_str(attribute);
        annotated.push(' ');
        copied = offset;
    }
    annotated.push_str(&text[copied..]);
    Ok((annotated, offsets.len()))
}

/// The byte offset of the first item, which is after all inner attributes and inner comments.
pub fn first_item(text: &str) -> Result<Option<usize>, syn::Error> {
    let file = syn::parse_file(text)?;
    Ok(file
        .items
        .first()
        .map(|item| item.span().byte_range().start))
}

/// Byte offsets in the text, ascending.
#[derive(Default)]
struct Functions {
    offsets: Vec<usize>,
}

impl Functions {
    fn add(
        &mut self,
        attributes: &[Attribute],
        visibility: Option<&Visibility>,
        signature: &Signature,
    ) {
        if signature.constness.is_some() || attributes.iter().any(excludes) {
            return;
        }
        let span = match visibility {
            Some(visibility) if !matches!(visibility, Visibility::Inherited) => visibility.span(),
            _ => start_of(signature),
        };
        self.offsets.push(span.byte_range().start);
    }
}

/// The first token of a signature: a qualifier or `fn`.
fn start_of(signature: &Signature) -> Span {
    let asyncness = signature.asyncness.as_ref().map(Spanned::span);
    let unsafety = signature.unsafety.as_ref().map(Spanned::span);
    let abi = signature.abi.as_ref().map(Spanned::span);
    asyncness
        .or(unsafety)
        .or(abi)
        .unwrap_or_else(|| signature.fn_token.span())
}

/// Excludes entry points of procedural macros, which the compiler calls, and naked functions, which have no body to
/// wrap.
fn excludes(attribute: &Attribute) -> bool {
    let excluded = [
        "proc_macro",
        "proc_macro_derive",
        "proc_macro_attribute",
        "panic_handler",
        "naked",
    ];
    excluded.iter().any(|name| attribute.path().is_ident(name))
}

impl Visit<'_> for Functions {
    fn visit_item_fn(&mut self, item: &ItemFn) {
        self.add(&item.attrs, Some(&item.vis), &item.sig);
        self.visit_block(&item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &ImplItemFn) {
        // `default fn` is possible only with nightly compilers.
        if item.defaultness.is_none() {
            self.add(&item.attrs, Some(&item.vis), &item.sig);
        }
        self.visit_block(&item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.attrs, None, &item.sig);
            self.visit_block(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_with_a_body_is_annotated_and_nothing_else_changes() {
        let text = "//! Docs.\n\
            #[inline] pub(crate) fn a() {}\n\
            const fn b() {}\n\
            impl T { pub async fn c(&self) { fn inner() {} } unsafe fn d() {} }\n\
            trait U { fn e(); fn f() {} }\n\
            extern \"C\" { fn g(); }\n\
            #[proc_macro] pub fn h() {}\n";
        let (annotated, count) = annotate(text, "#[t]").unwrap();
        assert_eq!(count, 5);
        assert_eq!(
            annotated,
            "//! Docs.\n\
            #[inline] #[t] pub(crate) fn a() {}\n\
            const fn b() {}\n\
            impl T { #[t] pub async fn c(&self) { #[t] fn inner() {} } #[t] unsafe fn d() {} }\n\
            trait U { fn e(); #[t] fn f() {} }\n\
            extern \"C\" { fn g(); }\n\
            #[proc_macro] pub fn h() {}\n"
        );
    }
}

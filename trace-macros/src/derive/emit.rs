//! Stage 3: writes the impl. Nothing here can fail.
//!
//! ```text
//! impl<T> TensorLike for Layer<T> where Vec<T>: TensorLike {
//!     fn describe(&self, sink: &mut TensorSink) {
//!         let Self { weight: __0, bias: __1, .. } = self;
//!         Describe::describe(probe(__0).__tensors(), sink);
//!         Describe::describe(probe(__1).__tensors(), sink);
//!     }
//! }
//! ```

use super::plan::Plan;
use super::tokens::{concat, group, hygienic, is_punct, text};
use super::validate::{Body, Field};
use proc_macro::{Delimiter, TokenStream, TokenTree};
use std::iter::once;

pub(super) fn tensor_like(plan: &Plan) -> TokenStream {
    let ty = &plan.ty;
    let declared = ty
        .params
        .iter()
        .flat_map(|param| [param.declared.clone(), text(",")]);
    let arguments = ty
        .params
        .iter()
        .flat_map(|param| [param.argument.clone(), text(",")]);
    concat([
        text("#[automatically_derived] impl <"),
        concat(declared),
        text(">"),
        private(plan),
        text("TensorLike for"),
        TokenTree::from(ty.name.clone()).into(),
        text("<"),
        concat(arguments),
        text("> where"),
        predicates(plan),
        group(Delimiter::Brace, describe(plan)),
    ])
}

/// `::trace_runtime::__private::`, or the same in the crate that was named.
fn private(plan: &Plan) -> TokenStream {
    concat([plan.ty.root.clone(), text("::__private::")])
}

fn predicates(plan: &Plan) -> TokenStream {
    let mut predicates = plan.ty.predicates.clone();
    if !predicates.is_empty() && !is_punct(predicates.clone().into_iter().last().as_ref(), ',') {
        predicates.extend(text(","));
    }
    for ty in &plan.bounded {
        predicates.extend([ty.clone(), text(":"), private(plan), text("TensorLike,")]);
    }
    predicates
}

/// The method `describe`.
fn describe(plan: &Plan) -> TokenStream {
    let private = private(plan);
    let body = match &plan.ty.body {
        Body::Struct(fields) => {
            let pattern = concat([text("let Self"), pattern(fields), text("= self;")]);
            concat([pattern, probes(fields, &private)])
        }
        Body::Enum(variants) if variants.is_empty() => text("match *self {}"),
        Body::Enum(variants) => {
            let arms = variants.iter().flat_map(|(name, fields)| {
                let name = concat([text("Self::"), TokenTree::from(name.clone()).into()]);
                [
                    name,
                    pattern(fields),
                    text("=>"),
                    group(Delimiter::Brace, probes(fields, &private)),
                ]
            });
            concat([text("match self"), group(Delimiter::Brace, concat(arms))])
        }
    };
    let sink = if plan.has_fields() { "sink" } else { "_" };
    let parameters = concat([
        text("&self,"),
        text(sink),
        text(": &mut"),
        private,
        text("TensorSink"),
    ]);
    concat([
        text("#[inline] fn describe"),
        group(Delimiter::Parenthesis, parameters),
        group(Delimiter::Brace, body),
    ])
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
    let bound = concat(bound.chain(once(text(".."))));
    group(Delimiter::Brace, bound)
}

fn probes(fields: &[Field], private: &TokenStream) -> TokenStream {
    let probes = (0..fields.len()).flat_map(|index| {
        let found = concat([
            private.clone(),
            text("probe"),
            group(Delimiter::Parenthesis, binding(index)),
            text(".__tensors(), sink"),
        ]);
        [
            private.clone(),
            text("Describe::describe"),
            group(Delimiter::Parenthesis, found),
            text(";"),
        ]
    });
    concat(probes)
}

fn binding(index: usize) -> TokenStream {
    hygienic(&format!("__{index}"))
}

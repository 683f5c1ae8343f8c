//! Writes the body of an op as an expression.

use crate::traced_op::plan::{Captures, OpPlan, Reborrow};
use crate::traced_op::signature::Returns;
use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::format_ident;

/// The body as an expression. Control leaves it at its end, by a panic, or by `?`.
pub(super) fn run(op: &OpPlan, ty: &TokenStream) -> TokenStream {
    let private = &op.private;
    let Reborrows { inside, .. } = Reborrows::of(op);
    let body = after(inside, op);
    if op.has_return {
        let captures = (op.captures == Captures::ByMove).then(|| hygienic!(move));
        return hygienic!(#private::call::<#ty, _>(#captures || #body));
    }
    let never = match op.returns {
        Returns::Unit => None,
        _ => Some(hygienic!(#private::unreached())),
    };
    hygienic!(if false { #never } else #body)
}

/// The body after these statements. The braces keep the user's span: its edition decides when temporaries drop, and a
/// second pair around them would be reported as unnecessary.
pub(super) fn after(mut statements: TokenStream, op: &OpPlan) -> Group {
    let body = &op.function.body;
    if statements.is_empty() {
        return body.clone();
    }
    statements.extend(body.stream());
    let mut block = Group::new(Delimiter::Brace, statements);
    block.set_span(body.span());
    block
}

/// Bindings that give the body reborrows of the `&mut` parameters that are read again after it, and the `mut`
/// parameters that it may assign to.
pub(super) struct Reborrows {
    /// Statements before a `move` async block.
    pub(super) before: TokenStream,
    /// Statements at the start of the body.
    pub(super) inside: TokenStream,
}

impl Reborrows {
    pub(super) fn of(op: &OpPlan) -> Reborrows {
        let mut reborrows = Reborrows {
            before: TokenStream::new(),
            inside: TokenStream::new(),
        };
        for one in &op.rebound {
            let (ident, cfgs) = (&one.ident, &one.cfgs);
            reborrows
                .inside
                .extend(hygienic!(#cfgs let mut #ident = #ident;));
        }
        let moves = op.function.sig.asyncness.is_some() && op.captures == Captures::ByMove;
        for one in op.output.read_again() {
            let Some(kind) = one.reborrow else { continue };
            let (ident, cfgs) = (&one.ident, &one.cfgs);
            let mutability = (kind == Reborrow::Mut).then(|| hygienic!(mut));
            if moves {
                let lent = format_ident!("lent_{}", ident, span = Span::mixed_site());
                reborrows
                    .before
                    .extend(hygienic!(#cfgs let #lent = &mut *#ident;));
                reborrows
                    .inside
                    .extend(hygienic!(#cfgs let #mutability #ident = #lent;));
            } else {
                reborrows
                    .inside
                    .extend(hygienic!(#cfgs let #mutability #ident = &mut *#ident;));
            }
        }
        reborrows
    }
}

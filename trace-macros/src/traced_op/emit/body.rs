//! Writes the body of an op as an expression.

use crate::traced_op::plan::op_plan::{Captures, Form, OpPlan};
use crate::traced_op::plan::output::Reborrow;
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
    let never = match op.form {
        Form::Unit => None,
        _ => Some(hygienic!(#private::unreached())),
    };
    hygienic!(if false { #never } else #body)
}

/// The body after these statements. The braces keep the span of the user's code, because its edition decides when
/// temporaries are dropped. A second pair of braces would be reported as unnecessary.
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

/// Statements that are never executed. If an async block names a parameter as a whole, it captures all of it: by value
/// if the block is `move`, otherwise by a unique borrow, which is `Send` if the parameter is. A shared borrow of one of
/// its fields would be `Send` only if the field is `Sync`.
pub(super) fn owned(op: &OpPlan) -> TokenStream {
    let by_move = op.captures == Captures::ByMove;
    let by_value = op.owned.iter().filter(|_| by_move).map(|one| {
        let (ident, cfgs) = (&one.ident, &one.cfgs);
        hygienic!(#cfgs let _ = &#ident;)
    });
    let receiver = op
        .output
        .read_again()
        .iter()
        .filter(|one| one.reborrow.is_none())
        .map(|one| {
            let ident = &one.ident;
            hygienic!(let _ = &mut *#ident;)
        });
    by_value.chain(receiver).collect()
}

/// Bindings that give the body reborrows of the `&mut` parameters that are read again after it, and the `mut`
/// parameters that it may assign to.
pub(super) struct Reborrows {
    /// Statements before a `move` closure.
    pub(super) before: TokenStream,
    /// Statements at the start of that closure.
    pub(super) in_closure: TokenStream,
    /// Statements at the start of the body.
    pub(super) inside: TokenStream,
}

impl Reborrows {
    pub(super) fn of(op: &OpPlan) -> Reborrows {
        let mut reborrows = Reborrows {
            before: TokenStream::new(),
            in_closure: TokenStream::new(),
            inside: TokenStream::new(),
        };
        let Reborrows {
            before,
            in_closure,
            inside,
        } = &mut reborrows;
        for one in &op.rebound {
            let (ident, cfgs) = (&one.ident, &one.cfgs);
            inside.extend(hygienic!(#cfgs let mut #ident = #ident;));
        }
        let is_moved = op.function.sig.asyncness.is_some() && op.captures == Captures::ByMove;
        for one in op.output.read_again() {
            let Some(kind) = one.reborrow else { continue };
            let (ident, cfgs) = (&one.ident, &one.cfgs);
            let mutability = (kind == Reborrow::Mut).then(|| hygienic!(mut));
            if is_moved {
                let lent = format_ident!("lent_{}", ident, span = Span::mixed_site());
                before.extend(hygienic!(#cfgs let #lent = &mut *#ident;));
                in_closure.extend(hygienic!(#cfgs let #ident = #lent;));
                if kind == Reborrow::Mut {
                    inside.extend(hygienic!(#cfgs let mut #ident = #ident;));
                }
            } else {
                inside.extend(hygienic!(#cfgs let #mutability #ident = &mut *#ident;));
            }
        }
        reborrows
    }
}

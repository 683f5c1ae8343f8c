//! Writes a validated [`TracedOp`] as tokens.
//! Nothing here reports errors; by now there are none left to find.
//!
//! ```text
//! fn matmul(a: &Tensor, b: &Tensor) -> Tensor {
//!     let mut op = begin("matmul", (probe(a).__seen(), probe(b).__seen()));
//!     let result: Tensor = if false { unreached() } else { /* the body */ };
//!     Op::end(&mut op, ended(&result).__seen());
//!     result
//! }
//! ```
//!
//! Tensors are handed over as values that describe themselves later, if at all: a closure costs the compiler
//! three times as much, and stands only where the user wrote an expression.
//!
//! The branch that is never taken keeps the code behind a diverging body from being called unreachable.
//! A body with a `return` in it becomes a closure instead of a block, an async one an async block.

use super::function::{Function, ImplBlock};
use super::signature::{Passed, ResultKind, Returns};
use super::validate::{Captures, Described, Device, Output, Reborrow, TracedMember, TracedOp};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Expr;

pub(crate) fn block(block: &ImplBlock, members: &[TracedMember]) -> TokenStream {
    let members = members.iter().map(|member| match member {
        TracedMember::Op(op) => function(op),
        TracedMember::Function(function) => function.as_written(),
        TracedMember::Other(item) => quote!(#item),
    });
    block.around(members)
}

pub(crate) fn function(op: &TracedOp) -> TokenStream {
    let Function { sig, body, .. } = &op.function;
    let statements = if sig.asyncness.is_some() {
        asynchronous(op)
    } else {
        synchronous(op)
    };
    // With the user's own braces the compiler takes the function for theirs: lints see it.
    let mut around = Group::new(Delimiter::Brace, statements);
    around.set_span(body.span());
    op.function.with_body(&around)
}

macro_rules! hygienic {
    ($($tokens:tt)*) => { quote_spanned!(Span::mixed_site()=> $($tokens)*) };
}

fn synchronous(op: &TracedOp) -> TokenStream {
    let private = &op.private;
    let body = &op.function.body;
    let sync = sync(op);
    match &op.returns {
        Returns::Never => {
            let begin = begin(op, Flow::Sync);
            let body = body.stream();
            hygienic!(let _op = #begin; #body)
        }
        Returns::Unit => {
            let begin = begin(op, Flow::Sync);
            let run = run(op, &quote!(()));
            let outputs = outputs(op, &hygienic!(&()));
            hygienic! {
                let mut op = #begin;
                let _unit: () = #run;
                #sync
                #private::Op::end(&mut op, #outputs);
            }
        }
        Returns::Typed(ty) => {
            let begin = begin(op, Flow::Sync);
            let run = run(op, ty);
            let outputs = outputs(op, &hygienic!(&result));
            hygienic! {
                let mut op = #begin;
                let result: #ty = #run;
                #sync
                #private::Op::end(&mut op, #outputs);
                result
            }
        }
        Returns::OpaqueFn(_) if op.sync.is_none() && !matches!(op.output, Output::Given(_)) => {
            let begin = begin(op, Flow::Sync);
            let body = body.stream();
            hygienic!(let _op = #private::unseen(#begin); #body)
        }
        Returns::Opaque(ty) | Returns::OpaqueFn(ty) => {
            let begin = begin(op, Flow::Sync);
            let run = run(op, ty);
            let sync = sync_closure(op);
            let outputs = outputs_of_reference(op);
            hygienic! {
                let op = #begin;
                #private::finish(op, #run, #sync, #outputs)
            }
        }
        Returns::Future => {
            let begin = begin(op, Flow::Deferred);
            let run = run(op, &quote!(_));
            let sync = sync_closure(op);
            let outputs = outputs_of_reference(op);
            hygienic! {
                let op = #begin;
                #private::follow(op, #run, #sync, #outputs)
            }
        }
        Returns::BoxedFuture(ty) => {
            let begin = begin(op, Flow::Deferred);
            let run = run(op, ty);
            let sync = sync_closure(op);
            let outputs = outputs_of_reference(op);
            hygienic! {
                let op = #begin;
                let future: #ty = #run;
                if #private::AsyncOp::is_recording(&op) {
                    #private::Box::pin(#private::follow(op, future, #sync, #outputs))
                } else {
                    future
                }
            }
        }
    }
}

fn asynchronous(op: &TracedOp) -> TokenStream {
    let private = &op.private;
    let begin = begin(op, Flow::Async);
    let sync = sync(op);
    let captures = (op.captures == Captures::ByMove).then(|| hygienic!(move));
    let Reborrows { before, inside } = Reborrows::of(op);
    let (typed, never, declared, result) = match &op.returns {
        Returns::Never => {
            let body = op.function.body.stream();
            return hygienic!(let _op = #begin; #body);
        }
        Returns::Unit => (None, hygienic!(return;), None, None),
        Returns::Typed(ty)
        | Returns::Opaque(ty)
        | Returns::OpaqueFn(ty)
        | Returns::BoxedFuture(ty) => (
            // Named out here: in there the body may import another type of that name.
            Some(hygienic!(let returns = #private::Returns::<#ty>::TYPE;)),
            hygienic!(return returns.unreached();),
            Some(hygienic!(let result: #ty =)),
            Some(hygienic!(result)),
        ),
        Returns::Future => unreachable!("an `async fn` that returns a future returns it as it is"),
    };
    let body = behind(hygienic!(if false { #never } #inside), op);
    let outputs = match result {
        Some(_) => outputs(op, &hygienic!(&result)),
        None => outputs(op, &hygienic!(&())),
    };
    hygienic! {
        let mut op = #begin;
        #typed
        #before
        #declared #private::AsyncOp::run(&mut op, async #captures #body).await;
        #sync
        op.end(#outputs);
        #result
    }
}

/// When an op whose inputs have been handed over begins.
#[derive(Clone, Copy)]
enum Flow {
    Sync,
    Async,
    /// An async op whose function returns a future: it begins when that is polled.
    Deferred,
}

/// `begin("matmul", (…))`
fn begin(op: &TracedOp, flow: Flow) -> TokenStream {
    let private = &op.private;
    let name = if op.name_within {
        // An item in a method has the method's type in its path, which the macro is not told.
        hygienic!({ struct __Here; #private::type_name::<__Here>() })
    } else {
        op.name.to_token_stream()
    };
    let kind = op.kind.as_ref().map(|kind| {
        let variant = Ident::new(&kind.to_string(), Span::mixed_site());
        hygienic!(#private::OpKind::#variant)
    });
    let inputs = inputs(op);
    let kind = match (flow, kind) {
        (Flow::Sync, None) => return hygienic!(#private::begin(#name, #inputs)),
        (Flow::Sync, Some(kind)) => {
            return hygienic!(#private::begin_kind(#name, #kind, #inputs));
        }
        (_, None) => hygienic!(#private::None),
        (_, Some(kind)) => hygienic!(#private::Some(#kind)),
    };
    let begin = match flow {
        Flow::Deferred => hygienic!(begin_deferred),
        Flow::Sync | Flow::Async => hygienic!(begin_async),
    };
    hygienic!(#private::#begin(#name, #kind, #inputs))
}

fn inputs(op: &TracedOp) -> TokenStream {
    let private = &op.private;
    let inputs = op.inputs.iter().map(|input| probe(op, input));
    if !op.is_told_by_closure() {
        return list(&inputs.collect::<Vec<_>>());
    }
    let inputs = op.inputs.iter().zip(inputs).map(|(input, probe)| {
        let cfgs = match input {
            Described::Argument { cfgs, .. } => Some(cfgs),
            Described::Expression(_) => None,
        };
        hygienic!(#cfgs #probe.__tell(sink);)
    });
    let device = op.device.as_ref().map(|device| {
        let device = match device {
            Device::Cpu => hygienic!(#private::Device::Cpu),
            Device::Family(family, number) => {
                let family = Ident::new(&family.to_string(), Span::mixed_site());
                hygienic!(#private::Device::#family(#number))
            }
            Device::Named(name) => hygienic!(#private::Device::named(#name)),
            Device::Expression(device) => hygienic!(#device),
        };
        hygienic!(sink.__device(#device);)
    });
    let flops = op
        .flops
        .iter()
        .map(|flops| hygienic!(sink.__flops(#private::count(#flops));));
    let bytes = op
        .bytes
        .iter()
        .map(|bytes| hygienic!(sink.__bytes(#private::count(#bytes));));
    let meta = op.meta.iter().map(|meta| {
        let key = &meta.key;
        let value = reference(&meta.value);
        hygienic!(sink.__meta(#key, #value);)
    });
    hygienic!(#private::told(|sink| { #(#inputs)* #device #(#flops)* #(#bytes)* #(#meta)* }))
}

/// A list of as many as there are tuples for, nested where it is longer.
fn list(values: &[TokenStream]) -> TokenStream {
    const LONGEST: usize = 8;
    match values {
        [] => hygienic!(()),
        [one] => one.clone(),
        values if values.len() <= LONGEST => hygienic!((#(#values),*)),
        values => {
            let (first, rest) = values.split_at(LONGEST - 1);
            let rest = list(rest);
            hygienic!((#(#first,)* #rest))
        }
    }
}

fn probe(op: &TracedOp, described: &Described) -> TokenStream {
    let private = &op.private;
    let value = match described {
        Described::Argument { ident, passed, .. } => match passed {
            Passed::Shared => hygienic!(#ident),
            Passed::Mut => hygienic!(&*#ident),
            Passed::Value => hygienic!(&#ident),
        },
        Described::Expression(value) => reference(value),
    };
    hygienic!(#private::probe(#value).__seen())
}

/// `&value`, in parentheses where `&` binds closer than what `value` is made of.
fn reference(value: &Expr) -> TokenStream {
    match value {
        Expr::Path(_)
        | Expr::Field(_)
        | Expr::MethodCall(_)
        | Expr::Call(_)
        | Expr::Index(_)
        | Expr::Lit(_)
        | Expr::Macro(_)
        | Expr::Paren(_)
        | Expr::Tuple(_)
        | Expr::Array(_)
        | Expr::Group(_)
        | Expr::Reference(_) => hygienic!(&#value),
        _ => hygienic!(&(#value)),
    }
}

/// The body as an expression that leaves only by its end, a panic, or `?`.
fn run(op: &TracedOp, ty: &TokenStream) -> TokenStream {
    let private = &op.private;
    let Reborrows { before, inside } = Reborrows::of(op);
    debug_assert!(before.is_empty());
    let body = behind(inside, op);
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

/// The body with statements in front of it. The braces stay the user's: their edition decides when
/// temporaries drop, and a second pair around them would be reported as one too many.
fn behind(mut statements: TokenStream, op: &TracedOp) -> Group {
    let body = &op.function.body;
    if statements.is_empty() {
        return body.clone();
    }
    statements.extend(body.stream());
    let mut block = Group::new(Delimiter::Brace, statements);
    block.set_span(body.span());
    block
}

/// Bindings that lend the body its `&mut` parameters, so that they are still there when it is done, and
/// hand it the ones that it may assign to.
struct Reborrows {
    /// In front of an async block that takes what it uses.
    before: TokenStream,
    inside: TokenStream,
}

impl Reborrows {
    fn of(op: &TracedOp) -> Reborrows {
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
        for one in op.output.in_place() {
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

/// The outputs, given an expression for a reference to the result.
fn outputs(op: &TracedOp, result: &TokenStream) -> TokenStream {
    let private = &op.private;
    match &op.output {
        Output::Result if op.result == ResultKind::Scalar => hygienic!(()),
        Output::Result => hygienic!(#private::ended(#result).__seen()),
        Output::InPlace(in_place) => {
            let probes = in_place.iter().map(|one| {
                let (ident, cfgs) = (&one.ident, &one.cfgs);
                (cfgs, hygienic!(#private::probe(&*#ident).__seen()))
            });
            if op.result == ResultKind::Scalar && in_place.iter().all(|one| one.cfgs.is_empty()) {
                return list(&probes.map(|(_, probe)| probe).collect::<Vec<_>>());
            }
            let probes = probes.map(|(cfgs, probe)| hygienic!(#cfgs #probe.__tell(sink);));
            hygienic!(#private::settled(#result).__then(|_, sink| { #(#probes)* }))
        }
        Output::Given(values) => {
            let probes = values.iter().map(|value| {
                let value = reference(value);
                hygienic!(#private::probe(#value).__seen().__tell(sink);)
            });
            // The name that the user's expression says.
            let named = Ident::new("result", Span::call_site());
            hygienic!(#private::settled(#result).__then(|#named, sink| { #(#probes)* }))
        }
    }
}

/// `|result, sink| …`, for the helpers that hold the result themselves.
fn outputs_of_reference(op: &TracedOp) -> TokenStream {
    let private = &op.private;
    if matches!(op.output, Output::Result) && op.result == ResultKind::Scalar {
        return hygienic!(|_, _| {});
    }
    let outputs = outputs(op, &hygienic!(result));
    hygienic!(|result, sink| #private::Describe::describe(#outputs, sink))
}

/// Waits for the device before the end is stamped.
fn sync(op: &TracedOp) -> Option<TokenStream> {
    let sync = op.sync.as_ref()?;
    Some(hygienic!(if op.is_recording() { let _ = #sync; }))
}

fn sync_closure(op: &TracedOp) -> TokenStream {
    if let Some(sync) = &op.sync {
        hygienic!(|| { let _ = #sync; })
    } else {
        hygienic!(|| {})
    }
}

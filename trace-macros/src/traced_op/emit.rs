//! Writes a validated [`TracedOp`] as tokens.
//! Nothing here reports errors; by now there are none left to find.
//!
//! ```text
//! fn matmul(a: &Tensor, b: &Tensor) -> Tensor {
//!     let op = begin(&SITE, |sink| { probe(&a).__describe(sink); probe(&b).__describe(sink); });
//!     let result: Tensor = if false { unreached() } else { /* the body */ };
//!     op.end(|sink| ended(&result).__describe(sink));
//!     result
//! }
//! ```
//!
//! The branch that is never taken keeps the code behind a diverging body from being called unreachable.
//! A body with a `return` in it becomes a closure instead of a block, an async one an async block.

use super::function::{Function, ImplBlock};
use super::signature::{ResultKind, Returns};
use super::validate::{Captures, Described, Device, Output, Reborrow, TracedMember, TracedOp};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
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
            let begin = begin(op, "begin");
            let body = body.stream();
            hygienic!(let _op = #begin; #body)
        }
        Returns::Unit => {
            let begin = begin(op, "begin");
            let run = run(op, &quote!(()));
            let outputs = outputs(op, &hygienic!(&()));
            hygienic! {
                let op = #begin;
                let _unit: () = #run;
                #sync
                op.end(#outputs);
            }
        }
        Returns::Typed(ty) => {
            let begin = begin(op, "begin");
            let run = run(op, ty);
            let outputs = outputs(op, &hygienic!(&result));
            hygienic! {
                let op = #begin;
                let result: #ty = #run;
                #sync
                op.end(#outputs);
                result
            }
        }
        Returns::OpaqueFn(_) if op.sync.is_none() && !matches!(op.output, Output::Given(_)) => {
            let begin = begin(op, "begin");
            let body = body.stream();
            hygienic!(let _op = #private::unseen(#begin); #body)
        }
        Returns::Opaque(ty) | Returns::OpaqueFn(ty) => {
            let begin = begin(op, "begin");
            let run = run(op, ty);
            let sync = sync_closure(op);
            let outputs = outputs_of_reference(op);
            hygienic! {
                let op = #begin;
                #private::finish(op, #run, #sync, #outputs)
            }
        }
        Returns::Future => {
            let begin = begin(op, "begin_deferred");
            let run = run(op, &quote!(_));
            let sync = sync_closure(op);
            let outputs = outputs_of_reference(op);
            hygienic! {
                let op = #begin;
                #private::follow(op, #run, #sync, #outputs)
            }
        }
        Returns::BoxedFuture(ty) => {
            let begin = begin(op, "begin_deferred");
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
    let begin = begin(op, "begin_async");
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

/// `begin(&SITE, |sink| …)`. The static is in a block of its own, where no name of the user's can meet it.
fn begin(op: &TracedOp, begin: &str) -> TokenStream {
    let private = &op.private;
    let name = &op.name;
    let begin = Ident::new(begin, Span::mixed_site());
    let kind = op.kind.as_ref().map(|kind| {
        let variant = Ident::new(&kind.to_string(), Span::mixed_site());
        hygienic!(.with_kind(#private::OpKind::#variant))
    });
    let describe = describe(op);
    let inputs = if describe.is_empty() {
        hygienic!(|_| {})
    } else {
        hygienic!(|sink| { #describe })
    };
    let mut site = hygienic!(#private::Site::new(#name)#kind);
    if op.name_within {
        // An item inside the static has the method's type in its path, which the macro is not told.
        site = hygienic!({ struct __Here; #site.within(#private::type_name::<__Here>) });
    }
    hygienic! {
        #private::#begin(
            { static __SITE: #private::Site = #site; &__SITE },
            #inputs,
        )
    }
}

fn describe(op: &TracedOp) -> TokenStream {
    let private = &op.private;
    let inputs = op.inputs.iter().map(|input| probe(op, input));
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
    hygienic!(#(#inputs)* #device #(#flops)* #(#bytes)* #(#meta)*)
}

fn probe(op: &TracedOp, described: &Described) -> TokenStream {
    let private = &op.private;
    let cfgs = &described.cfgs;
    let value = reference(&described.value);
    hygienic!(#(#cfgs)* #private::probe(#value).__describe(sink);)
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
                .extend(hygienic!(#(#cfgs)* let mut #ident = #ident;));
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
                    .extend(hygienic!(#(#cfgs)* let #lent = &mut *#ident;));
                reborrows
                    .inside
                    .extend(hygienic!(#(#cfgs)* let #mutability #ident = #lent;));
            } else {
                reborrows
                    .inside
                    .extend(hygienic!(#(#cfgs)* let #mutability #ident = &mut *#ident;));
            }
        }
        reborrows
    }
}

/// `|sink| …`, given an expression for a reference to the result.
fn outputs(op: &TracedOp, result: &TokenStream) -> TokenStream {
    if let Some(describe) = described_outputs(op, result) {
        hygienic!(|sink| #describe)
    } else {
        hygienic!(|_| {})
    }
}

/// `|result, sink| …`, for the helpers that hold the result themselves.
fn outputs_of_reference(op: &TracedOp) -> TokenStream {
    if let Some(describe) = described_outputs(op, &hygienic!(result)) {
        hygienic!(|result, sink| #describe)
    } else {
        hygienic!(|_, _| {})
    }
}

fn described_outputs(op: &TracedOp, result: &TokenStream) -> Option<TokenStream> {
    let private = &op.private;
    match &op.output {
        Output::Result if op.result == ResultKind::Scalar => None,
        Output::Result => Some(hygienic!(#private::ended(#result).__describe(sink))),
        Output::InPlace(in_place) => {
            let probes = in_place.iter().map(|one| {
                let (ident, cfgs) = (&one.ident, &one.cfgs);
                hygienic!(#(#cfgs)* #private::probe(&#ident).__describe(sink);)
            });
            if op.result == ResultKind::Scalar {
                return Some(hygienic!({ #(#probes)* }));
            }
            Some(hygienic!(#private::settled(#result).__then(sink, |_, sink| { #(#probes)* })))
        }
        Output::Given(values) => {
            let probes = values.iter().map(|value| {
                let value = reference(value);
                hygienic!(#private::probe(#value).__describe(sink);)
            });
            // The name that the user's expression says.
            let named = Ident::new("result", Span::call_site());
            Some(hygienic!(#private::settled(#result).__then(sink, |#named, sink| { #(#probes)* })))
        }
    }
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

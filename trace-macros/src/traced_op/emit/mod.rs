//! Stage 3: writes a [`Plan`] as tokens. Nothing here can fail.
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
//! The branch that is never taken gives the expression a type even if the body diverges, so that the code after it is
//! not reported as unreachable. A body that contains `return` becomes a closure instead of a block, an async body becomes
//! an async block.

/// Tokens whose names user code cannot see.
macro_rules! hygienic {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}

mod body;
mod tensors;

use super::plan::{Captures, MemberPlan, Name, OpPlan, Output, Plan};
use super::signature::Returns;
use super::validate::item::{Function, ImplBlock};
use body::{Reborrows, after, run};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use tensors::{inputs, outputs, outputs_of_reference};

pub(crate) fn item(plan: &Plan) -> TokenStream {
    match plan {
        Plan::Function(op) => function(op),
        Plan::Impl(block, members) => impl_block(block, members),
    }
}

fn impl_block(block: &ImplBlock, members: &[MemberPlan]) -> TokenStream {
    let members = members.iter().map(|member| match member {
        MemberPlan::Op(op) => function(op),
        MemberPlan::Function(function) => function.as_written(),
        MemberPlan::Other(item) => quote!(#item),
    });
    block.around(members)
}

fn function(op: &OpPlan) -> TokenStream {
    let Function { sig, body, .. } = &op.function;
    let statements = if sig.asyncness.is_some() {
        asynchronous(op)
    } else {
        synchronous(op)
    };
    // With the span of the user's braces, lints treat the function as user code.
    let mut around = Group::new(Delimiter::Brace, statements);
    around.set_span(body.span());
    op.function.with_body(&around)
}

fn synchronous(op: &OpPlan) -> TokenStream {
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

fn asynchronous(op: &OpPlan) -> TokenStream {
    let private = &op.private;
    let begin = begin(op, Flow::Async);
    let sync = sync(op);
    let captures = (op.captures == Captures::ByMove).then(|| hygienic!(move));
    let Reborrows { before, inside } = Reborrows::of(op);
    let ty = match &op.returns {
        Returns::Never => {
            let body = op.function.body.stream();
            return hygienic!(let _op = #begin; #body);
        }
        Returns::Unit => None,
        Returns::Typed(ty)
        | Returns::Opaque(ty)
        | Returns::OpaqueFn(ty)
        | Returns::BoxedFuture(ty) => Some(ty.clone()),
        Returns::Future => Some(hygienic!(_)),
    };
    let (typed, never, declared, result) = match ty {
        None => (None, hygienic!(return;), None, None),
        Some(ty) => (
            // Named outside the block: inside, the body may import another type of that name.
            Some(hygienic!(let returns = #private::Returns::<#ty>::TYPE;)),
            hygienic!(return returns.unreached();),
            Some(hygienic!(let result: #ty =)),
            Some(hygienic!(result)),
        ),
    };
    let body = after(hygienic!(if false { #never } #inside), op);
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

/// When the op begins.
#[derive(Clone, Copy)]
enum Flow {
    /// Now, on this thread.
    Sync,
    /// Now, as a task: the code is already inside a future.
    Async,
    /// When the future that the function returns is first polled.
    Deferred,
}

/// `begin("matmul", (…))`
fn begin(op: &OpPlan, flow: Flow) -> TokenStream {
    let private = &op.private;
    let name = match &op.name {
        Name::PathOfMethod => hygienic!({ struct __Here; #private::type_name::<__Here>() }),
        Name::Given(name) => name.to_token_stream(),
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

/// Waits for the device before the end time is read.
fn sync(op: &OpPlan) -> Option<TokenStream> {
    let sync = op.sync.as_ref()?;
    Some(hygienic!(if op.is_recording() { let _ = #sync; }))
}

fn sync_closure(op: &OpPlan) -> TokenStream {
    if let Some(sync) = &op.sync {
        hygienic!(|| { let _ = #sync; })
    } else {
        hygienic!(|| {})
    }
}

//! Stage 3: writes a [`Plan`] as tokens. Nothing here can fail.
//!
//! ```text
//! fn matmul(a: &Tensor, b: &Tensor) -> Tensor {
//!     let mut op = begin("matmul\0…", (probe(a).__tensors(), probe(b).__tensors()));
//!     let result: Tensor = if false { unreached() } else { /* the body */ };
//!     Op::end(&mut op, outcome(&result).__tensors());
//!     result
//! }
//! ```
//!
//! The branch that is never taken gives the expression a type even if the body diverges, so that the code after it is
//! not reported as unreachable. A body that contains `return` becomes a closure instead of a block, an async body
//! becomes an async block.

/// Tokens whose names user code cannot see.
macro_rules! hygienic {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}

mod body;
mod tensors;

use super::plan::op_plan::{Captures, Form, Name, OpPlan};
use super::plan::{MemberPlan, Plan};
use super::validate::item::{Function, ImplBlock};
use body::{Reborrows, after, owned, run};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::quote;
use syn::LitStr;
use tensors::{ResultName, inputs, outputs, outputs_of_reference};

pub(crate) fn item(plan: &Plan) -> TokenStream {
    match plan {
        Plan::Function(op) => function(op),
        Plan::Untouched(function) => function.as_written(),
        Plan::Impl(block, members) => impl_block(block, members),
    }
}

fn impl_block(block: &ImplBlock, members: &[MemberPlan]) -> TokenStream {
    let members = members.iter().map(|member| match member {
        MemberPlan::Op(op) => function(op),
        MemberPlan::Function(function) => function.as_written(),
        MemberPlan::Annotated(function, attribute) => function.with_attribute(attribute),
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
    // The span of the user's braces makes lints treat the function as user code.
    let mut around = Group::new(Delimiter::Brace, statements);
    around.set_span(body.span());
    op.function.with_body(&around)
}

fn synchronous(op: &OpPlan) -> TokenStream {
    let private = &op.private;
    let body = &op.function.body;
    let sync = sync(op);
    match &op.form {
        Form::Never => {
            let begin = begin(op, Flow::Sync);
            let body = body.stream();
            hygienic!(let _op = #begin; #body)
        }
        Form::Unseen => {
            let begin = begin(op, Flow::Sync);
            let body = body.stream();
            hygienic!(let _op = #private::unseen(#begin); #body)
        }
        Form::Unit => {
            let begin = begin(op, Flow::Sync);
            let run = run(op, &quote!(()));
            let outputs = outputs(op, &ResultName::unit());
            hygienic! {
                let mut op = #begin;
                let _unit: () = #run;
                #sync
                #private::Op::end(&mut op, #outputs);
            }
        }
        Form::Typed(ty) => {
            let begin = begin(op, Flow::Sync);
            let run = run(op, ty);
            let outputs = outputs(op, &ResultName::value());
            hygienic! {
                let mut op = #begin;
                let result: #ty = #run;
                #sync
                #private::Op::end(&mut op, #outputs);
                result
            }
        }
        Form::Opaque(ty) => {
            let begin = begin(op, Flow::Sync);
            let run = run(op, ty);
            let sync = sync_closure(op, &hygienic!(Op));
            let outputs = outputs_of_reference(op);
            hygienic! {
                let op = #begin;
                #private::finish(op, #run, #sync, #outputs)
            }
        }
        Form::Future => {
            let begin = begin(op, Flow::Deferred);
            let run = run(op, &quote!(_));
            let sync = sync_closure(op, &hygienic!(AsyncOp));
            let outputs = outputs_of_reference(op);
            hygienic! {
                let op = #begin;
                #private::follow(op, #run, #sync, #outputs)
            }
        }
        Form::BoxedFuture(ty) => {
            let begin = begin(op, Flow::Deferred);
            let run = run(op, ty);
            let sync = sync_closure(op, &hygienic!(AsyncOp));
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
        Form::PerhapsBoxedFuture(ty) => {
            let begin = begin(op, Flow::ByType);
            let run = run(op, ty);
            let outputs = outputs_of_reference(op);
            hygienic! {
                let flow = #private::Returns::<#ty>::TYPE.__flow();
                let op = #begin;
                let result: #ty = #run;
                flow.end(op, result, #outputs)
            }
        }
    }
}

/// ```text
/// async fn load(mut path: Path) -> Tensor {
///     let returns = Returns::<Tensor>::TYPE;
///     let (op, result) = starting(move || {
///         let op = begin_async("load\0…", None, probe(&path).__tensors());
///         (op, async move {
///             if false { let _ = &path; return returns.unreached(); }
///             let mut path = path;
///             /* the body */
///         })
///     }).await;
///     AsyncOp::end(op, outcome(&result).__tensors());
///     result
/// }
/// ```
fn asynchronous(op: &OpPlan) -> TokenStream {
    let private = &op.private;
    let begin = begin(op, Flow::Async);
    let ty = match &op.form {
        Form::Never => {
            let body = op.function.body.stream();
            return hygienic!(let _op = #begin; #body);
        }
        Form::Unseen => {
            let body = op.function.body.stream();
            return hygienic!(let _op = #private::unseen_task(#begin); #body);
        }
        Form::Unit => None,
        Form::Typed(ty)
        | Form::Opaque(ty)
        | Form::BoxedFuture(ty)
        | Form::PerhapsBoxedFuture(ty) => Some(ty.clone()),
        Form::Future => Some(hygienic!(_)),
    };
    let Reborrows {
        before,
        in_closure,
        inside,
    } = Reborrows::of(op);
    let (returns, never) = match &ty {
        None => (None, hygienic!(return;)),
        // The type is named outside the block, because the body may import another type of that name.
        Some(ty) => (
            Some(hygienic!(let returns = #private::Returns::<#ty>::TYPE;)),
            hygienic!(return returns.unreached();),
        ),
    };
    let owned = owned(op);
    let body = after(hygienic!(if false { #owned #never } #inside), op);
    let (begin, run) = match op.captures {
        Captures::ByMove => (
            None,
            hygienic! {
                #private::starting(move || { #in_closure let op = #begin; (op, async move #body) })
            },
        ),
        // A separate statement begins the op. Otherwise its temporaries would live across the await, and they may not
        // be `Send`.
        Captures::ByUse => (
            Some(hygienic!(let op = #begin;)),
            hygienic!(#private::running(op, async #body)),
        ),
    };
    let sync = sync(op);
    let outputs = match ty {
        Some(_) => outputs(op, &ResultName::value()),
        None => outputs(op, &ResultName::unit()),
    };
    let mutable = sync.as_ref().map(|_| hygienic!(mut));
    let (binding, result) = match ty {
        Some(_) => (hygienic!(result), Some(hygienic!(result))),
        None => (hygienic!(_), None),
    };
    hygienic! {
        #returns
        #before
        #begin
        let (#mutable op, #binding) = #run.await;
        #sync
        #private::AsyncOp::end(op, #outputs);
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
    /// Now or at the first poll; the variable `flow` decides it.
    ByType,
}

/// `begin("matmul\0…", (…))`
fn begin(op: &OpPlan, flow: Flow) -> TokenStream {
    let private = &op.private;
    let name = name(op);
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
        Flow::Deferred => hygienic!(#private::begin_deferred),
        Flow::ByType => hygienic!(flow.begin),
        Flow::Sync | Flow::Async => hygienic!(#private::begin_async),
    };
    hygienic!(#begin(#name, #kind, #inputs))
}

/// The name with the module and the location, in one of the forms of `SiteName`:
///
/// ```text
/// concat!("matmul\0", module_path!(), "\0src/nn.rs:12")
/// const { &Named(NAME, concat!(module_path!(), "\0src/nn.rs:12")) }
/// (name(), concat!(module_path!(), "\0src/nn.rs:12"))
/// { struct __Here; &Method(type_name::<__Here>, concat!(module_path!(), "\0src/nn.rs:12")) }
/// ```
fn name(op: &OpPlan) -> TokenStream {
    let private = &op.private;
    let text = |text: &str| LitStr::new(text, Span::mixed_site());
    let location = text(&format!("\0{}", op.location));
    let module = hygienic!(#private::module_path!());
    match &op.name {
        Name::Literal(name) => {
            let name = text(&format!("{name}\0"));
            hygienic!(#private::concat!(#name, #module, #location))
        }
        Name::Constant(name) => {
            hygienic!(const { &#private::Named(#name, #private::concat!(#module, #location)) })
        }
        Name::Expression(name) => hygienic!((#name, #private::concat!(#module, #location))),
        Name::PathOfMethod => hygienic!({
            struct __Here;
            &#private::Method(#private::type_name::<__Here>, #private::concat!(#module, #location))
        }),
    }
}

/// Waits for the device before the end time is read.
fn sync(op: &OpPlan) -> Option<TokenStream> {
    let sync = op.sync.as_ref()?;
    let private = &op.private;
    let ty = if op.function.sig.asyncness.is_some() {
        hygienic!(AsyncOp)
    } else {
        hygienic!(Op)
    };
    Some(hygienic!(if #private::#ty::begin_sync(&mut op) { let _ = #sync; }))
}

/// The wait of [`sync`] as a closure that gets the op: an `Op` or an `AsyncOp`.
fn sync_closure(op: &OpPlan, ty: &TokenStream) -> TokenStream {
    let private = &op.private;
    if let Some(sync) = &op.sync {
        hygienic!(|op| if #private::#ty::begin_sync(op) { let _ = #sync; })
    } else {
        hygienic!(|_| {})
    }
}

//! Writes the inputs and outputs of an op: the code that finds the tensors in them.
//!
//! Tensors are passed as values that describe themselves only while recording. A closure would do the same for three
//! times the compile time, so there is one only where the user wrote an expression.

use crate::traced_op::plan::{Input, OpPlan, Output};
use crate::traced_op::signature::{Passed, ResultKind};
use crate::traced_op::validate::function::Device;
use proc_macro2::{Ident, Span, TokenStream};
use syn::Expr;

/// The inputs as one value: a tuple, or a closure.
pub(super) fn inputs(op: &OpPlan) -> TokenStream {
    let private = &op.private;
    let inputs = op.inputs.iter().map(|input| probe(op, input));
    if !op.needs_input_closure() {
        return list(&inputs.collect::<Vec<_>>());
    }
    let inputs = op.inputs.iter().zip(inputs).map(|(input, probe)| {
        let cfgs = match input {
            Input::Argument { cfgs, .. } => Some(cfgs),
            Input::Expression(_) => None,
        };
        hygienic!(#cfgs #probe.__tell(sink);)
    });
    let device = op.device.as_ref().map(|device| {
        let device = match device {
            Device::Cpu => hygienic!(#private::Device::Cpu),
            Device::Numbered(family, number) => {
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

/// One value, or a tuple. A tuple of more than eight is nested: longer ones are not described.
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

fn probe(op: &OpPlan, input: &Input) -> TokenStream {
    let private = &op.private;
    let value = match input {
        Input::Argument { ident, passed, .. } => match passed {
            Passed::Shared => hygienic!(#ident),
            Passed::Mut => hygienic!(&*#ident),
            Passed::Value => hygienic!(&#ident),
        },
        Input::Expression(value) => reference(value),
    };
    hygienic!(#private::probe(#value).__seen())
}

/// `&value`, in parentheses where `&` has a higher precedence than the operators in `value`.
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

/// The outputs, given an expression for a reference to the result.
pub(super) fn outputs(op: &OpPlan, result: &TokenStream) -> TokenStream {
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
            // The name that the user's expression contains.
            let named = Ident::new("result", Span::call_site());
            hygienic!(#private::settled(#result).__then(|#named, sink| { #(#probes)* }))
        }
    }
}

/// `|result, sink| …`, for the helpers that own the result.
pub(super) fn outputs_of_reference(op: &OpPlan) -> TokenStream {
    let private = &op.private;
    if matches!(op.output, Output::Result) && op.result == ResultKind::Scalar {
        return hygienic!(|_, _| {});
    }
    let outputs = outputs(op, &hygienic!(result));
    hygienic!(|result, sink| #private::Describe::describe(#outputs, sink))
}

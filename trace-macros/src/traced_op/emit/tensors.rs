//! Writes the inputs and outputs of an op: the code that finds the tensors in them.
//!
//! Tensors are passed as values that describe themselves only while recording. A closure could do the same but takes
//! three times the compile time, so it is used only if the user wrote an expression, or a type contains a tuple.

use crate::traced_op::plan::op_plan::{Input, OpPlan};
use crate::traced_op::plan::output::Output;
use crate::traced_op::signature::Passed;
use crate::traced_op::types::{ResultKind, Search};
use crate::traced_op::validate::function::Device;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use syn::Expr;

/// The inputs as one value: a tuple, or a closure; `labelled(|| label, …)` around it if the op has a label.
pub(super) fn inputs(op: &OpPlan) -> TokenStream {
    let private = &op.private;
    let inputs = unlabelled_inputs(op);
    match &op.label {
        Some(label) => hygienic!(#private::labelled(|| #label, #inputs)),
        None => inputs,
    }
}

fn unlabelled_inputs(op: &OpPlan) -> TokenStream {
    let private = &op.private;
    if !op.needs_input_closure() {
        let found = op.inputs.iter().flat_map(|input| found_in_input(op, input));
        return list(&found.collect::<Vec<_>>());
    }
    let inputs = op.inputs.iter().map(|input| {
        let found = described(op, &found_in_input(op, input));
        match input {
            Input::Argument { cfgs, .. } if !cfgs.is_empty() => hygienic!(#cfgs { #found }),
            _ => found,
        }
    });
    let device = op.device.as_ref().map(|device| {
        let device = match device {
            Device::Cpu => hygienic!(#private::Device::Cpu),
            Device::Numbered(family, number) => {
                let family = Ident::new(&family.to_string(), Span::mixed_site());
                hygienic!(#private::Device::#family(#number))
            }
            Device::Named(name) => hygienic!(#private::Device::named(#name)),
            Device::Expression(device) => hygienic!(#private::device(#device)),
        };
        hygienic!(sink.__device(|| #device);)
    });
    let flops = op
        .flops
        .iter()
        .map(|flops| hygienic!(sink.__flops(|| #private::count(#flops));));
    let bytes = op
        .bytes
        .iter()
        .map(|bytes| hygienic!(sink.__bytes(|| #private::count(#bytes));));
    let meta = op.meta.iter().map(|meta| {
        let key = &meta.key;
        let value = reference(&meta.value);
        hygienic!(sink.__meta(#key, || #private::text(#value));)
    });
    hygienic!(#private::described_by(|sink| { #(#inputs)* #device #(#flops)* #(#bytes)* #(#meta)* }))
}

/// One value, or a tuple. A tuple of more than eight is nested: longer tuples are not described.
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

/// The values that describe the tensors in an input.
fn found_in_input(op: &OpPlan, input: &Input) -> Vec<TokenStream> {
    match input {
        Input::Argument {
            ident,
            passed,
            search,
            ..
        } => {
            let whole = match passed {
                Passed::Shared => hygienic!(#ident),
                Passed::Mut => hygienic!(&*#ident),
                Passed::Value => hygienic!(&#ident),
            };
            found(op, search, &whole, &hygienic!(#ident))
        }
        Input::Expression(value) => vec![probe(op, &reference(value))],
    }
}

/// The values that describe the tensors in `whole`, a reference to `place`.
fn found(
    op: &OpPlan,
    search: &Search,
    whole: &TokenStream,
    place: &TokenStream,
) -> Vec<TokenStream> {
    match search {
        Search::Nothing => Vec::new(),
        Search::Whole => vec![probe(op, whole)],
        Search::Tuple(parts) => parts
            .iter()
            .enumerate()
            .flat_map(|(index, part)| {
                let index = Literal::usize_unsuffixed(index);
                let place = hygienic!(#place.#index);
                found(op, part, &hygienic!(&#place), &place)
            })
            .collect(),
        Search::Success(inner) => {
            let private = &op.private;
            let value = hygienic!(value);
            let inner = described(op, &found(op, inner, &value, &value));
            vec![hygienic!(#private::success(#whole).__describe(|value, sink| { #inner }))]
        }
    }
}

/// Statements that describe these values.
fn described(op: &OpPlan, values: &[TokenStream]) -> TokenStream {
    let private = &op.private;
    values
        .iter()
        .map(|value| hygienic!(#private::Describe::describe(#value, sink);))
        .collect()
}

/// The tensors in the value that `reference` refers to.
fn probe(op: &OpPlan, reference: &TokenStream) -> TokenStream {
    let private = &op.private;
    hygienic!(#private::probe(#reference).__tensors())
}

/// `&value`, in parentheses if `&` has a higher precedence than the operators in `value`.
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

/// The outputs, given the name of the result or of a reference to it.
pub(super) fn outputs(op: &OpPlan, result: &ResultName) -> TokenStream {
    let private = &op.private;
    let ResultName { reference, place } = result;
    match &op.output {
        Output::Result => match &op.search {
            _ if op.result == ResultKind::Scalar => hygienic!(()),
            search @ (Search::Tuple(_) | Search::Success(_)) => {
                list(&found(op, search, reference, place))
            }
            Search::Whole | Search::Nothing => {
                hygienic!(#private::outcome(#reference).__tensors())
            }
        },
        Output::InPlace(in_place) => {
            let probes = in_place.iter().map(|one| {
                let (ident, cfgs) = (&one.ident, &one.cfgs);
                let search = match &one.search {
                    // If a parameter contains an error, the op has not failed.
                    Search::Success(_) => &Search::Whole,
                    search => search,
                };
                (
                    cfgs,
                    found(op, search, &hygienic!(&*#ident), &hygienic!(#ident)),
                )
            });
            if op.result == ResultKind::Scalar && in_place.iter().all(|one| one.cfgs.is_empty()) {
                return list(&probes.flat_map(|(_, found)| found).collect::<Vec<_>>());
            }
            let probes = probes.map(|(cfgs, found)| {
                let described = described(op, &found);
                if cfgs.is_empty() {
                    described
                } else {
                    hygienic!(#cfgs { #described })
                }
            });
            hygienic!(#private::success(#reference).__describe(|_, sink| { #(#probes)* }))
        }
        Output::Given(values) => {
            let values: Vec<_> = values
                .iter()
                .map(|value| probe(op, &self::reference(value)))
                .collect();
            let described = described(op, &values);
            // The name that the user's expression contains.
            let named = Ident::new("result", Span::call_site());
            hygienic!(#private::success(#reference).__describe(|#named, sink| { #described }))
        }
    }
}

/// The result of an op, in the code that describes it.
pub(super) struct ResultName {
    reference: TokenStream,
    /// Without the `&`.
    place: TokenStream,
}

impl ResultName {
    /// The variable `result` holds the result.
    pub(super) fn value() -> ResultName {
        ResultName {
            reference: hygienic!(&result),
            place: hygienic!(result),
        }
    }

    /// The variable `result` is a reference to the result.
    fn reference() -> ResultName {
        ResultName {
            reference: hygienic!(result),
            place: hygienic!(result),
        }
    }

    /// The result is `()`.
    pub(super) fn unit() -> ResultName {
        ResultName {
            reference: hygienic!(&()),
            place: hygienic!(()),
        }
    }
}

/// `|result, sink| …`, for the helpers that own the result.
pub(super) fn outputs_of_reference(op: &OpPlan) -> TokenStream {
    let private = &op.private;
    if matches!(op.output, Output::Result) && op.result == ResultKind::Scalar {
        return hygienic!(|_, _| {});
    }
    let outputs = outputs(op, &ResultName::reference());
    hygienic!(|result, sink| #private::Describe::describe(#outputs, sink))
}

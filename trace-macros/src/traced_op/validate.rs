//! Decides whether the options fit the function. Everything that can reject user code is here and in the
//! parsing before it; emitting cannot fail.

use super::body;
use super::diagnostics::{Mistakes, did_you_mean, listed};
use super::function::Function;
use super::options::{Given, Meta, Options, Skip};
use super::paths::{self, ends_in};
use super::signature::{self, Access, Binding, Passed, ResultKind, Returns};
use proc_macro2::{Ident, Span, TokenStream};
use std::rc::Rc;
use syn::ext::IdentExt;
use syn::{Expr, ExprLit, ImplItem, Lit, LitStr};

/// A function and how it is recorded.
pub(crate) struct TracedOp {
    pub(crate) function: Function,
    pub(crate) private: TokenStream,
    pub(crate) name: Expr,
    /// The name is that of a method, in an `impl` that the macro does not see.
    pub(crate) name_within: bool,
    pub(crate) kind: Option<Ident>,
    pub(crate) device: Option<Device>,
    pub(crate) inputs: Vec<Described>,
    pub(crate) flops: Option<Expr>,
    pub(crate) bytes: Option<Expr>,
    pub(crate) meta: Vec<Meta>,
    pub(crate) sync: Option<Rc<Expr>>,
    pub(crate) output: Output,
    pub(crate) result: ResultKind,
    pub(crate) returns: Returns,
    pub(crate) has_return: bool,
    pub(crate) captures: Captures,
    /// `mut` parameters that an async block binds again.
    pub(crate) rebound: Vec<Rebound>,
}

impl TracedOp {
    /// Whether something stands between the arguments and being handed over as they are: an expression that
    /// is evaluated only while recording, or a `#[cfg]`.
    pub(crate) fn is_told_by_closure(&self) -> bool {
        let is_plain = |input: &Described| matches!(input, Described::Argument { cfgs, .. } if cfgs.is_empty());
        self.flops.is_some()
            || self.bytes.is_some()
            || !self.meta.is_empty()
            || self.device.is_some()
            || !self.inputs.iter().all(is_plain)
    }
}

/// A method of an annotated `impl`, or anything else in it.
pub(crate) enum TracedMember {
    Op(Box<TracedOp>),
    Function(Box<Function>),
    Other(Box<ImplItem>),
}

/// Something that is asked for its tensors.
pub(crate) enum Described {
    Argument {
        ident: Ident,
        cfgs: TokenStream,
        passed: Passed,
    },
    Expression(Expr),
}

pub(crate) enum Device {
    /// Known when the macro runs.
    Cpu,
    Family(Ident, u16),
    Named(String),
    Expression(Rc<Expr>),
}

/// Where the op's outputs are.
pub(crate) enum Output {
    /// In the result.
    Result,
    /// In the parameters that the body wrote to.
    InPlace(Vec<InPlace>),
    /// Where the user says.
    Given(Vec<Expr>),
}

pub(crate) struct InPlace {
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
    /// The body gets a reborrow under the same name, which it may give away; `self` has no second name.
    pub(crate) reborrow: Option<Reborrow>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reborrow {
    Plain,
    /// The parameter was declared `mut`; now the reborrow is.
    Mut,
}

/// A `mut` parameter under its own name, inside.
pub(crate) struct Rebound {
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
}

impl Rebound {
    fn of(binding: &Binding) -> Rebound {
        Rebound {
            ident: binding.ident.clone(),
            cfgs: binding.cfgs.clone(),
        }
    }
}

/// How a body that became a closure or an async block gets at the parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Captures {
    ByUse,
    ByMove,
}

pub(crate) fn function(
    mut function: Function,
    options: Options,
    context: &Context,
    mistakes: &mut Mistakes,
) -> Option<TracedOp> {
    check_attributes(&function, &options, mistakes);
    let bindings = signature::bindings(&function.sig);
    let skipped = skipped(&function, &options, &bindings, mistakes);
    let name_within = options.name.is_none()
        && context.type_name.is_none()
        && signature::is_method(&function.sig);
    let name = name(&function, options.name, context, mistakes);
    let kind = options.kind.and_then(|kind| kind_variant(&kind, mistakes));
    let device = options
        .device
        .and_then(|device| known_device(device, mistakes));
    let meta = options.meta.map_or_else(Vec::new, |meta| meta.value);
    check_meta(&meta, mistakes);
    if !mistakes.is_empty() {
        return None;
    }

    body::lift_inner_attributes(&mut function);
    let described: Vec<&Binding> = bindings
        .iter()
        .filter(|binding| binding.may_hold_tensors && !skipped.contains(&binding.ident))
        .filter(|binding| !binding.ident.to_string().starts_with('_'))
        .collect();
    let inputs = match options.inputs {
        Some(inputs) => inputs
            .value
            .into_iter()
            .map(Described::Expression)
            .collect(),
        None => described.iter().copied().map(Described::binding).collect(),
    };
    // A capture by reference of a value that is not `Sync` would cost a future its `Send`.
    let may_borrow = function.sig.asyncness.is_none()
        || bindings
            .iter()
            .all(|binding| binding.access != Access::Other);
    let result = signature::result_kind(&function.sig);
    let output = match options.output {
        Some(output) => Output::Given(output.value),
        None if result.holds_no_borrow() => in_place(&described, &function, may_borrow),
        None => Output::Result,
    };
    let reads_later = matches!(output, Output::Given(_)) || options.sync.is_some();
    let captures = if output.reads_self() {
        Captures::ByUse
    } else if reads_later {
        if may_borrow {
            Captures::ByUse
        } else {
            Captures::ByMove
        }
    } else if function.sig.asyncness.is_none() && result.holds_no_borrow() {
        Captures::ByUse
    } else {
        Captures::ByMove
    };
    let has_return = body::has_return(&function.body);
    // What an async block captures cannot be assigned a borrow of one of its own locals; what it binds can.
    let is_captured = function.sig.asyncness.is_some();
    let rebound: Vec<Rebound> = bindings
        .iter()
        .filter(|binding| binding.is_mut && is_captured && !reads_later)
        .filter(|binding| !output.reads(&binding.ident))
        .map(Rebound::of)
        .collect();
    let lent = output
        .in_place()
        .iter()
        .filter(|one| one.reborrow == Some(Reborrow::Mut));
    let names: Vec<&Ident> = lent
        .map(|one| &one.ident)
        .chain(rebound.iter().map(|one| &one.ident))
        .collect();
    signature::without_mut(&mut function.sig, &names);
    Some(TracedOp {
        returns: signature::returns(&function.sig),
        has_return,
        rebound,
        private: paths::private(options.krate.as_ref().map(|krate| &*krate.value)),
        name,
        name_within,
        kind,
        device,
        inputs,
        flops: options.flops.map(|flops| flops.value),
        bytes: options.bytes.map(|bytes| bytes.value),
        meta,
        sync: options.sync.map(|sync| sync.value),
        output,
        result,
        captures,
        function,
    })
}

fn check_attributes(function: &Function, options: &Options, mistakes: &mut Mistakes) {
    if let Some(token) = &function.sig.constness {
        mistakes.at(
            token,
            "a `const fn` cannot be recorded: it may run in the compiler; remove `const`, or record its \
             callers",
        );
    }
    let is_ours = |attr: &&syn::Attribute| ends_in(attr.path(), "traced_op");
    if let Some(again) = function.attrs.iter().find(is_ours) {
        mistakes.at(
            again,
            "`#[traced_op]` is given twice; join their options into one",
        );
    }
    if let Some(Given {
        key,
        value: Skip::Method,
    }) = &options.skip
    {
        mistakes.at(
            key,
            "`skip` alone leaves a method out of an annotated `impl`, and this function is in none; name \
             the parameters to skip: `skip(x, y)`",
        );
    }
}

/// The `&mut` parameters, if there are any: what the body wrote to is what came out.
fn in_place(described: &[&Binding], function: &Function, may_borrow: bool) -> Output {
    let in_place: Vec<InPlace> = described
        .iter()
        .filter_map(|binding| InPlace::of(binding, function, may_borrow))
        .collect();
    if in_place.is_empty() {
        return Output::Result;
    }
    Output::InPlace(in_place)
}

impl Output {
    pub(crate) fn in_place(&self) -> &[InPlace] {
        match self {
            Output::InPlace(in_place) => in_place,
            _ => &[],
        }
    }

    fn reads(&self, ident: &Ident) -> bool {
        self.in_place().iter().any(|one| one.ident == *ident)
    }

    /// Whether `self` is read again after the body, which then must not take it along.
    fn reads_self(&self) -> bool {
        self.in_place().iter().any(|one| one.reborrow.is_none())
    }
}

/// What surrounds a function.
#[derive(Default)]
pub(crate) struct Context {
    /// The type of the annotated `impl` it is in.
    pub(crate) type_name: Option<String>,
}

fn skipped(
    function: &Function,
    options: &Options,
    bindings: &[Binding],
    mistakes: &mut Mistakes,
) -> Vec<Ident> {
    let Some(Given {
        key,
        value: Skip::Parameters(skipped),
    }) = &options.skip
    else {
        return Vec::new();
    };
    if skipped.is_empty() {
        mistakes.at(key, "`skip` names no parameter; write `skip(x, y)`");
    }
    if options.inputs.is_some() {
        mistakes.at(
            key,
            "`skip` does nothing beside `inputs`, which already says what is described; keep one",
        );
    }
    let names: Vec<String> = bindings
        .iter()
        .map(|binding| binding.ident.to_string())
        .collect();
    for (index, ident) in skipped.iter().enumerate() {
        if skipped[..index].contains(ident) {
            mistakes.at(ident, format_args!("`skip` names `{ident}` twice"));
        }
        if !names.iter().any(|name| ident == name) {
            let written = ident.to_string();
            let owner = function.sig.ident.unraw();
            let way_out =
                did_you_mean(&written, names.iter().map(String::as_str)).unwrap_or_else(|| {
                    if names.is_empty() {
                        "; it has none".into()
                    } else {
                        format!("; there are {}", listed(names.iter().map(String::as_str)))
                    }
                });
            mistakes.at(
                ident,
                format_args!(
                    "`skip` names `{written}`, which is not a parameter of `{owner}`{way_out}"
                ),
            );
        }
    }
    skipped.clone()
}

fn name(
    function: &Function,
    given: Option<Given<Expr>>,
    context: &Context,
    mistakes: &mut Mistakes,
) -> Expr {
    let ident = function.sig.ident.unraw();
    let Some(Given { key, value }) = given else {
        let name = match &context.type_name {
            Some(type_name) => format!("{type_name}::{ident}"),
            None => ident.to_string(),
        };
        let literal = Lit::Str(LitStr::new(&name, Span::mixed_site()));
        return Expr::Lit(ExprLit {
            attrs: Vec::new(),
            lit: literal,
        });
    };
    check_name(&key, &value, mistakes);
    value
}

fn check_name(key: &Ident, value: &Expr, mistakes: &mut Mistakes) {
    match without_group(value) {
        Expr::Lit(ExprLit {
            lit: Lit::Str(name),
            ..
        }) if name.value().trim().is_empty() => {
            mistakes.at(
                name,
                "`name` is empty; remove it to use the function's own name",
            );
        }
        Expr::Lit(ExprLit {
            lit: Lit::Str(_), ..
        })
        | Expr::Macro(_)
        | Expr::Path(_) => {}
        other => mistakes.at(
            other,
            format_args!("`{key}` takes a string or a constant: `{key} = \"conv2d\"`"),
        ),
    }
}

const KINDS: [(&str, &str); 5] = [
    ("compute", "Compute"),
    ("communication", "Communication"),
    ("memory", "Memory"),
    ("io", "Io"),
    ("other", "Other"),
];

fn kind_variant(kind: &Given<Ident>, mistakes: &mut Mistakes) -> Option<Ident> {
    let written = kind.value.to_string();
    if let Some((_, variant)) = KINDS.iter().find(|(name, _)| *name == written) {
        return Some(Ident::new(variant, kind.value.span()));
    }
    let names = KINDS.map(|(name, _)| name);
    let way_out =
        did_you_mean(&written, names).unwrap_or_else(|| format!("; there are {}", listed(names)));
    mistakes.at(
        &kind.value,
        format_args!("`{written}` is not a kind of op{way_out}"),
    );
    None
}

fn known_device(device: Given<Rc<Expr>>, mistakes: &mut Mistakes) -> Option<Device> {
    let literal = match without_group(&device.value) {
        Expr::Lit(ExprLit {
            lit: Lit::Str(literal),
            ..
        }) => literal,
        other @ Expr::Lit(_) => {
            mistakes.at(
                other,
                "`device` takes a name or an expression: `device = \"cuda:0\"`",
            );
            return None;
        }
        _ => return Some(Device::Expression(device.value)),
    };
    let name = literal.value();
    if name.trim().is_empty() {
        mistakes.at(
            &literal,
            "`device` is empty; remove it to use the devices of the tensors",
        );
        return None;
    }
    if name == "cpu" {
        return Some(Device::Cpu);
    }
    let family = name.split_once(':').and_then(|(family, ordinal)| {
        let variant = match family {
            "cuda" => "Cuda",
            "metal" => "Metal",
            "rocm" => "Rocm",
            "vulkan" => "Vulkan",
            "wgpu" => "Wgpu",
            _ => return None,
        };
        let number: u16 = ordinal.parse().ok()?;
        (number.to_string() == ordinal)
            .then(|| Device::Family(Ident::new(variant, literal.span()), number))
    });
    Some(family.unwrap_or(Device::Named(name)))
}

pub(crate) fn check_meta(meta: &[Meta], mistakes: &mut Mistakes) {
    for (index, one) in meta.iter().enumerate() {
        if meta[..index].iter().any(|other| other.key == one.key) {
            mistakes.at_span(
                one.key_span,
                format_args!("`meta` has `{}` twice; keep one", one.key),
            );
        }
    }
}

/// Looks through the invisible delimiters of a `macro_rules!` capture.
pub(crate) fn without_group(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => without_group(&group.expr),
        expr => expr,
    }
}

impl Described {
    fn binding(binding: &Binding) -> Described {
        Described::Argument {
            ident: binding.ident.clone(),
            cfgs: binding.cfgs.clone(),
            passed: binding.passed,
        }
    }
}

impl InPlace {
    fn of(binding: &Binding, function: &Function, may_borrow: bool) -> Option<InPlace> {
        let reborrow = match binding.access {
            Access::InPlace if binding.is_mut => Some(Reborrow::Mut),
            Access::InPlace => Some(Reborrow::Plain),
            Access::SelfInPlace if may_borrow && body::keeps_self(&function.body) => None,
            _ => return None,
        };
        Some(InPlace {
            ident: binding.ident.clone(),
            cfgs: binding.cfgs.clone(),
            reborrow,
        })
    }
}

//! Checks that the options fit the function.

use super::item::Function;
use super::mistakes::{Mistakes, did_you_mean, listed};
use super::options::{Given, Meta, Options, Skip};
use crate::traced_op::paths::ends_in;
use crate::traced_op::signature::{self, Binding};
use proc_macro2::Ident;
use std::rc::Rc;
use syn::ext::IdentExt;
use syn::{Expr, ExprLit, Lit, Path};

/// A function that can be recorded, with options that fit it.
pub(crate) struct CheckedFunction {
    pub(crate) function: Function,
    pub(crate) options: CheckedOptions,
    /// The type of the annotated `impl` that contains the function.
    pub(crate) type_name: Option<String>,
}

/// The options of a function. [`Options`] is the form before the check.
pub(crate) struct CheckedOptions {
    pub(crate) name: Option<Expr>,
    /// A variant of `OpKind`.
    pub(crate) kind: Option<Ident>,
    pub(crate) device: Option<Device>,
    pub(crate) label: Option<Rc<Expr>>,
    pub(crate) skipped: Vec<Ident>,
    pub(crate) inputs: Option<Vec<Expr>>,
    pub(crate) output: Option<Vec<Expr>>,
    pub(crate) flops: Option<Expr>,
    pub(crate) bytes: Option<Expr>,
    pub(crate) meta: Vec<Meta>,
    pub(crate) sync: Option<Rc<Expr>>,
    pub(crate) krate: Option<Rc<Path>>,
}

/// The value of `device = …`.
pub(crate) enum Device {
    Cpu,
    /// `"cuda:0"`: a variant of `Device` and its number.
    Numbered(Ident, u16),
    Named(String),
    Expression(Rc<Expr>),
}

impl CheckedFunction {
    /// The result is used only if `mistakes` is empty in the end.
    pub(crate) fn new(
        function: Function,
        options: Options,
        type_name: Option<String>,
        mistakes: &mut Mistakes,
    ) -> CheckedFunction {
        check_attributes(&function, &options, mistakes);
        let bindings = signature::bindings(&function.sig);
        let skipped = skipped(&function, &options, &bindings, mistakes);
        if let Some(name) = &options.name {
            check_name(&name.key, &name.value, mistakes);
        }
        let kind = options.kind.and_then(|kind| kind_variant(&kind, mistakes));
        let device = options
            .device
            .and_then(|device| known_device(device, mistakes));
        let meta = value(options.meta).unwrap_or_default();
        check_meta(&meta, mistakes);
        let options = CheckedOptions {
            name: value(options.name),
            kind,
            device,
            label: value(options.label),
            skipped,
            inputs: value(options.inputs),
            output: value(options.output),
            flops: value(options.flops),
            bytes: value(options.bytes),
            meta,
            sync: value(options.sync),
            krate: value(options.krate),
        };
        CheckedFunction {
            function,
            options,
            type_name,
        }
    }
}

fn value<T>(given: Option<Given<T>>) -> Option<T> {
    given.map(|given| given.value)
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
            "`skip` alone leaves a method out of an annotated `impl`, and this function is not in one; name \
             the parameters to skip: `skip(x, y)`",
        );
    }
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
            "`skip` has no effect next to `inputs`, which lists everything that is described; keep one",
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
    let numbered = name.split_once(':').and_then(|(family, ordinal)| {
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
            .then(|| Device::Numbered(Ident::new(variant, literal.span()), number))
    });
    Some(numbered.unwrap_or(Device::Named(name)))
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

/// Removes the invisible delimiters of a `macro_rules!` capture.
pub(crate) fn without_group(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => without_group(&group.expr),
        expr => expr,
    }
}

//! Decides whether the options fit the function. Everything that can reject user code is here and in the
//! parsing before it; emitting cannot fail.

use crate::body;
use crate::diagnostics::{Mistakes, did_you_mean, listed};
use crate::function::{Function, ImplBlock, Member};
use crate::options::{Given, Meta, Options, Skip};
use crate::paths::{self, ends_in};
use crate::signature::{self, Access, Binding, ResultKind, Returns};
use proc_macro2::{Ident, Span, TokenStream};
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
    pub(crate) sync: Option<Expr>,
    pub(crate) output: Output,
    pub(crate) result: ResultKind,
    pub(crate) returns: Returns,
    pub(crate) has_return: bool,
    pub(crate) captures: Captures,
}

/// A method of an annotated `impl`, or anything else in it.
pub(crate) enum TracedMember {
    Op(Box<TracedOp>),
    Function(Function),
    Other(ImplItem),
}

/// Something that is asked for its tensors.
pub(crate) struct Described {
    pub(crate) cfgs: Vec<syn::Attribute>,
    pub(crate) value: Expr,
}

pub(crate) enum Device {
    /// Known when the macro runs.
    Cpu,
    Family(Ident, u16),
    Named(LitStr),
    Expression(Expr),
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
    pub(crate) cfgs: Vec<syn::Attribute>,
    /// The body gets a reborrow under the same name, which it may give away; `self` has no second name.
    pub(crate) reborrow: Option<Reborrow>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reborrow {
    Plain,
    /// The parameter was declared `mut`; now the reborrow is.
    Mut,
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
    if let Some(token) = &function.sig.constness {
        mistakes.at(
            token,
            "a `const fn` cannot be recorded: it may run in the compiler; remove `const`, or record its callers",
        );
    }
    if let Some(again) = function
        .attrs
        .iter()
        .find(|attr| ends_in(attr.path(), "traced_op"))
    {
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
            "`skip` alone leaves a method out of an annotated `impl`, and this function is in none; \
             name the parameters to skip: `skip(x, y)`",
        );
    }
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
    let returns = signature::returns(&function.sig);
    let result = signature::result_kind(&function.sig);
    let is_async = function.sig.asyncness.is_some();
    let is_skipped = |binding: &Binding| skipped.iter().any(|ident| binding.ident == *ident);
    let considered = || {
        let seen = |binding: &&Binding| {
            let unused = binding.ident.to_string().starts_with('_');
            binding.may_hold_tensors && !unused && !is_skipped(binding)
        };
        bindings.iter().filter(seen)
    };
    let inputs = match options.inputs {
        Some(inputs) => inputs.value.into_iter().map(Described::of).collect(),
        None => considered().map(Described::binding).collect(),
    };
    // A capture by reference of a value that is not `Sync` would cost the future its `Send`.
    let by_use = !is_async
        || bindings
            .iter()
            .all(|binding| binding.access != Access::Other);
    let output = match options.output {
        Some(output) => Output::Given(output.value),
        None if result.holds_no_borrow() => {
            let in_place: Vec<InPlace> = considered()
                .filter_map(|binding| InPlace::of(binding, &function, by_use))
                .collect();
            if in_place.is_empty() {
                Output::Result
            } else {
                Output::InPlace(in_place)
            }
        }
        None => Output::Result,
    };
    let reads_later = matches!(output, Output::Given(_)) || options.sync.is_some();
    let captures = if is_async {
        let names_self =
            matches!(&output, Output::InPlace(all) if all.iter().any(|one| one.reborrow.is_none()));
        if names_self || reads_later && by_use {
            Captures::ByUse
        } else {
            Captures::ByMove
        }
    } else if result.holds_no_borrow() || reads_later {
        Captures::ByUse
    } else {
        Captures::ByMove
    };
    if let Output::InPlace(in_place) = &output {
        function.hand_over_mut(in_place);
    }
    Some(TracedOp {
        has_return: body::has_return(&function.body),
        private: paths::private(options.krate.map(|krate| krate.value).as_ref()),
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
        returns,
        captures,
        function,
    })
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

fn known_device(device: Given<Expr>, mistakes: &mut Mistakes) -> Option<Device> {
    let literal = match without_group(&device.value) {
        Expr::Lit(ExprLit {
            lit: Lit::Str(literal),
            ..
        }) => literal.clone(),
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
    Some(family.unwrap_or(Device::Named(literal)))
}

fn check_meta(meta: &[Meta], mistakes: &mut Mistakes) {
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
fn without_group(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => without_group(&group.expr),
        expr => expr,
    }
}

impl Described {
    fn of(value: Expr) -> Described {
        Described {
            cfgs: Vec::new(),
            value,
        }
    }

    fn binding(binding: &Binding) -> Described {
        let ident = &binding.ident;
        Described {
            cfgs: binding.cfgs.clone(),
            value: syn::parse_quote!(#ident),
        }
    }
}

impl InPlace {
    fn of(binding: &Binding, function: &Function, by_use: bool) -> Option<InPlace> {
        let reborrow = match binding.access {
            Access::InPlace {
                declared_mut: false,
            } => Some(Reborrow::Plain),
            Access::InPlace { declared_mut: true } => Some(Reborrow::Mut),
            Access::SelfInPlace if by_use && body::keeps_self(&function.body) => None,
            _ => return None,
        };
        Some(InPlace {
            ident: binding.ident.clone(),
            cfgs: binding.cfgs.clone(),
            reborrow,
        })
    }
}

impl Function {
    /// A parameter that was `mut` no longer is: its reborrow takes its place in the body.
    fn hand_over_mut(&mut self, in_place: &[InPlace]) {
        for input in &mut self.sig.inputs {
            if let syn::FnArg::Typed(typed) = input
                && let syn::Pat::Ident(pat) = &mut *typed.pat
                && in_place
                    .iter()
                    .any(|one| one.ident == pat.ident && one.reborrow == Some(Reborrow::Mut))
            {
                pat.mutability = None;
            }
        }
    }
}

/// Checks an `impl` block: its own options are the defaults of its methods.
pub(crate) fn block(
    block: &mut ImplBlock,
    defaults: Options,
    mistakes: &mut Mistakes,
) -> Vec<TracedMember> {
    for key in [
        defaults.inputs.as_ref().map(|given| &given.key),
        defaults.output.as_ref().map(|given| &given.key),
        defaults.flops.as_ref().map(|given| &given.key),
        defaults.bytes.as_ref().map(|given| &given.key),
    ]
    .into_iter()
    .flatten()
    {
        mistakes.at(
            key,
            format_args!("`{key}` speaks of one function; put it on a method of this `impl`"),
        );
    }
    if let Some(Given {
        key,
        value: Skip::Method,
    }) = &defaults.skip
    {
        mistakes.at(
            key,
            "`skip` leaves out the whole `impl`; remove the attribute instead",
        );
    }
    let mut context = Context {
        type_name: block.type_name.clone(),
    };
    if let Some(name) = &defaults.name {
        match without_group(&name.value) {
            Expr::Lit(ExprLit {
                lit: Lit::Str(prefix),
                ..
            }) if !prefix.value().trim().is_empty() => {
                context.type_name = Some(prefix.value());
            }
            other => mistakes.at(
                other,
                "`name` on an `impl` is the word in front of each method's: `name = \"Linear\"`",
            ),
        }
    }
    check_block_skip(block, &defaults, mistakes);
    if let Some(meta) = &defaults.meta {
        check_meta(&meta.value, mistakes);
    }

    let mut traced = Vec::new();
    for member in std::mem::take(&mut block.members) {
        let (own, function) = match member {
            Member::Other(item) => {
                traced.push(TracedMember::Other(item));
                continue;
            }
            Member::Method { options, function } => (options, function),
        };
        let is_annotated = own.is_some();
        let own = Options::parse(own.unwrap_or_default(), mistakes);
        if let Some(Given {
            key,
            value: Skip::Method,
        }) = &own.skip
        {
            if own.speaks_of_more_than_skip() {
                mistakes.at(
                    key,
                    "`skip` leaves this method out, so its other options do nothing; keep one",
                );
            }
            traced.push(TracedMember::Function(function));
            continue;
        }
        // On the block the attribute means every method that can be recorded; on the method it means this one.
        if function.sig.constness.is_some() && !is_annotated {
            traced.push(TracedMember::Function(function));
            continue;
        }
        let options = own.over(&defaults, &function);
        let op = self::function(function, options, &context, mistakes);
        traced.extend(op.map(|op| TracedMember::Op(Box::new(op))));
    }
    traced
}

fn check_block_skip(block: &ImplBlock, defaults: &Options, mistakes: &mut Mistakes) {
    let Some(Given {
        value: Skip::Parameters(skipped),
        ..
    }) = &defaults.skip
    else {
        return;
    };
    let mut names: Vec<String> = Vec::new();
    for member in &block.members {
        if let Member::Method { function, .. } = member {
            names.extend(
                signature::bindings(&function.sig)
                    .iter()
                    .map(|binding| binding.ident.to_string()),
            );
        }
    }
    for ident in skipped {
        if !names.iter().any(|name| ident == name) {
            let written = ident.to_string();
            let hint = did_you_mean(&written, names.iter().map(String::as_str)).unwrap_or_default();
            mistakes.at(
                ident,
                format_args!("`skip` names `{written}`, which no method of this `impl` has as a parameter{hint}"),
            );
        }
    }
}

impl Options {
    fn speaks_of_more_than_skip(&self) -> bool {
        let Options {
            name,
            kind,
            device,
            skip: _,
            inputs,
            output,
            flops,
            bytes,
            meta,
            sync,
            krate,
        } = self;
        name.is_some()
            || kind.is_some()
            || device.is_some()
            || inputs.is_some()
            || output.is_some()
            || flops.is_some()
            || bytes.is_some()
            || meta.is_some()
            || sync.is_some()
            || krate.is_some()
    }

    /// A method's own options, where it has none the block's.
    fn over(mut self, defaults: &Options, function: &Function) -> Options {
        self.kind = self.kind.or_else(|| defaults.kind.clone());
        self.device = self.device.or_else(|| defaults.device.clone());
        self.sync = self.sync.or_else(|| defaults.sync.clone());
        self.krate = self.krate.or_else(|| defaults.krate.clone());
        if let Some(defaults) = &defaults.meta {
            let mut meta = defaults.clone();
            let own = self.meta.take().map_or_else(Vec::new, |own| own.value);
            meta.value
                .retain(|one| own.iter().all(|other| other.key != one.key));
            meta.value.extend(own);
            self.meta = Some(meta);
        }
        if self.skip.is_none()
            && self.inputs.is_none()
            && let Some(Given {
                key,
                value: Skip::Parameters(skipped),
            }) = &defaults.skip
        {
            let bindings = signature::bindings(&function.sig);
            let mut applying = skipped.clone();
            applying.retain(|ident| bindings.iter().any(|binding| binding.ident == *ident));
            if !applying.is_empty() {
                self.skip = Some(Given {
                    key: key.clone(),
                    value: Skip::Parameters(applying),
                });
            }
        }
        self
    }
}

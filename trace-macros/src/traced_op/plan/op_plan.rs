//! The plan for one function.

use super::output::{Output, Reborrow};
use crate::traced_op::paths::ends_in;
use crate::traced_op::signature::{self, Access, Binding, Passed};
use crate::traced_op::types::{self, ResultKind, Returns, Search};
use crate::traced_op::validate::function::{CheckedFunction, Device};
use crate::traced_op::validate::item::Function;
use crate::traced_op::validate::options::Meta;
use crate::traced_op::{body, paths};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::rc::Rc;
use syn::ext::IdentExt;
use syn::{Expr, ExprLit, Lit};

/// The plan for one function: everything that `emit` needs.
pub(crate) struct OpPlan {
    pub(crate) function: Function,
    /// The path of the module that expanded code may name.
    pub(crate) private: TokenStream,
    pub(crate) name: Name,
    /// File and line of the function's name.
    pub(crate) location: String,
    pub(crate) kind: Option<Ident>,
    pub(crate) device: Option<Device>,
    /// The instance of the op, evaluated only while recording.
    pub(crate) label: Option<Rc<Expr>>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) flops: Option<Expr>,
    pub(crate) bytes: Option<Expr>,
    pub(crate) meta: Vec<Meta>,
    pub(crate) sync: Option<Rc<Expr>>,
    pub(crate) output: Output,
    pub(crate) result: ResultKind,
    /// The parts of the result that may be tensors.
    pub(crate) search: Search,
    pub(crate) form: Form,
    pub(crate) has_return: bool,
    pub(crate) captures: Captures,
    /// Parameters that an async block must own as a whole: otherwise the parts that the body does not use would be
    /// dropped before it runs.
    pub(crate) owned: Vec<Rebound>,
    /// `mut` parameters that an async block binds again.
    pub(crate) rebound: Vec<Rebound>,
}

/// The source of the op's name.
pub(crate) enum Name {
    Literal(String),
    /// An expression that looks like a constant.
    Constant(Expr),
    /// Another expression of type `&'static str`.
    Expression(Expr),
    /// The path of an item inside the method, which contains the name of the method's type. The macro does not see
    /// the `impl` around a single annotated method, but the compiler does.
    PathOfMethod,
}

/// A value that is searched for tensors before the body runs.
pub(crate) enum Input {
    Argument {
        ident: Ident,
        cfgs: TokenStream,
        passed: Passed,
        search: Search,
    },
    Expression(Expr),
}

/// A parameter that is named again inside the async block.
pub(crate) struct Rebound {
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
}

/// The code around the body.
pub(crate) enum Form {
    /// The function does not return.
    Never,
    /// The body must be the last expression of the function, so the result is not described.
    Unseen,
    /// The result is `()`.
    Unit,
    /// The result has this type.
    Typed(TokenStream),
    /// The result has a type that cannot be written in a `let`; `_` replaces the part that cannot be written.
    Opaque(TokenStream),
    /// The result is a future, and the op ends when the future does.
    Future,
    /// The result is a `Pin<Box<dyn Future>>`, and the op ends when the future does.
    BoxedFuture(TokenStream),
    /// The result may be a `Pin<Box<dyn Future>>`; the compiler knows.
    PerhapsBoxedFuture(TokenStream),
}

/// How a body that is now a closure or an async block captures the parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Captures {
    ByUse,
    ByMove,
}

impl OpPlan {
    pub(super) fn new(checked: CheckedFunction) -> OpPlan {
        let CheckedFunction {
            mut function,
            options,
            type_name,
        } = checked;
        let name = name(&function, options.name, type_name.as_deref());
        body::lift_inner_attributes(&mut function);
        let bindings = signature::bindings(&function.sig);
        let described = described(&function, &bindings, &options.skipped);
        let has_expressions = options.inputs.is_some()
            || options.flops.is_some()
            || options.bytes.is_some()
            || !options.meta.is_empty()
            || options.device.is_some()
            || options.label.is_some();
        let inputs = match options.inputs {
            Some(inputs) => inputs.into_iter().map(Input::Expression).collect(),
            None => described.iter().copied().map(Input::of).collect(),
        };
        let result = types::result_kind(&function.sig);
        let has_sync = options.sync.is_some();
        let output = match options.output {
            Some(output) => Output::Given(output),
            None if result.holds_no_borrow() => {
                Output::in_place(&described, &function, may_borrow(&function, &bindings))
            }
            None => Output::Result,
        };
        let reads_later = matches!(output, Output::Given(_)) || has_sync;
        let captures = captures(&function, &bindings, result, &output, reads_later);
        let rebound = rebound(&function, &bindings, &output, reads_later);
        // A `?` that leaves an op early counts as a failure, except in a function that returns `Option`.
        let has_return = body::has_return(&function.body)
            || types::returns_option(&function.sig) && body::has_question_mark(&function.body);
        let form = form(&function, &output, has_sync, has_return);
        let owned = owned(&bindings, &described, has_expressions);
        let bound_in_body = output
            .read_again()
            .iter()
            .filter(|one| one.reborrow == Some(Reborrow::Mut))
            .map(|one| &one.ident)
            .chain(rebound.iter().map(|one| &one.ident));
        signature::without_mut(&mut function.sig, &bound_in_body.collect::<Vec<_>>());
        OpPlan {
            private: paths::private(options.krate.as_deref()),
            name,
            location: location(function.sig.ident.span()),
            kind: options.kind,
            device: options.device,
            label: options.label,
            inputs,
            flops: options.flops,
            bytes: options.bytes,
            meta: options.meta,
            sync: options.sync,
            output,
            result,
            search: types::Search::of_result(&function.sig),
            form,
            has_return,
            captures,
            owned,
            rebound,
            function,
        }
    }

    /// True if the inputs need a closure: they contain an expression that is evaluated only while recording, or a
    /// `#[cfg]`.
    pub(crate) fn needs_input_closure(&self) -> bool {
        let is_plain =
            |input: &Input| matches!(input, Input::Argument { cfgs, .. } if cfgs.is_empty());
        self.flops.is_some()
            || self.bytes.is_some()
            || !self.meta.is_empty()
            || self.device.is_some()
            || !self.inputs.iter().all(is_plain)
    }
}

fn name(function: &Function, given: Option<Expr>, type_name: Option<&str>) -> Name {
    match given {
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(name),
            ..
        })) => return Name::Literal(name.value()),
        Some(given) if is_constant(&given) => return Name::Constant(given),
        Some(given) => return Name::Expression(given),
        None => {}
    }
    let ident = function.sig.ident.unraw();
    match type_name {
        Some(type_name) => Name::Literal(format!("{type_name}::{ident}")),
        None if signature::is_method(&function.sig) => Name::PathOfMethod,
        None => Name::Literal(ident.to_string()),
    }
}

/// True if an expression looks like a constant: `NAME`, `Self::NAME`, `concat!(…)`.
fn is_constant(name: &Expr) -> bool {
    let ends_in = |path: &syn::Path, is_it: fn(&str) -> bool| {
        let last = path.segments.last();
        last.is_some_and(|last| is_it(&last.ident.to_string()))
    };
    match name {
        Expr::Path(path) => ends_in(&path.path, |word| !word.contains(char::is_lowercase)),
        Expr::Macro(one) => ends_in(&one.mac.path, |word| {
            matches!(word, "concat" | "stringify" | "module_path" | "env")
        }),
        Expr::Group(inner) => is_constant(&inner.expr),
        Expr::Paren(inner) => is_constant(&inner.expr),
        _ => false,
    }
}

/// `src/nn.rs:12`, as the compiler shows the position in its messages; empty outside the compiler.
fn location(span: Span) -> String {
    if !proc_macro::is_available() {
        return String::new();
    }
    // Converts it to the compiler's own type, which has the position. This cannot fail inside the compiler.
    let span = Span::unwrap(span);
    format!("{}:{}", span.file(), span.line())
}

/// The parameters that are searched for tensors.
fn described<'a>(
    function: &Function,
    bindings: &'a [Binding],
    skipped: &[Ident],
) -> Vec<&'a Binding> {
    let expects_unused = expects_unused_variables(function);
    let is_used = |binding: &Binding| {
        let is_it =
            |token: &TokenTree| matches!(token, TokenTree::Ident(word) if *word == binding.ident);
        !expects_unused || signature::any_token(function.body.stream(), &is_it)
    };
    bindings
        .iter()
        .filter(|binding| is_used(binding))
        .filter(|binding| {
            !matches!(binding.search, Search::Nothing) && !skipped.contains(&binding.ident)
        })
        .filter(|binding| !binding.ident.to_string().starts_with('_'))
        .collect()
}

/// With `#[expect(unused_variables)]`, searching an unused parameter would use it, and the compiler would report that
/// the expectation does not hold.
fn expects_unused_variables(function: &Function) -> bool {
    let is_lint = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "unused_variables" || word == "unused");
    function.attrs.iter().any(|attr| {
        attr.path().is_ident("expect")
            && signature::any_token(attr.meta.to_token_stream(), &is_lint)
    })
}

/// True if the body may capture parameters by reference. In an async block, a captured reference to a value that is not
/// `Sync` would make the future not `Send`.
fn may_borrow(function: &Function, bindings: &[Binding]) -> bool {
    function.sig.asyncness.is_none()
        || bindings
            .iter()
            .all(|binding| binding.access != Access::Other)
}

/// The form that the result's type and the options allow.
fn form(function: &Function, output: &Output, has_sync: bool, has_return: bool) -> Form {
    let is_async = function.sig.asyncness.is_some();
    let needs_result = has_sync || matches!(output, Output::Given(_));
    let is_track_caller = |attr: &syn::Attribute| ends_in(attr.path(), "track_caller");
    // A body with `return` becomes a closure, in which `Location::caller()` would return the call of the closure.
    if !is_async && has_return && function.attrs.iter().any(is_track_caller) {
        return Form::Unseen;
    }
    match types::returns(&function.sig) {
        Returns::Unit => Form::Unit,
        Returns::Never => Form::Never,
        Returns::Typed(ty) => Form::Typed(ty),
        Returns::OpaqueFn(_) if is_async || !needs_result => Form::Unseen,
        Returns::Opaque(_) if !needs_result && body::ends_in_closure(&function.body) => {
            Form::Unseen
        }
        Returns::Opaque(ty) | Returns::OpaqueFn(ty) => Form::Opaque(ty),
        Returns::Future => Form::Future,
        Returns::BoxedFuture(ty) | Returns::PerhapsBoxedFuture(ty) if is_async => Form::Typed(ty),
        Returns::BoxedFuture(ty) if needs_result => Form::BoxedFuture(ty),
        Returns::PerhapsBoxedFuture(ty) if needs_result => Form::Typed(ty),
        Returns::BoxedFuture(ty) | Returns::PerhapsBoxedFuture(ty) => Form::PerhapsBoxedFuture(ty),
    }
}

/// The parameters passed by value that are described, or that an option may mention.
fn owned(bindings: &[Binding], described: &[&Binding], has_expressions: bool) -> Vec<Rebound> {
    let is_described = |binding: &Binding| described.iter().any(|one| one.ident == binding.ident);
    bindings
        .iter()
        .filter(|binding| binding.access == Access::Other)
        .filter(|binding| has_expressions || is_described(binding))
        .map(Rebound::of)
        .collect()
}

fn captures(
    function: &Function,
    bindings: &[Binding],
    result: ResultKind,
    output: &Output,
    reads_later: bool,
) -> Captures {
    let by_use = if output.reads_self() {
        true
    } else if reads_later {
        may_borrow(function, bindings)
    } else {
        function.sig.asyncness.is_none() && result.holds_no_borrow()
    };
    if by_use {
        Captures::ByUse
    } else {
        Captures::ByMove
    }
}

/// A borrow of a local of an async block cannot be assigned to a captured variable, but it can be assigned to a
/// variable that is bound inside the block.
fn rebound(
    function: &Function,
    bindings: &[Binding],
    output: &Output,
    reads_later: bool,
) -> Vec<Rebound> {
    if function.sig.asyncness.is_none() || reads_later {
        return Vec::new();
    }
    bindings
        .iter()
        .filter(|binding| binding.is_mut && !output.reads_again(&binding.ident))
        .map(Rebound::of)
        .collect()
}

impl Rebound {
    fn of(binding: &Binding) -> Rebound {
        Rebound {
            ident: binding.ident.clone(),
            cfgs: binding.cfgs.clone(),
        }
    }
}

impl Input {
    fn of(binding: &Binding) -> Input {
        Input::Argument {
            ident: binding.ident.clone(),
            cfgs: binding.cfgs.clone(),
            passed: binding.passed,
            search: binding.search.clone(),
        }
    }
}

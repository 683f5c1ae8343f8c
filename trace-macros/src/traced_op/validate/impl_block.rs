//! Checks an annotated `impl`. The options of the block are the defaults of its methods.

use super::function::{CheckedFunction, check_meta, without_group};
use super::item::{Function, ImplBlock, Member};
use super::mistakes::{Mistakes, did_you_mean};
use super::options::{Given, Options, Skip};
use crate::traced_op::signature;
use proc_macro2::TokenStream;
use std::rc::Rc;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, ImplItem, Lit, Meta, Path, Token};

/// An `impl` block whose methods can be recorded.
pub(crate) struct CheckedImpl {
    /// The block without its members.
    pub(crate) block: ImplBlock,
    /// The options of the block, as written.
    pub(crate) options: TokenStream,
    pub(crate) root: Option<Rc<Path>>,
    /// The word in front of each method's name.
    pub(crate) type_name: Option<String>,
    pub(crate) members: Vec<CheckedMember>,
}

pub(crate) enum CheckedMember {
    Recorded(Box<CheckedFunction>),
    /// A method with an attribute of an unknown name, which may be this macro's. It gets another attribute, which
    /// is expanded after the unknown one.
    Delegated(Box<Function>),
    /// A method that is left as written.
    Untouched(Box<Function>),
    Other(Box<ImplItem>),
}

impl CheckedImpl {
    /// The result is used only if `mistakes` is empty in the end.
    pub(crate) fn new(
        mut block: ImplBlock,
        written: TokenStream,
        defaults: &Options,
        mistakes: &mut Mistakes,
    ) -> CheckedImpl {
        let type_name = check_defaults(&block, defaults, mistakes);
        let members = std::mem::take(&mut block.members);
        let members = members.into_iter().map(|member| match member {
            Member::Other(item) => CheckedMember::Other(Box::new(item)),
            Member::Method { options, function } => {
                let is_annotated = options.is_some();
                let own = Options::parse(options.unwrap_or_default(), mistakes);
                if is_left_out(&own, &function, is_annotated, mistakes) {
                    return CheckedMember::Untouched(Box::new(function));
                }
                if !is_annotated && function.attrs.iter().any(may_be_ours) {
                    return CheckedMember::Delegated(Box::new(function));
                }
                let options = own.over(defaults, &function);
                let checked = CheckedFunction::new(function, options, type_name.clone(), mistakes);
                CheckedMember::Recorded(Box::new(checked))
            }
        });
        let members = members.collect();
        CheckedImpl {
            block,
            options: written,
            root: defaults.krate.as_ref().map(|root| root.value.clone()),
            type_name,
            members,
        }
    }
}

/// Attributes of the compiler and its tools; a macro of the same name would be ambiguous.
const BUILT_IN: [&str; 26] = [
    "allow",
    "automatically_derived",
    "cfg",
    "clippy",
    "cold",
    "coverage",
    "deny",
    "deprecated",
    "diagnostic",
    "doc",
    "expect",
    "export_name",
    "forbid",
    "inline",
    "link_section",
    "miri",
    "must_use",
    "naked",
    "no_mangle",
    "optimize",
    "rustdoc",
    "rustfmt",
    "target_feature",
    "track_caller",
    "unsafe",
    "warn",
];

/// True if an attribute may be `traced_op` under another name, or on a condition.
fn may_be_ours(attr: &Attribute) -> bool {
    if attr.path().is_ident("cfg_attr") {
        let Meta::List(list) = &attr.meta else {
            return false;
        };
        let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
        return parser.parse2(list.tokens.clone()).map_or(true, |metas| {
            metas.iter().skip(1).any(|meta| !is_built_in(meta.path()))
        });
    }
    !is_built_in(attr.path())
}

fn is_built_in(path: &Path) -> bool {
    path.segments
        .first()
        .is_some_and(|first| BUILT_IN.iter().any(|name| first.ident == name))
}

/// Checks the options of the block. Returns the word before each method's name.
fn check_defaults(
    block: &ImplBlock,
    defaults: &Options,
    mistakes: &mut Mistakes,
) -> Option<String> {
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
            format_args!("`{key}` is for one function; put it on a method of this `impl`"),
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
    check_block_skip(block, defaults, mistakes);
    if let Some(meta) = &defaults.meta {
        check_meta(&meta.value, mistakes);
    }
    let Some(name) = &defaults.name else {
        return block.type_name.clone();
    };
    match without_group(&name.value) {
        Expr::Lit(ExprLit {
            lit: Lit::Str(prefix),
            ..
        }) if !prefix.value().trim().is_empty() => Some(prefix.value()),
        other => {
            mistakes.at(
                other,
                "`name` on an `impl` is the word in front of each method's name: `name = \"Linear\"`",
            );
            None
        }
    }
}

/// True if a method of the block stays as written: it has `skip`, or is a `const fn` without its own attribute.
fn is_left_out(
    own: &Options,
    function: &Function,
    is_annotated: bool,
    mistakes: &mut Mistakes,
) -> bool {
    let Some(Given {
        key,
        value: Skip::Method,
    }) = &own.skip
    else {
        return function.sig.constness.is_some() && !is_annotated;
    };
    if own.has_more_than_skip() {
        mistakes.at(
            key,
            "`skip` leaves this method out, so its other options have no effect; keep one",
        );
    }
    true
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
    fn has_more_than_skip(&self) -> bool {
        let Options {
            name,
            kind,
            device,
            label,
            skip: _,
            inputs,
            output,
            flops,
            bytes,
            meta,
            sync,
            krate,
            block: _,
            communication: _,
        } = self;
        name.is_some()
            || kind.is_some()
            || device.is_some()
            || label.is_some()
            || inputs.is_some()
            || output.is_some()
            || flops.is_some()
            || bytes.is_some()
            || meta.is_some()
            || sync.is_some()
            || krate.is_some()
    }

    /// A method's own options, completed by those of the block.
    pub(crate) fn over(mut self, defaults: &Options, function: &Function) -> Options {
        self.kind = self.kind.or_else(|| defaults.kind.clone());
        self.device = self.device.or_else(|| defaults.device.clone());
        self.label = self.label.or_else(|| defaults.label.clone());
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

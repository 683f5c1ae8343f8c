//! Checks the methods of an annotated `impl`, whose options are the defaults of theirs.

use super::diagnostics::{Mistakes, did_you_mean};
use super::function::{Function, ImplBlock, Member};
use super::options::{Given, Options, Skip};
use super::signature;
use super::validate::{self, Context, TracedMember, check_meta, without_group};
use syn::{Expr, ExprLit, Lit};

pub(crate) fn members(
    block: &mut ImplBlock,
    defaults: &Options,
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
    check_block_skip(block, defaults, mistakes);
    if let Some(meta) = &defaults.meta {
        check_meta(&meta.value, mistakes);
    }

    let mut traced = Vec::new();
    for member in std::mem::take(&mut block.members) {
        let (own, function) = match member {
            Member::Other(item) => {
                traced.push(TracedMember::Other(Box::new(item)));
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
            traced.push(TracedMember::Function(Box::new(function)));
            continue;
        }
        // On the block the attribute means every method that can be recorded; on the method it means this one.
        if function.sig.constness.is_some() && !is_annotated {
            traced.push(TracedMember::Function(Box::new(function)));
            continue;
        }
        let options = own.over(defaults, &function);
        let op = validate::function(function, options, &context, mistakes);
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

//! Compares the expansion of each `snapshots/NAME.rs` with `snapshots/NAME.expanded.rs`.
//!
//! After a change: `UPDATE_SNAPSHOTS=1 cargo test -p trace-macros --features enabled`, then read the diff.

use proc_macro2::TokenStream;
use std::fs;
use std::path::Path;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Meta};

#[test]
fn expansions_match_the_snapshots() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let mut seen = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(case) = name.strip_suffix(".rs").filter(|case| !case.contains('.')) else {
            continue;
        };
        let expanded = expand(&fs::read_to_string(&path).unwrap());
        let golden = folder.join(format!("{case}.expanded.rs"));
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&golden, &expanded).unwrap();
        }
        assert_eq!(
            fs::read_to_string(&golden).unwrap_or_default(),
            expanded,
            "{case}"
        );
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} snapshots");
}

/// Expands `#[traced_op(…)]` at the top of an item, as the compiler would.
fn expand(source: &str) -> String {
    let parser = |input: ParseStream<'_>| {
        let attribute = input.call(Attribute::parse_outer)?.remove(0);
        let item: TokenStream = input.parse()?;
        Ok((attribute, item))
    };
    let (attribute, item) = parser.parse_str(source).unwrap();
    let options = match attribute.meta {
        Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    let expanded = super::expand("trace_runtime", options, item).to_string();
    prettyplease::unparse(&syn::parse_file(&expanded).unwrap())
}

//! Collects every mistake of one attribute, so that the user sees all of them at once.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use std::fmt::Display;

/// The mistakes found so far, each with its span.
#[derive(Default)]
pub(crate) struct Mistakes {
    found: Vec<syn::Error>,
}

impl Mistakes {
    /// A mistake made in `tokens`.
    pub(crate) fn at(&mut self, tokens: &impl ToTokens, message: impl Display) {
        self.found.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn at_span(&mut self, span: Span, message: impl Display) {
        self.found.push(syn::Error::new(span, message));
    }

    pub(crate) fn add(&mut self, error: syn::Error) {
        self.found.push(error);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.found
            .iter()
            .map(syn::Error::to_compile_error)
            .collect()
    }
}

/// `; did you mean `weights`?` if one of the known names is close to the written one.
pub(crate) fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let tolerance = (written.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (distance(written, name), name))
        .filter(|(distance, _)| *distance <= tolerance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| format!("; did you mean `{name}`?"))
}

/// The names as a list for a message: `` `a`, `b` and `c` ``.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => String::new(),
    }
}

/// The number of edits that turn one word into the other; swapping two neighbours is one edit.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut last_but_one = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut fewest = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                let row: &Vec<usize> = &last_but_one;
                fewest = fewest.min(row[j - 2] + 1);
            }
            row.push(fewest);
        }
        last_but_one = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_recognised() {
        let known = ["weights", "bias"];
        assert_eq!(
            did_you_mean("wieghts", known),
            Some("; did you mean `weights`?".into())
        );
        assert_eq!(
            did_you_mean("bais", known),
            Some("; did you mean `bias`?".into())
        );
        assert_eq!(did_you_mean("input", known), None);
    }

    #[test]
    fn short_words_need_more_than_their_length_in_common() {
        assert_eq!(did_you_mean("x", ["y"]), Some("; did you mean `y`?".into()));
        assert_eq!(did_you_mean("ab", ["xy"]), None);
    }
}

//! The report as Markdown.

use super::Report;
use std::fmt::Write as _;

pub(super) fn write(report: &Report, rows: usize) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "**{}**\n\n{}",
        plain(&report.answer),
        plain(&super::answer::overview(report))
    );
    for note in &report.notes {
        let _ = write!(text, "\n> {}\n", plain(note));
    }
    let findings = super::findings::markdown(report, rows);
    if !findings.is_empty() {
        let _ = write!(
            text,
            "\n## {}\n\n{findings}",
            super::findings::title(report)
        );
    }
    for table in report.tables(rows) {
        let _ = write!(text, "\n{}", table.to_markdown());
    }
    text
}

/// A name as code: nothing in it is Markdown, and a `|` does not end the cell.
pub(super) fn code(name: &str) -> String {
    if name.trim().is_empty() {
        return String::new();
    }
    let longest_run = name.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest_run + 1);
    let space = if longest_run > 0 { " " } else { "" };
    format!("{fence}{space}{}{space}{fence}", name.replace('|', "\\|"))
}

/// A sentence in which nothing is Markdown.
pub(super) fn plain(sentence: &str) -> String {
    let mut text = String::with_capacity(sentence.len());
    for c in sentence.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '#' | '|' | '~'
        ) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_markdown() {
        assert_eq!(code("all_reduce"), "`all_reduce`");
        assert_eq!(code("a|b``c"), "``` a\\|b``c ```");
        assert_eq!(plain("<b>*x*"), "\\<b\\>\\*x\\*");
    }
}

//! The report for a terminal.

use super::Report;
use super::names::{char_width, display_width};
use std::fmt::Write as _;

/// Selects whether text has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// Plain text: files, pipes, `NO_COLOR`.
    #[default]
    Off,
    /// ANSI escapes.
    On,
}

/// The layout of a report for a terminal: [`Default`] is 80 columns and 12 rows a table, without colours.
///
/// ```
/// use trace_runtime::report::TextStyle;
///
/// let style = TextStyle::default().with_width(120).with_rows(30);
/// assert_eq!((style.width, style.rows), (120, 30));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextStyle {
    /// Columns of the terminal. Tables leave out columns to fit; fewer than 20 count as 20.
    pub width: usize,
    /// Whether to use colours.
    pub colour: Colour,
    /// Rows of a table, at most.
    pub rows: usize,
}

/// Columns that a name and a number need.
pub(super) const NARROWEST: usize = 20;

impl Default for TextStyle {
    fn default() -> Self {
        TextStyle {
            width: 80,
            colour: Colour::Off,
            rows: 12,
        }
    }
}

impl TextStyle {
    /// Sets the columns of the terminal.
    #[must_use]
    pub fn with_width(mut self, columns: usize) -> TextStyle {
        self.width = columns;
        self
    }

    /// Sets whether to use colours.
    #[must_use]
    pub fn with_colour(mut self, colour: Colour) -> TextStyle {
        self.colour = colour;
        self
    }

    /// Sets the most rows of a table.
    #[must_use]
    pub fn with_rows(mut self, rows: usize) -> TextStyle {
        self.rows = rows;
        self
    }
}

pub(super) fn write(report: &Report, style: &TextStyle) -> String {
    let width = style.width.max(NARROWEST);
    let ink = Ink(style.colour);
    let mut text = String::new();
    let _ = writeln!(text, "{}", ink.bold(&wrapped(&report.answer, width)));
    let _ = write!(
        text,
        "\n{}\n",
        wrapped(&super::answer::overview(report), width)
    );
    for note in &report.notes {
        let _ = writeln!(
            text,
            "{}",
            ink.warning(&wrapped(&format!("note: {note}"), width))
        );
    }
    let findings = super::findings::text(report, style.rows, width);
    if !findings.is_empty() {
        let title = wrapped(&super::findings::title(report), width);
        let _ = write!(text, "\n{}\n{findings}", ink.bold(&title));
    }
    for table in report.tables(style.rows) {
        let _ = write!(text, "\n{}", table.to_text(width, style.colour));
    }
    text
}

/// Breaks a printable line at spaces so that it fits into `width` columns. A word that is longer than a line is broken
/// at the end of the line. A percent sign stays with its number.
pub fn wrapped(line: &str, width: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    let mut words = line.split(' ').peekable();
    while let Some(word) = words.next() {
        let mut length = display_width(word);
        if let Some(unit) = words.peek().filter(|next| next.starts_with('%')) {
            length += 1 + display_width(unit);
        }
        if used > 0 && used + 1 + length > width {
            text.push('\n');
            used = 0;
        } else if used > 0 {
            text.push(' ');
            used += 1;
        }
        for c in word.chars() {
            if used + char_width(c) > width {
                text.push('\n');
                used = 0;
            }
            text.push(c);
            used += char_width(c);
        }
    }
    text
}

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ink(pub(super) Colour);

impl Ink {
    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn warning(self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self.0 {
            Colour::Off => text.to_owned(),
            Colour::On => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

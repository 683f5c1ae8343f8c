//! Rows and columns, before they are text, Markdown or CSV.

use super::names::{display_width, fit};
use super::text::{Colour, Ink, wrapped};
use std::fmt::Write as _;

/// Where a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub title: &'static str,
    /// Where its cells stand.
    pub align: Align,
    /// Where there is no room for all columns, those with the largest number go first; 0 stays.
    pub rank: u8,
}

impl Column {
    /// A column of numbers.
    pub const fn number(title: &'static str, rank: u8) -> Column {
        Column {
            title,
            align: Align::Right,
            rank,
        }
    }

    /// A column of names, which stays.
    pub const fn name(title: &'static str) -> Column {
        Column {
            title,
            align: Align::Left,
            rank: 0,
        }
    }
}

/// What stands in a row under a column. In text it is made printable before it gets here.
pub type Cell = String;

/// Rows and columns with a title.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// What it is about.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for every column.
    pub rows: Vec<Vec<Cell>>,
    /// A line below it.
    pub footer: Option<String>,
    /// A line below it that explains the column with this title, and goes with it.
    pub footnote: Option<(&'static str, String)>,
}

const GAP: usize = 2;
/// Below this a name says nothing.
const NARROWEST_NAME: usize = 16;

impl Table {
    /// The table in `width` columns. Columns that do not fit are left out by rank; then the first column
    /// is cut.
    pub fn to_text(&self, width: usize, colour: Colour) -> String {
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|index| self.natural(index))
            .collect();
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let needed = |shown: &[usize], widths: &[usize]| {
            let rest: usize = shown.iter().skip(1).map(|&index| widths[index] + GAP).sum();
            let first = shown.first().map_or(0, |&index| widths[index]);
            (first, rest)
        };
        loop {
            let (first, rest) = needed(&shown, &widths);
            let least = first.min(NARROWEST_NAME.max(width * 2 / 5));
            let droppable = shown
                .iter()
                .copied()
                .filter(|&index| self.columns[index].rank > 0);
            match droppable.max_by_key(|&index| (self.columns[index].rank, index)) {
                Some(index) if least + rest > width => shown.retain(|&one| one != index),
                _ => break,
            }
        }
        let (first, rest) = needed(&shown, &widths);
        if let Some(&name) = shown.first() {
            widths[name] = first.min(width.saturating_sub(rest)).max(1);
        }
        let ink = Ink(colour);
        let mut text = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(text, "{}", ink.bold(&self.title));
        }
        let titles: Vec<&str> = self.columns.iter().map(|column| column.title).collect();
        let header = self.line(&titles, &shown, &widths);
        let _ = writeln!(text, "{}", ink.dim(&header));
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            let _ = writeln!(text, "{}", self.line(&cells, &shown, &widths));
        }
        let footnote = self.footnote.as_ref().filter(|(title, _)| {
            shown
                .iter()
                .any(|&index| self.columns[index].title == *title)
        });
        for line in self.footer.iter().chain(footnote.map(|(_, line)| line)) {
            let _ = writeln!(text, "{}", ink.dim(&wrapped(line, width)));
        }
        text
    }

    /// The table as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            let _ = write!(text, "## {}\n\n", self.title);
        }
        let titles: Vec<String> = self
            .columns
            .iter()
            .map(|column| column.title.to_owned())
            .collect();
        let _ = writeln!(text, "| {} |", titles.join(" | "));
        let rules: Vec<&str> = self
            .columns
            .iter()
            .map(|column| match column.align {
                Align::Left => "---",
                Align::Right => "---:",
            })
            .collect();
        let _ = writeln!(text, "| {} |", rules.join(" | "));
        for row in &self.rows {
            let cells: Vec<String> = row
                .iter()
                .zip(&self.columns)
                .map(|(cell, column)| match column.align {
                    Align::Left => super::markdown::code(cell),
                    Align::Right => cell.split_whitespace().collect::<Vec<_>>().join(" "),
                })
                .collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        let footnote = self.footnote.as_ref().map(|(_, line)| line);
        for line in self.footer.iter().chain(footnote) {
            let _ = write!(text, "\n{line}\n");
        }
        text
    }

    /// The table as CSV by RFC 4180, with its titles first; the table's title and footer are left out.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        let titles: Vec<String> = self
            .columns
            .iter()
            .map(|column| quoted(column.title))
            .collect();
        let _ = write!(text, "{}\r\n", titles.join(","));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            let _ = write!(text, "{}\r\n", cells.join(","));
        }
        text
    }

    fn natural(&self, index: usize) -> usize {
        let title = display_width(self.columns[index].title);
        let cells = self.rows.iter().filter_map(|row| row.get(index));
        cells
            .map(|cell| display_width(cell))
            .fold(title, usize::max)
    }

    fn line(&self, cells: &[&str], shown: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for (position, &index) in shown.iter().enumerate() {
            if position > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let cell = fit(cells.get(index).copied().unwrap_or(""), widths[index]);
            let padding = " ".repeat(widths[index].saturating_sub(display_width(&cell)));
            match self.columns[index].align {
                Align::Left => line.extend([cell, padding]),
                Align::Right => line.extend([padding, cell]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

fn quoted(cell: &str) -> String {
    // A spreadsheet takes a leading `=`, `+`, `-` or `@` for a formula; a quote before it is text.
    let formula =
        cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if cell.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

//! A table that can be written as text, Markdown or CSV.

use super::names::{display_width, fit, fit_distinct};
use super::text::{Colour, Ink, wrapped};
use crate::csv_text::csv_line;
use std::fmt::Write as _;

/// Alignment of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// The header.
    pub title: &'static str,
    /// The alignment of the cells.
    pub align: Align,
    /// If the columns do not all fit, those with the largest rank are left out first. Columns of rank 0
    /// are left out last, from the right.
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

    /// A column of names, with rank 0.
    pub const fn name(title: &'static str) -> Column {
        Column {
            title,
            align: Align::Left,
            rank: 0,
        }
    }
}

/// The text of one row in one column. Names must be [`printable`](super::printable).
pub type Cell = String;

/// Rows and columns with a title.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Table {
    /// The title, on a line above the table; may be empty.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for every column.
    pub rows: Vec<Vec<Cell>>,
    /// A line below the table.
    pub footer: Option<String>,
    /// The title of a column, and a line below the table that explains the column. The line is left out if the column
    /// is.
    pub footnote: Option<(&'static str, String)>,
}

const GAP: usize = 2;
/// Columns are left out by rank before the first column gets narrower than this.
const NARROW_NAME: usize = 16;
/// Columns of rank 0 are left out before the first column gets narrower than this.
const NARROWEST_NAME: usize = 8;

impl Table {
    /// A table without a footer. Each row has a cell for every column.
    pub fn new(title: impl Into<String>, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Table {
        Table {
            title: title.into(),
            columns,
            rows,
            footer: None,
            footnote: None,
        }
    }

    /// Sets the line below it.
    #[must_use]
    pub fn with_footer(mut self, footer: impl Into<Option<String>>) -> Table {
        self.footer = footer.into();
        self
    }

    /// Sets a line below it that explains the column with this title. It is left out with that column.
    #[must_use]
    pub fn with_footnote(mut self, footnote: impl Into<Option<(&'static str, String)>>) -> Table {
        self.footnote = footnote.into();
        self
    }

    /// The table as text of at most `width` columns. If it does not fit, columns are left out by their rank, then
    /// the first column is cut, then more columns are left out from the right. At least the first remains.
    /// Different names stay different when they are cut.
    pub fn to_text(&self, width: usize, colour: Colour) -> String {
        let (shown, widths) = self.layout(width);
        let ink = Ink(colour);
        let mut text = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(text, "{}", ink.bold(&wrapped(&self.title, width)));
        }
        let titles: Vec<&str> = self.columns.iter().map(|column| column.title).collect();
        let header = self.line(&titles, &shown, &widths);
        let _ = writeln!(text, "{}", ink.dim(&header));
        let names: Vec<&str> = self
            .rows
            .iter()
            .map(|row| row.first().map_or("", String::as_str))
            .collect();
        let names = fit_distinct(&names, widths.first().copied().unwrap_or(0));
        for (row, name) in self.rows.iter().zip(&names) {
            let mut cells: Vec<&str> = row.iter().map(String::as_str).collect();
            if let Some(first) = cells.first_mut() {
                *first = name;
            }
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

    /// The columns to show, and the width of every column.
    fn layout(&self, width: usize) -> (Vec<usize>, Vec<usize>) {
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|index| self.natural(index))
            .collect();
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let first = widths.first().copied().unwrap_or(0);
        let rest = |shown: &[usize]| -> usize {
            shown.iter().skip(1).map(|&index| widths[index] + GAP).sum()
        };
        let narrow = first.min(NARROW_NAME.max(width * 2 / 5));
        while narrow + rest(&shown) > width {
            let by_rank = |&index: &usize| (self.columns[index].rank, index);
            match shown.iter().skip(1).copied().max_by_key(by_rank) {
                Some(index) if self.columns[index].rank > 0 => shown.retain(|&one| one != index),
                _ => break,
            }
        }
        while shown.len() > 1 && first.min(NARROWEST_NAME) + rest(&shown) > width {
            shown.pop();
        }
        let left = width.saturating_sub(rest(&shown)).max(1);
        if let Some(name) = widths.first_mut() {
            *name = first.min(left);
        }
        (shown, widths)
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
        csv_line(&mut text, self.columns.iter().map(|column| column.title));
        for row in &self.rows {
            csv_line(&mut text, row.iter().map(String::as_str));
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

//! Where answers go: a file or standard output, how wide, with or without colours.

use crate::args::{Format, Layout};
use crate::failure::Failure;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use trace_runtime::report::{Colour, Table, TextStyle};

/// The width of text that goes to no terminal.
const PLAIN_WIDTH: usize = 80;

/// The file that was named; none where standard output was, as `-`.
pub(crate) fn file(named: Option<&Path>) -> Option<&Path> {
    named.filter(|path| path.as_os_str() != "-")
}

/// Writes the whole answer at once, so that a pipe closed early is met in one place.
pub(crate) fn write(path: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    let path = file(path);
    let written = if let Some(path) = path {
        fs::write(path, bytes)
    } else {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush())
    };
    written.map_err(|error| Failure::write(path, error))
}

/// How to lay text out for where it goes.
pub(crate) fn style(layout: &Layout) -> TextStyle {
    let to_terminal = file(layout.output.as_deref()).is_none() && io::stdout().is_terminal();
    let terminal = || {
        let (width, _) = terminal_size::terminal_size()?;
        to_terminal.then_some(usize::from(width.0))
    };
    TextStyle {
        width: layout.width.or_else(terminal).unwrap_or(PLAIN_WIDTH),
        colour: colour(to_terminal, std::env::var_os("NO_COLOR").as_deref()),
        rows: layout.rows,
    }
}

fn colour(to_terminal: bool, no_colour: Option<&OsStr>) -> Colour {
    let refused = no_colour.is_some_and(|value| !value.is_empty());
    if to_terminal && !refused {
        Colour::On
    } else {
        Colour::Off
    }
}

/// Writes tables, with a line above them, in the format asked for; `json` gives everything.
pub(crate) fn tables(
    layout: &Layout,
    first_line: &str,
    tables: &[Table],
    json: impl FnOnce() -> Result<String, serde_json::Error>,
) -> Result<(), Failure> {
    let style = style(layout);
    let text = match layout.format {
        Format::Json => json()? + "\n",
        Format::Csv => tables.first().map(Table::to_csv).unwrap_or_default(),
        Format::Text => {
            let each = tables
                .iter()
                .map(|table| table.to_text(style.width.max(PLAIN_WIDTH), style.colour));
            joined(first_line, each)
        }
        Format::Md => joined(first_line, tables.iter().map(Table::to_markdown)),
    };
    write(layout.output.as_deref(), text.as_bytes())
}

fn joined(first_line: &str, parts: impl Iterator<Item = String>) -> String {
    let mut text = format!("{first_line}\n");
    for part in parts {
        text.push('\n');
        text.push_str(&part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_need_a_terminal_and_nobody_who_refuses_them() {
        let no_color = |value: &'static str| Some(OsStr::new(value));
        assert_eq!(colour(true, None), Colour::On);
        assert_eq!(colour(true, no_color("")), Colour::On);
        assert_eq!(colour(true, no_color("1")), Colour::Off);
        assert_eq!(colour(false, None), Colour::Off);
    }
}

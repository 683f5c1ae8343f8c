//! Writes results to a file or standard output, and decides their width and colours.

use crate::args::{Format, Layout};
use crate::failure::Failure;
use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use trace_runtime::export;
use trace_runtime::report::{Colour, Table, TextStyle, wrapped};

/// Width of text that does not go to a terminal.
const PLAIN_WIDTH: usize = 80;
/// Tables need at least this width for a name and a number.
const NARROWEST: usize = 20;

/// The output file, or `None` for standard output (no option, or `-`).
pub(crate) fn file(option: Option<&Path>) -> Option<&Path> {
    option.filter(|path| path.as_os_str() != "-")
}

/// Writes the whole result at once, so that a pipe closed early is handled in one place. A file is
/// replaced only when all of it is written.
pub(crate) fn write(path: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    if let Some(path) = file(path) {
        return Ok(export::write_with(path, |out| out.write_all(bytes))?);
    }
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(Failure::StandardOutput)
}

/// Width, colours and number of rows for text that goes to the output of `layout`.
pub(crate) fn style(layout: &Layout) -> TextStyle {
    let to_terminal = file(layout.output.as_deref()).is_none() && io::stdout().is_terminal();
    let terminal = || {
        let (width, _) = terminal_size::terminal_size()?;
        to_terminal.then_some(usize::from(width.0))
    };
    TextStyle::default()
        .with_width(
            layout
                .width
                .or_else(terminal)
                .unwrap_or(PLAIN_WIDTH)
                .max(NARROWEST),
        )
        .with_colour(colour(to_terminal, std::env::var_os("NO_COLOR").as_deref()))
        .with_rows(layout.rows)
}

fn colour(to_terminal: bool, no_colour: Option<&OsStr>) -> Colour {
    let disabled = no_colour.is_some_and(|value| !value.is_empty());
    if to_terminal && !disabled {
        Colour::On
    } else {
        Colour::Off
    }
}

/// Writes tables with lines above them, in the format of `layout`. CSV has only the first table; JSON is the text that
/// `json` returns.
pub(crate) fn tables(
    layout: &Layout,
    first_line: &str,
    tables: &[Table],
    json: impl FnOnce() -> Result<String, serde_json::Error>,
) -> Result<(), Failure> {
    let style = style(layout);
    let text = match layout.format {
        Format::Json => json()? + "\n",
        Format::Html => {
            return Err(Failure::Message(
                "only `optrace report` and `optrace html` write HTML; choose another `--format`"
                    .to_owned(),
            ));
        }
        Format::Csv => tables.first().map(Table::to_csv).unwrap_or_default(),
        Format::Text => {
            let each = tables
                .iter()
                .map(|table| table.to_text(style.width, style.colour));
            let lines = first_line.lines().map(|line| wrapped(line, style.width));
            joined(&lines.collect::<Vec<_>>().join("\n"), each)
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
    fn colours_need_a_terminal_and_are_off_under_no_color() {
        let no_color = |value: &'static str| Some(OsStr::new(value));
        assert_eq!(colour(true, None), Colour::On);
        assert_eq!(colour(true, no_color("")), Colour::On);
        assert_eq!(colour(true, no_color("1")), Colour::Off);
        assert_eq!(colour(false, None), Colour::Off);
    }
}

//! The command line: the commands, and the groups of options that several of them share.
//! The arguments of one command are in its own file in `commands/`.

use crate::commands::Command;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use trace_runtime::analyze::StepRange;

/// Shows where time, memory and waiting went in a trace of tensor ops.
///
/// Reads traces of `trace-runtime`, of `torch.profiler` (Kineto) and of other profilers that write
/// Chrome JSON. A trace may be compressed with gzip or zstd. The file name `-` is standard input.
#[derive(Debug, Parser)]
#[command(name = "optrace", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  `--fail-over` or `--fail-op-over` of `diff` and `compare` found something that got too slow
  2  bad command line, a file that cannot be read or written, or a file that is not a trace

Colours are used only on a terminal, and never while NO_COLOR is set.";

/// The rows of a profiler's trace to keep.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Include Python frames (their time overlaps the ops they call)
    #[arg(long)]
    pub(crate) frames: bool,
    /// Show modules (`nn.Module: …`) as ops around the ops that they call, with the device time of each
    #[arg(long)]
    pub(crate) modules: bool,
    /// Show calls into a device's runtime as ops too (their time overlaps the ops that make them)
    #[arg(long)]
    pub(crate) runtime_calls: bool,
    /// Only these steps: `5`, `5..10` (both included), `7..` or `..10`
    ///
    /// An op belongs to the step in which it began. Work on a device belongs to the step that launched it. Ops are
    /// kept whole.
    #[arg(long, value_name = "RANGE")]
    pub(crate) steps: Option<StepRange>,
    /// Leave out the first steps, while they take more than 1.5 times the usual length
    ///
    /// The usual length is the median of the second half of the steps. At most half of the steps are left out.
    #[arg(long)]
    pub(crate) skip_warm_up: bool,
}

/// Format, size and destination of a result.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Layout {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Maximum number of rows in a table
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) rows: usize,
    /// Width of the text in columns [default: the terminal's width, else 80]
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<usize>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for a terminal
    Text,
    /// Markdown
    Md,
    /// Everything, in nanoseconds and bytes
    Json,
    /// The main table, in nanoseconds and bytes
    Csv,
    /// One page for a browser (only for `optrace report`; `optrace html` has more options)
    Html,
}

/// Parses a percentage into a share: `5%` and `5` are 0.05.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent >= 0.0 && percent.is_finite() => Ok(percent / 100.0),
        _ => Err("expected a percentage such as `5%`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory as _;
        Args::command().debug_assert();
    }

    #[test]
    fn a_share_is_a_percentage() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("12.5"), Ok(0.125));
        for wrong in ["", "%", "-1%", "nan", "five"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}

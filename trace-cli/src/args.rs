//! What can be typed.

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// Where time, memory and waiting went in a trace of tensor ops.
///
/// Reads traces of `trace-runtime`, of `torch.profiler` (Kineto) and of other profilers that write
/// Chrome JSON; plain, or compressed with gzip or zstd; from files or, as `-`, from standard
/// input.
#[derive(Debug, Parser)]
#[command(name = "optrace", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  `diff --fail-over` found an op that got slower by more
  2  a bad command line, a file that cannot be read or written, or one that is no trace

Colours are used on a terminal only, and never while NO_COLOR is set.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say where the time went: one line, then tables by op, shape, device and memory
    Report(ReportArgs),
    /// Show which op calls which, with equal stacks merged
    Tree(TreeArgs),
    /// Draw a flame graph as SVG, alone or against an earlier trace
    Flame(FlameArgs),
    /// Show when each thread and stream was busy
    Timeline(TimelineArgs),
    /// Show the peak of live memory, the ops that held it, and the way there
    Memory(MemoryArgs),
    /// Compare two traces by op and shapes, telling change from noise
    Diff(DiffArgs),
    /// Put the traces of several ranks together
    Merge(MergeArgs),
    /// Write a trace in another format
    Convert(ConvertArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

/// Which rows of a profiler's trace to keep.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Keep interpreter frames, which show the time of ops once more
    #[arg(long)]
    pub(crate) frames: bool,
    /// Keep calls into a device's runtime, which show the time of ops once more
    #[arg(long)]
    pub(crate) runtime_calls: bool,
}

/// How answers are written.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Layout {
    /// How to write the answer
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Rows of a table, at most
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) rows: usize,
    /// Columns of text [default: those of the terminal, else 80]
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<usize>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned for a terminal
    Text,
    /// Markdown
    Md,
    /// Everything, in nanoseconds and bytes
    Json,
    /// The main table, in nanoseconds and bytes
    Csv,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    /// With `--format csv`: a row for each op and its input shapes, rather than for each op
    #[arg(long)]
    pub(crate) by_shape: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    /// Show ops inside of this many others, at most
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Leave out what takes less than this share of the time
    #[arg(long, value_name = "PERCENT", default_value = "0.5%", value_parser = share)]
    pub(crate) min: f64,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FlameArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    /// An earlier trace: what grew since is drawn in red, what shrank in blue
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// The line above the picture
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TimelineArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MemoryArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// The earlier trace
    pub(crate) before: PathBuf,
    /// The later trace
    pub(crate) after: PathBuf,
    /// Exit with 1 if an op that matters got slower by more than this
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub(crate) fail_over: Option<f64>,
    /// Call an op the same while its median changed by less than this
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    pub(crate) same_within: f64,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// One trace for each rank
    #[arg(required = true, value_name = "RANK_FILES")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Where a trace goes, and in which format.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// The format [default: by the ending of the output, else json]
    #[arg(long, value_enum)]
    pub(crate) to: Option<TraceFormat>,
    /// Write to this file instead of standard output, compressed if it ends in `.gz`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write as many files as viewers need, which take a million events each, and list them
    #[arg(long, requires = "output")]
    pub(crate) split: bool,
    /// Write a file for each rank, as HTA wants it, and list them
    #[arg(long, requires = "output")]
    pub(crate) by_rank: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// The JSON of `trace-runtime`, which loses nothing
    Json,
    /// Chrome JSON in the dialect of Kineto: Perfetto, `chrome://tracing`, HTA
    Chrome,
    /// Perfetto's native format
    Perfetto,
    /// speedscope
    Speedscope,
    /// Collapsed stacks: inferno, flamegraph.pl
    Collapsed,
    /// A flame graph
    Svg,
    /// A table of ops by input shapes, for spreadsheets
    Csv,
    /// A table of entries for `DuckDB`, Polars and Spark, where `optrace` was built with it
    Parquet,
    /// A table of ops by input shapes for the same
    ParquetShapes,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// `5%` and `5` are 0.05.
fn share(text: &str) -> Result<f64, String> {
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
    fn the_command_line_is_put_together_well() {
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

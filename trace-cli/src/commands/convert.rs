//! `optrace convert`: the same trace in another format.

use crate::args::Reading;
use crate::failure::Failure;
use crate::{input, output};
use clap::ValueEnum;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use trace_runtime::export::{
    self, ChromeTrace, CollapsedStacks, CsvTable, Exporter, FlameGraph, Gzip, PerfettoTrace,
    Speedscope, TraceJson,
};
use trace_runtime::model::TraceErrorKind;
use trace_runtime::{TraceError, TraceStore};

#[derive(Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Options for the output file and its format.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// Output format [default: by the ending of the output file, else json]
    #[arg(long, value_enum)]
    pub(crate) to: Option<TraceFormat>,
    /// Write to this file instead of standard output; compressed if its name ends in `.gz`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write several files of at most a million events each, as many as viewers open, and print their names
    #[arg(long, requires = "output")]
    pub(crate) split: bool,
    /// Write one file per rank, as HTA expects, and print their names
    #[arg(long, requires = "output")]
    pub(crate) by_rank: bool,
    /// Add a track with the critical path to a Chrome or Perfetto trace
    #[arg(long, conflicts_with_all = ["split", "by_rank"])]
    pub(crate) critical_path: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// JSON of `trace-runtime`, which keeps everything
    Json,
    /// Chrome JSON as Kineto writes it, for Perfetto, `chrome://tracing` and HTA
    Chrome,
    /// Perfetto's native format
    Perfetto,
    /// speedscope
    Speedscope,
    /// Collapsed stacks, for inferno and flamegraph.pl
    Collapsed,
    /// Flame graph
    Svg,
    /// Table of ops by input shapes, for spreadsheets
    Csv,
    /// Table of entries for `DuckDB`, Polars and Spark (if `optrace` was built with it)
    Parquet,
    /// Table of ops by input shapes for the same tools
    ParquetShapes,
}

pub(super) fn run(args: &ConvertArgs) -> Result<(), Failure> {
    // Before the trace is read: a mistake in the command line is reported at once.
    let destination = Destination::of(&args.target)?;
    let trace = input::load(&args.file, args.reading)?;
    destination.write(&trace)
}

/// A checked [`Target`]: output file, format, and one file or several.
pub(super) struct Destination<'a> {
    format: TraceFormat,
    /// None for standard output.
    path: Option<&'a Path>,
    files: Files,
    critical_path: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    One,
    Split,
    ByRank,
}

impl<'a> Destination<'a> {
    pub(super) fn of(target: &'a Target) -> Result<Destination<'a>, Failure> {
        let path = output::file(target.output.as_deref());
        let files = match (target.by_rank, target.split) {
            (true, _) => Files::ByRank,
            (false, true) => Files::Split,
            (false, false) => Files::One,
        };
        if path.is_none() && files != Files::One {
            return Err(Failure::Message(
                "several files cannot go to standard output; name a file with `--output`".into(),
            ));
        }
        let format = match (target.to, path) {
            (Some(format), _) => format,
            (None, None) => TraceFormat::Json,
            (None, Some(path)) => by_ending(path).ok_or_else(|| unknown_ending(path))?,
        };
        if let Some(path) = path.filter(|path| ends_in(path, ".zst")) {
            return Err(Failure::Message(format!(
                "{}: zstd files can be read but not written; use the ending `.gz`, or pipe `--output -` to `zstd`",
                path.display()
            )));
        }
        if target.critical_path && !matches!(format, TraceFormat::Chrome | TraceFormat::Perfetto) {
            return Err(Failure::Message(
                "`--critical-path` adds a track to Chrome and Perfetto traces only; choose one with `--to`, or list \
                 the path with `optrace path`"
                    .into(),
            ));
        }
        let tabular = matches!(format, TraceFormat::Parquet | TraceFormat::ParquetShapes);
        if tabular && cfg!(not(feature = "parquet")) {
            return Err(without_parquet());
        }
        if path.is_none() && is_binary(format) && std::io::stdout().is_terminal() {
            return Err(Failure::Message(
                "this format is binary and standard output is a terminal; name a file with `--output`"
                    .into(),
            ));
        }
        Ok(Destination {
            format,
            path,
            files,
            critical_path: target.critical_path,
        })
    }

    pub(super) fn write(&self, trace: &TraceStore) -> Result<(), Failure> {
        match self.format {
            TraceFormat::Json => self.export(&TraceJson, trace),
            TraceFormat::Chrome if self.critical_path => {
                self.export(&ChromeTrace::new().with_critical_path(), trace)
            }
            TraceFormat::Chrome => self.export(&ChromeTrace::new(), trace),
            TraceFormat::Perfetto if self.critical_path => {
                self.export(&PerfettoTrace::new().with_critical_path(), trace)
            }
            TraceFormat::Perfetto => self.export(&PerfettoTrace::new(), trace),
            TraceFormat::Speedscope => self.export(&Speedscope, trace),
            TraceFormat::Collapsed => self.export(&CollapsedStacks, trace),
            TraceFormat::Svg => self.export(&FlameGraph::new(), trace),
            TraceFormat::Csv => self.export(&CsvTable::ByShape, trace),
            #[cfg(feature = "parquet")]
            TraceFormat::Parquet => self.export(&export::parquet::ParquetEntries, trace),
            #[cfg(feature = "parquet")]
            TraceFormat::ParquetShapes => self.export(&export::parquet::ParquetShapes, trace),
            #[cfg(not(feature = "parquet"))]
            TraceFormat::Parquet | TraceFormat::ParquetShapes => Err(without_parquet()),
        }
    }

    fn export(&self, exporter: &dyn Exporter, trace: &TraceStore) -> Result<(), Failure> {
        match self.path {
            Some(path) if ends_in(path, ".gz") => self.export_to(&Gzip(exporter), trace, path),
            Some(path) => self.export_to(exporter, trace, path),
            None => {
                export::check_event_limit(exporter, trace)
                    .map_err(|error| with_options(error.in_file(Path::new("standard output"))))?;
                let mut stdout = std::io::stdout().lock();
                exporter
                    .export(trace, &mut stdout)
                    .map_err(Failure::StandardOutput)
            }
        }
    }

    fn export_to(
        &self,
        exporter: &dyn Exporter,
        trace: &TraceStore,
        path: &Path,
    ) -> Result<(), Failure> {
        let written = match self.files {
            Files::ByRank => export::write_ranks(exporter, trace, path)?,
            Files::Split => export::write_split(exporter, trace, path)?,
            Files::One => return export::write(exporter, trace, path).map_err(with_options),
        };
        let line = |path: &PathBuf| format!("{}\n", path.display());
        output::write(
            None,
            written.iter().map(line).collect::<String>().as_bytes(),
        )
    }
}

fn without_parquet() -> Failure {
    Failure::Message(
        "this `optrace` was built without Parquet; build it with `--features parquet`".into(),
    )
}

/// Adds the options of this command to an error that they solve.
fn with_options(error: TraceError) -> Failure {
    match error.kind() {
        TraceErrorKind::TooLarge => {
            Failure::Message(format!("{error}: add `--split`, or use `--to perfetto`"))
        }
        _ => Failure::Trace(error),
    }
}

const ENDINGS: [(&str, TraceFormat); 13] = [
    (".speedscope.json", TraceFormat::Speedscope),
    (".chrome.json", TraceFormat::Chrome),
    (".pt.trace.json", TraceFormat::Chrome),
    (".json", TraceFormat::Json),
    (".pftrace", TraceFormat::Perfetto),
    (".perfetto-trace", TraceFormat::Perfetto),
    (".collapsed", TraceFormat::Collapsed),
    (".folded", TraceFormat::Collapsed),
    (".svg", TraceFormat::Svg),
    (".csv", TraceFormat::Csv),
    (".shapes.parquet", TraceFormat::ParquetShapes),
    (".parquet", TraceFormat::Parquet),
    (".pq", TraceFormat::Parquet),
];

/// The format for a file name, by its ending before `.gz` or `.zst`.
fn by_ending(path: &Path) -> Option<TraceFormat> {
    let name = lower_case(path);
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let name = name.strip_suffix(".zst").unwrap_or(name);
    ENDINGS
        .into_iter()
        .find(|(ending, _)| name.ends_with(ending))
        .map(|(_, format)| format)
}

fn unknown_ending(path: &Path) -> Failure {
    let known = ENDINGS.map(|(ending, _)| format!("`{ending}`")).join(", ");
    Failure::Message(format!(
        "{}: its ending is not that of a format; choose one with `--to`, or use one of {known}",
        path.display()
    ))
}

fn ends_in(path: &Path, ending: &str) -> bool {
    lower_case(path).ends_with(ending)
}

fn lower_case(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_ascii_lowercase()
}

fn is_binary(format: TraceFormat) -> bool {
    matches!(
        format,
        TraceFormat::Perfetto | TraceFormat::Parquet | TraceFormat::ParquetShapes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_file_name_picks_the_format() {
        let format = |name: &str| by_ending(Path::new(name));
        assert_eq!(format("a/run.SVG"), Some(TraceFormat::Svg));
        assert_eq!(format("run.speedscope.json"), Some(TraceFormat::Speedscope));
        assert_eq!(format("run.pftrace"), Some(TraceFormat::Perfetto));
        assert_eq!(format("run.chrome.json.gz"), Some(TraceFormat::Chrome));
        assert_eq!(
            format("run.shapes.parquet"),
            Some(TraceFormat::ParquetShapes)
        );
        assert_eq!(format("run.json"), Some(TraceFormat::Json));
        assert_eq!(format("run.json/no-ending"), None);
        assert_eq!(format("run.gz"), None);
    }
}

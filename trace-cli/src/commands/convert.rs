//! `optrace convert`: the same trace in another format.

use crate::args::Reading;
use crate::failure::Failure;
use crate::{input, output};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use trace_runtime::export::{self, ChromeTrace, Exporter, FileFormat, Gzip, PerfettoTrace};
use trace_runtime::model::TraceErrorKind;
use trace_runtime::{TraceError, TraceStore, TraceView as _};

#[derive(Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) target: OutputOptions,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Options for the output file and its format.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputOptions {
    /// Output format [default: by the ending of the output file, else json]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) to: Option<FileFormat>,
    /// Write to this file instead of standard output; compressed if its name ends in `.gz`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write several files of at most a million events each, as many as viewers open, and print their names
    #[arg(long, requires = "output")]
    pub(crate) split: bool,
    /// Write one file per rank, as HTA and simulators expect, and print their names
    #[arg(long, requires = "output")]
    pub(crate) by_rank: bool,
    /// Add a track with the critical path to a Chrome or Perfetto trace
    #[arg(long, conflicts_with_all = ["split", "by_rank"])]
    pub(crate) critical_path: bool,
}

/// The names of all formats, with a help text each.
fn formats() -> impl TypedValueParser<Value = FileFormat> {
    let values = FileFormat::ALL.map(|format| PossibleValue::new(format.name()).help(help(format)));
    PossibleValuesParser::new(values).map(|name| {
        let mut formats = FileFormat::ALL.into_iter();
        formats
            .find(|format| format.name() == name)
            .unwrap_or(FileFormat::Json)
    })
}

fn help(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Json => "JSON of `trace-runtime`, which keeps everything",
        FileFormat::Chrome => {
            "Chrome JSON as Kineto writes it, for Perfetto, `chrome://tracing` and HTA"
        }
        FileFormat::Perfetto => "Perfetto's native format",
        FileFormat::Chakra => {
            "Chakra execution trace of MLCommons, for simulators; one file per rank"
        }
        FileFormat::Speedscope => "speedscope",
        FileFormat::Collapsed => "Collapsed stacks, for inferno and flamegraph.pl",
        FileFormat::Svg => "Flame graph",
        FileFormat::Html => "One page for a browser, as `optrace html` writes",
        FileFormat::Csv => "Table of ops by input shapes, for spreadsheets",
        FileFormat::TorchMemory => "Memory snapshot for PyTorch's viewer, `pytorch.org/memory_viz`",
        FileFormat::Parquet => {
            "Table of entries for `DuckDB`, Polars and Spark (if `optrace` was built with it)"
        }
        FileFormat::ParquetShapes => "Table of ops by input shapes for the same tools",
        _ => "",
    }
}

pub(super) fn run(args: &ConvertArgs) -> Result<(), Failure> {
    // Checked before the trace is read, so that a mistake in the command line is reported at once.
    let destination = Destination::of(&args.target)?;
    let trace = input::load(&args.file, args.reading)?;
    destination.write(&trace)
}

/// A checked [`OutputOptions`]: output file, format, and one file or several.
pub(super) struct Destination<'a> {
    exporter: Box<dyn Exporter>,
    /// None for standard output.
    path: Option<&'a Path>,
    files: Files,
    /// The readers of the format expect one file per rank.
    one_per_rank: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    One,
    Split,
    ByRank,
}

impl<'a> Destination<'a> {
    pub(super) fn of(target: &'a OutputOptions) -> Result<Destination<'a>, Failure> {
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
        if let Some(path) = path.filter(|path| ends_in(path, ".zst")) {
            return Err(Failure::Message(format!(
                "{}: zstd files can be read but not written; use the ending `.gz`, or pipe `--output -` to `zstd`",
                path.display()
            )));
        }
        let format = match (target.to, path) {
            (Some(format), _) => format,
            (None, None) => FileFormat::Json,
            (None, Some(path)) => FileFormat::of(path).map_err(with_options)?,
        };
        let exporter = exporter(format, target.critical_path)?;
        if target.critical_path && !matches!(format, FileFormat::Chrome | FileFormat::Perfetto) {
            return Err(Failure::Message(
                "`--critical-path` adds a track to Chrome and Perfetto traces only; choose one with `--to`, or list \
                 the path with `optrace path`"
                    .into(),
            ));
        }
        if path.is_none() && is_binary(format) && std::io::stdout().is_terminal() {
            return Err(Failure::Message(
                "this format is binary and standard output is a terminal; name a file with `--output`"
                    .into(),
            ));
        }
        Ok(Destination {
            exporter,
            path,
            files,
            one_per_rank: format == FileFormat::Chakra,
        })
    }

    pub(super) fn write(&self, trace: &TraceStore) -> Result<(), Failure> {
        let exporter = self.exporter.as_ref();
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
            Files::Split => export::write_split(exporter, trace, path)?,
            Files::One if !(self.one_per_rank && has_ranks(trace)) => {
                return export::write(exporter, trace, path).map_err(with_options);
            }
            Files::One | Files::ByRank => export::write_ranks(exporter, trace, path)?,
        };
        let line = |path: &PathBuf| format!("{}\n", path.display());
        output::write(
            None,
            written.iter().map(line).collect::<String>().as_bytes(),
        )
    }
}

/// True if entries are of different ranks.
fn has_ranks(trace: &TraceStore) -> bool {
    let mut ranks = trace.views().map(|view| view.rank());
    let first = ranks.next();
    ranks.any(|rank| Some(rank) != first)
}

fn exporter(format: FileFormat, critical_path: bool) -> Result<Box<dyn Exporter>, Failure> {
    Ok(match format {
        FileFormat::Chrome if critical_path => Box::new(ChromeTrace::new().with_critical_path()),
        FileFormat::Perfetto if critical_path => {
            Box::new(PerfettoTrace::new().with_critical_path())
        }
        _ => format.exporter().map_err(|error| match error.kind() {
            // Only Parquet is optional in this program.
            TraceErrorKind::UnknownFormat => Failure::Message(
                "this `optrace` was built without Parquet; build it with `--features parquet`"
                    .into(),
            ),
            _ => Failure::Trace(error),
        })?,
    })
}

/// Adds to an error the options of this command that avoid it.
fn with_options(error: TraceError) -> Failure {
    match error.kind() {
        TraceErrorKind::TooLarge => {
            Failure::Message(format!("{error}: add `--split`, or use `--to perfetto`"))
        }
        TraceErrorKind::UnknownFormat => {
            Failure::Message(format!("{error}; or choose a format with `--to`"))
        }
        _ => Failure::Trace(error),
    }
}

fn ends_in(path: &Path, ending: &str) -> bool {
    lower_case(path).ends_with(ending)
}

fn lower_case(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_ascii_lowercase()
}

fn is_binary(format: FileFormat) -> bool {
    matches!(
        format,
        FileFormat::Perfetto
            | FileFormat::Chakra
            | FileFormat::TorchMemory
            | FileFormat::Parquet
            | FileFormat::ParquetShapes
    )
}

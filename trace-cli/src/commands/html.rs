//! `optrace html`: the report as one page for a browser.

use super::diff::group;
use super::report::Peaks;
use crate::args::Reading;
use crate::failure::Failure;
use crate::{input, output};
use std::path::{Path, PathBuf};
use trace_runtime::TraceStore;
use trace_runtime::analyze::{Design, DiffSettings, RunGroup, diff};
use trace_runtime::export::{Exporter as _, HtmlPage};

#[derive(Debug, clap::Args)]
pub(crate) struct HtmlArgs {
    /// The trace, or `-` for standard input; several files are the ranks of one run, or with `--against` several runs
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) files: Vec<PathBuf>,
    /// Compare with these earlier runs: traces, or a file of `optrace baseline`
    ///
    /// The page then begins with the changes. The other sections show the first run after the change.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) against: Vec<PathBuf>,
    /// Title of the page [default: the name of the file]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Compare ops with these peaks: `60e12,2e12` for 60 TFLOP/s and 2 TB/s, or `measured` for those of this machine
    #[arg(long, value_name = "FLOP/S,B/S", value_parser = super::report::peaks)]
    pub(crate) peaks: Option<Peaks>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

pub(super) fn run(args: &HtmlArgs) -> Result<(), Failure> {
    let paths: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let mut traces = input::load_all(&paths, args.reading)?;
    let mut page = HtmlPage::new().with_title(match &args.title {
        Some(title) => title.clone(),
        None => names(&args.files),
    });
    if !args.against.is_empty() {
        let after: RunGroup = traces.iter().collect();
        let before = group(&args.against, args.reading)?;
        let settings = DiffSettings::default().with_design(Design::Groups);
        let found = diff(&before, &after, &settings);
        page = page.with_change(found, names(&args.against), names(&args.files));
        traces.truncate(1);
    }
    let trace = match <[TraceStore; 1]>::try_from(traces) {
        Ok([trace]) => trace,
        Err(ranks) => TraceStore::merge(&ranks)?,
    };
    write(page, &trace, args.peaks, args.output.as_deref())
}

/// Writes the page of a trace to a file or to standard output.
pub(super) fn write(
    mut page: HtmlPage,
    trace: &TraceStore,
    peaks: Option<Peaks>,
    path: Option<&Path>,
) -> Result<(), Failure> {
    if let Some(peaks) = peaks {
        page = page.with_peaks(peaks.get());
    }
    page = page.with_notes(super::left_out(trace));
    let mut bytes = Vec::new();
    page.export(trace, &mut bytes)
        .map_err(|error| Failure::Message(format!("the page cannot be made: {error}")))?;
    output::write(path, &bytes)
}

/// The names of files, without their folders.
pub(super) fn names(files: &[PathBuf]) -> String {
    let name = |path: &PathBuf| match path.file_name() {
        Some(name) if path.as_os_str() != "-" => name.to_string_lossy().into_owned(),
        _ => "standard input".to_owned(),
    };
    match files {
        [one] => name(one),
        [first, .., last] => format!("{} … {} ({} files)", name(first), name(last), files.len()),
        [] => String::new(),
    }
}

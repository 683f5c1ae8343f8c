//! `optrace convert`: the same trace in another format.

use crate::args::{ConvertArgs, Target, TraceFormat};
use crate::failure::Failure;
use crate::input;
use std::path::Path;
use trace_runtime::TraceStore;
use trace_runtime::export::{
    self, ChromeTrace, CollapsedStacks, DescribedJson, Exporter, FlameGraph, PerfettoTrace,
    Speedscope,
};

pub(super) fn run(args: &ConvertArgs) -> Result<(), Failure> {
    let trace = input::load(&args.file, args.reading)?;
    write(&trace, &args.target)
}

/// Writes a trace where and how it was asked for.
pub(super) fn write(trace: &TraceStore, target: &Target) -> Result<(), Failure> {
    let output = target.output.as_deref();
    let format = target
        .to
        .or_else(|| output.and_then(by_ending))
        .unwrap_or(TraceFormat::Json);
    match format {
        TraceFormat::Json => export_to(&DescribedJson, trace, output),
        TraceFormat::Chrome => export_to(&ChromeTrace::new(), trace, output),
        TraceFormat::Perfetto => export_to(&PerfettoTrace, trace, output),
        TraceFormat::Speedscope => export_to(&Speedscope, trace, output),
        TraceFormat::Collapsed => export_to(&CollapsedStacks, trace, output),
        TraceFormat::Svg => export_to(&FlameGraph::new(), trace, output),
    }
}

fn export_to(
    exporter: &impl Exporter,
    trace: &TraceStore,
    path: Option<&Path>,
) -> Result<(), Failure> {
    if let Some(path) = path {
        return Ok(export::write(exporter, trace, path)?);
    }
    let stdout = std::io::stdout().lock();
    exporter
        .export(trace, stdout)
        .map_err(|error| Failure::write(None, error))
}

fn by_ending(path: &Path) -> Option<TraceFormat> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let endings = [
        (".speedscope.json", TraceFormat::Speedscope),
        (".chrome.json", TraceFormat::Chrome),
        (".pt.trace.json", TraceFormat::Chrome),
        (".pftrace", TraceFormat::Perfetto),
        (".perfetto-trace", TraceFormat::Perfetto),
        (".collapsed", TraceFormat::Collapsed),
        (".folded", TraceFormat::Collapsed),
        (".svg", TraceFormat::Svg),
    ];
    endings
        .into_iter()
        .find(|(ending, _)| name.ends_with(ending))
        .map(|(_, format)| format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_the_format_where_it_can() {
        let format = |name: &str| by_ending(Path::new(name));
        assert_eq!(format("a/run.SVG"), Some(TraceFormat::Svg));
        assert_eq!(format("run.speedscope.json"), Some(TraceFormat::Speedscope));
        assert_eq!(format("run.pftrace"), Some(TraceFormat::Perfetto));
        assert_eq!(format("run.json"), None);
    }
}

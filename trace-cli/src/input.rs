//! Loads traces from files and from standard input, decompressing if needed.

use crate::args::Reading;
use crate::compression::{Compression, gzip, zstd};
use crate::failure::Failure;
use crate::progress::Progress;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read, StdinLock};
use std::path::Path;
use std::thread;
use trace_runtime::analyze::{StepRange, restrict_to_steps, steps_after_warm_up};
use trace_runtime::read::Reader;
use trace_runtime::{TraceError, TraceStore};

/// Loads the trace in a file, or from standard input if the path is `-`.
pub(crate) fn load(path: &Path, reading: Reading) -> Result<TraceStore, Failure> {
    load_one(path, reading, &Progress::new(), Reader::new())
}

fn load_one(
    path: &Path,
    reading: Reading,
    progress: &Progress,
    mut reader: Reader,
) -> Result<TraceStore, Failure> {
    if reading.frames {
        reader = reader.with_frames();
    }
    if reading.modules {
        reader = reader.with_modules();
    }
    if reading.runtime_calls {
        reader = reader.with_runtime_calls();
    }
    if path.as_os_str() == "-" {
        let name = Path::new("standard input");
        let source = progress.reading(name, None, standard_input()?);
        return read(reader, source)
            .and_then(|trace| in_steps(trace, reading))
            .map_err(|error| named(error, name));
    }
    if path.extension().is_some_and(|ending| ending == "optrace") {
        // A recording may be split into several files.
        return reader
            .open(path)
            .and_then(|trace| in_steps(trace, reading))
            .map_err(|error| named(error, path));
    }
    let (file, size) = open(path)?;
    let source = progress.reading(path, size, file);
    read(reader, source)
        .and_then(|trace| in_steps(trace, reading))
        .map_err(|error| named(error, path))
}

/// The part of a trace that `--steps` and `--skip-warm-up` choose.
fn in_steps(trace: TraceStore, reading: Reading) -> Result<TraceStore, TraceError> {
    let after_warm_up = reading.skip_warm_up.then(|| {
        // If the trace has no steps, this fails below.
        steps_after_warm_up(&trace).unwrap_or(StepRange::new(0, u64::MAX))
    });
    let range = match (reading.steps, after_warm_up) {
        (None, None) => return Ok(trace),
        (Some(range), None) | (None, Some(range)) => range,
        (Some(range), Some(steady)) => range.intersection(steady),
    };
    restrict_to_steps(&trace, range)
}

fn named(error: TraceError, path: &Path) -> Failure {
    Failure::Trace(error.in_file(path))
}

/// Loads several traces in parallel. If several fail, the error of the first in the order of `paths` is returned.
pub(crate) fn load_all(paths: &[&Path], reading: Reading) -> Result<Vec<TraceStore>, Failure> {
    let from_stdin = paths.iter().filter(|path| path.as_os_str() == "-").count();
    if from_stdin > 1 {
        return Err(Failure::Message(
            "standard input is named more than once; name files instead".to_owned(),
        ));
    }
    let progress = Progress::new();
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    let mut traces = Vec::with_capacity(paths.len());
    for group in paths.chunks(at_once) {
        let reader = match group.len() {
            1 => Reader::new(),
            files => Reader::new().with_threads(at_once / files),
        };
        traces.extend(thread::scope(|scope| {
            let running: Vec<_> = group
                .iter()
                .map(|path| scope.spawn(|| load_one(path, reading, &progress, reader)))
                .collect();
            running
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect::<Result<Vec<_>, Failure>>()
        })?);
    }
    Ok(traces)
}

fn standard_input() -> Result<StdinLock<'static>, Failure> {
    let stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return Err(Failure::Message(
            "standard input is a terminal; name a trace file, or pipe one in".to_owned(),
        ));
    }
    Ok(stdin)
}

/// Opens a file and returns it with its size in bytes, if it has one (a pipe has none).
fn open(path: &Path) -> Result<(File, Option<u64>), Failure> {
    let file = File::open(path).map_err(|error| named(TraceError::reading(error), path))?;
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file);
    Ok((file, size.map(|metadata| metadata.len())))
}

/// Reads a trace from `source`, decompressing it if it is gzip or zstd.
fn read(reader: Reader, mut source: impl Read) -> Result<TraceStore, TraceError> {
    let mut magic = Vec::new();
    (&mut source)
        .take(4)
        .read_to_end(&mut magic)
        .map_err(TraceError::reading)?;
    let compression = Compression::of(&magic);
    let source = magic.as_slice().chain(source);
    match compression {
        None => reader.from_reader(source),
        Some(Compression::Gzip) => reader.from_reader(gzip(source)),
        Some(Compression::Zstd) => reader.from_reader(zstd(source)),
    }
}

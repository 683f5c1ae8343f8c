//! Traces from files and standard input, decompressed where they need it.

use crate::args::Reading;
use crate::failure::Failure;
use crate::progress::Progress;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use trace_runtime::read::Reader;
use trace_runtime::{TraceError, TraceStore};

/// Reads the trace in a file, or from standard input where its name is `-`.
pub(crate) fn load(path: &Path, reading: Reading) -> Result<TraceStore, Failure> {
    let progress = Progress::reading(path);
    let (bytes, name) = if path.as_os_str() == "-" {
        (standard_input()?, Path::new("standard input"))
    } else {
        (file(path)?, path)
    };
    let about_file = |message: String| Failure::Trace(TraceError::content(message).in_file(name));
    let bytes = decompress(bytes, &progress).map_err(about_file)?;
    let mut reader = Reader::new();
    if reading.frames {
        reader = reader.with_frames();
    }
    if reading.runtime_calls {
        reader = reader.with_runtime_calls();
    }
    progress.begin(bytes.len());
    let trace = reader.open_watched(&bytes, progress.done());
    trace.map_err(|error| Failure::Trace(error.in_file(name)))
}

/// Reads several traces side by side; the first failure in their order is told.
pub(crate) fn load_all(paths: &[&Path], reading: Reading) -> Result<Vec<TraceStore>, Failure> {
    let by_pipe = paths.iter().filter(|path| path.as_os_str() == "-").count();
    if by_pipe > 1 {
        return Err(Failure::Told(
            "standard input is named more than once; name files instead".to_owned(),
        ));
    }
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    let mut traces = Vec::with_capacity(paths.len());
    for group in paths.chunks(at_once) {
        traces.extend(thread::scope(|scope| {
            let running: Vec<_> = group
                .iter()
                .map(|path| scope.spawn(|| load(path, reading)))
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

fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return Err(Failure::Told(
            "standard input is a terminal; name a trace file, or pipe one in".to_owned(),
        ));
    }
    let mut bytes = Vec::new();
    stdin
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Told(format!("standard input cannot be read: {error}")))?;
    Ok(bytes)
}

fn file(path: &Path) -> Result<Vec<u8>, Failure> {
    let told = |message: String| Failure::Trace(TraceError::content(message).in_file(path));
    if path.is_dir() {
        return Err(told("is a directory; name a trace file in it".to_owned()));
    }
    let read = |path: &Path| {
        let mut file = File::open(path)?;
        let size = file.metadata().map_or(0, |about| about.len());
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read(path).map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => told("there is no such file".to_owned()),
        _ => told(format!("cannot be read: {error}")),
    })
}

/// The bytes as they were before gzip or zstd, if that is what they are.
fn decompress(bytes: Vec<u8>, progress: &Progress) -> Result<Vec<u8>, String> {
    let told = |how: &str, error: &io::Error| {
        format!("the {how} data is damaged or ends too early ({error}); copy or download it again")
    };
    if bytes.starts_with(&[0x1f, 0x8b]) {
        progress.begin(bytes.len());
        let source = Counted(bytes.as_slice(), bytes.len(), progress.done());
        let mut plain = Vec::with_capacity(gzip_size(&bytes));
        flate2::bufread::MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, source))
            .read_to_end(&mut plain)
            .map_err(|error| told("gzip", &error))?;
        return Ok(plain);
    }
    if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        progress.begin(bytes.len());
        let mut source = Counted(bytes.as_slice(), bytes.len(), progress.done());
        let mut plain = Vec::new();
        // A file may be several frames one after the other.
        while !source.0.is_empty() {
            ruzstd::decoding::StreamingDecoder::new(&mut source)
                .map_err(|error| told("zstd", &io::Error::other(error)))?
                .read_to_end(&mut plain)
                .map_err(|error| told("zstd", &error))?;
        }
        return Ok(plain);
    }
    Ok(bytes)
}

/// What the last four bytes say the size was, if it can be true: nothing shrinks to a thousandth and
/// less. Room made once is neither copied nor doubled.
fn gzip_size(bytes: &[u8]) -> usize {
    let said = bytes
        .last_chunk()
        .map_or(0, |size| u32::from_le_bytes(*size)) as usize;
    if said / 1032 > bytes.len() { 0 } else { said }
}

/// Tells how much of a slice has been read.
struct Counted<'a>(&'a [u8], usize, &'a AtomicUsize);

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.2.store(self.1 - self.0.len(), Ordering::Relaxed);
        Ok(count)
    }
}

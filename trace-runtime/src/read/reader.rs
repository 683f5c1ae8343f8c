//! Reads traces with options for what to keep.

use super::parallel::Split;
use super::window::Window;
use super::{Format, chrome, strip_bom};
use crate::model::optrace;
use crate::model::wire::json::{self, JsonContent};
use crate::model::{TraceError, TraceStore, TraceStoreBuilder};
use serde_json::Deserializer;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::path::Path;
use std::thread;

/// Reads traces, keeping more of them than [`open`](super::open) does.
///
/// Interpreter frames and calls into a device's runtime overlap the ops around them. If a trace has ops, both are left
/// out of the entries by default; the methods here keep them. Runtime calls are always available from
/// [`TraceView::runtime_calls`](crate::TraceView::runtime_calls); frames are counted.
///
/// ```
/// use trace_runtime::{TraceView, read::Reader};
///
/// let json = br#"[
///     {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 9},
///     {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 5}
/// ]"#;
/// assert_eq!(Reader::new().from_slice(json)?.len(), 1);
/// assert_eq!(Reader::new().with_runtime_calls().from_slice(json)?.len(), 2);
/// # Ok::<(), trace_runtime::TraceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reader {
    pub(super) frames: bool,
    pub(super) runtime_calls: bool,
    pub(super) modules: bool,
    /// 0 for as many as there are cores.
    threads: usize,
    pub(super) split: Split,
}

impl Reader {
    /// A reader that keeps ops and the work of devices.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Keeps the frames of an interpreter, on their own threads.
    #[must_use]
    pub fn with_frames(mut self) -> Reader {
        self.frames = true;
        self
    }

    /// Keeps the frames of modules (`nn.Module: Linear_0`, which torch.profiler records with `with_stack=True`) as ops
    /// around those that they call. Op tables then have the host and device time of each module, and trees show its
    /// parts.
    ///
    /// ```
    /// use trace_runtime::analyze::by_op;
    /// use trace_runtime::read::Reader;
    ///
    /// let json = br#"[
    ///   {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 1, "tid": 1, "ts": 0, "dur": 20},
    ///   {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 2, "dur": 15},
    ///   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 4, "dur": 5,
    ///    "args": {"correlation": 7}},
    ///   {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12, "dur": 80,
    ///    "args": {"device": 0, "stream": 7, "correlation": 7}}
    /// ]"#;
    /// let ops = by_op(&Reader::new().with_modules().from_slice(json)?);
    /// let linear = ops.iter().find(|row| row.operation == "nn.Module: Linear_0").unwrap();
    /// assert_eq!((linear.self_ns, linear.device_total_ns), (5_000, 80_000));
    /// # Ok::<(), trace_runtime::TraceError>(())
    /// ```
    #[must_use]
    pub fn with_modules(mut self) -> Reader {
        self.modules = true;
        self
    }

    /// Keeps calls into the runtime and the driver of a device, on their own threads.
    #[must_use]
    pub fn with_runtime_calls(mut self) -> Reader {
        self.runtime_calls = true;
        self
    }

    /// Reads a Chrome trace on up to `threads` threads, at most 8, in addition to the thread that reads the file. With
    /// 0, the default, a trace of more than 100,000 events is read on all cores. The trace is the same with any number.
    /// Use 1 if several files are read at once.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Reader {
        self.threads = threads;
        self.split = match threads {
            0 => Split::default(),
            _ => Split::at_once(),
        };
        self
    }

    pub(super) fn threads(self) -> usize {
        match self.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Reads the trace in a file, in any known format.
    ///
    /// # Errors
    /// As for [`read::open`](super::open).
    pub fn open(self, path: impl AsRef<Path>) -> Result<TraceStore, TraceError> {
        let path = path.as_ref();
        if path.is_dir() {
            return Err(TraceError::directory("name a trace file in it").in_file(path));
        }
        let reading = |error| TraceError::reading(error).in_file(path);
        let mut file = File::open(path).map_err(reading)?;
        // Only a regular file can be read twice.
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            let mut head = [0; optrace::MAGIC.len()];
            if file.read_exact(&mut head).is_ok() && head == optrace::MAGIC {
                // It may have parts in other files.
                return optrace::open(path);
            }
            file.rewind().map_err(reading)?;
        }
        self.from_reader(file).map_err(|error| error.in_file(path))
    }

    /// Reads the trace in these bytes, in any known format.
    ///
    /// # Errors
    /// As for [`read::open`](super::open).
    pub fn from_slice(self, bytes: &[u8]) -> Result<TraceStore, TraceError> {
        let bytes = strip_bom(bytes);
        match Format::of(bytes)? {
            Format::Optrace => optrace::read(bytes),
            Format::Recorded => recorded(Deserializer::from_slice(bytes)),
            Format::ChromeObject => chrome::object(Window::new(bytes)?, self),
            Format::ChromeArray => chrome::array(Window::new(bytes)?, self),
        }
    }

    /// Reads the trace from a stream, in any known format.
    ///
    /// The text is parsed while it arrives and is never in memory as a whole. The stream need not be buffered.
    ///
    /// # Errors
    /// As for [`read::open`](super::open).
    pub fn from_reader(self, reader: impl Read) -> Result<TraceStore, TraceError> {
        let mut reader = reader;
        let mut head = Vec::with_capacity(optrace::MAGIC.len());
        (&mut reader)
            .take(optrace::MAGIC.len() as u64)
            .read_to_end(&mut head)
            .map_err(TraceError::reading)?;
        let is_recording = head == optrace::MAGIC;
        let reader = io::Cursor::new(head).chain(reader);
        if is_recording {
            return optrace::read(reader);
        }
        let mut window = Window::new(reader)?;
        match window.piece(|scanner| Format::look(scanner.clone()))?? {
            Format::Recorded => {
                let mut text = BufReader::with_capacity(1 << 16, window.rest());
                recorded(Deserializer::from_reader(&mut text)).map_err(|error| {
                    // Damaged compressed data first yields wrong text; the decoder notices the damage only at the end.
                    let damage = io::copy(&mut text, &mut io::sink()).err();
                    damage.map_or(error, TraceError::reading)
                })
            }
            // Not possible: a recording begins with other bytes, see above.
            Format::Optrace => Err(TraceError::not_a_trace(
                "a recording begins with its header",
            )),
            Format::ChromeObject => chrome::object(window, self),
            Format::ChromeArray => chrome::array(window, self),
        }
    }
}

/// Reads the JSON of this crate, entry by entry.
fn recorded<'de, R: serde_json::de::Read<'de>>(
    deserializer: serde_json::Deserializer<R>,
) -> Result<TraceStore, TraceError> {
    let content: JsonContent<TraceStoreBuilder> = json::read(deserializer)?;
    Ok(TraceStore::from(content))
}

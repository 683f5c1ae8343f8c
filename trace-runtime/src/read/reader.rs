//! Reads traces with options for what to keep.

use super::window::Window;
use super::{Format, chrome, strip_bom};
use crate::model::wire::json::{self, JsonContent};
use crate::model::{TraceError, TraceStore, TraceStoreBuilder};
use serde_json::Deserializer;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Reads traces, keeping more of them than [`open`](super::open) does.
///
/// Interpreter frames and calls into a device's runtime overlap the ops around them, so they are not entries
/// where a trace has ops, unless asked for here. Runtime calls are always available from
/// [`TraceView::runtime_calls`](crate::TraceView::runtime_calls); frames are left out and counted.
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
}

impl Reader {
    /// A reader that keeps ops and the work of devices.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Keeps the frames of an interpreter, on threads of their own.
    #[must_use]
    pub fn with_frames(mut self) -> Reader {
        self.frames = true;
        self
    }

    /// Keeps calls into the runtime and the driver of a device, on threads of their own.
    #[must_use]
    pub fn with_runtime_calls(mut self) -> Reader {
        self.runtime_calls = true;
        self
    }

    /// Reads the trace in a file, in any known format.
    pub fn open(self, path: impl AsRef<Path>) -> Result<TraceStore, TraceError> {
        let path = path.as_ref();
        if path.is_dir() {
            return Err(TraceError::directory("name a trace file in it").in_file(path));
        }
        File::open(path)
            .map_err(TraceError::reading)
            .and_then(|file| self.from_reader(file))
            .map_err(|error| error.in_file(path))
    }

    /// Reads the trace in these bytes, in any known format.
    pub fn from_slice(self, bytes: &[u8]) -> Result<TraceStore, TraceError> {
        let bytes = strip_bom(bytes);
        match Format::of(bytes)? {
            Format::Recorded => recorded(Deserializer::from_slice(bytes)),
            Format::ChromeObject => chrome::object(Window::new(bytes)?, self),
            Format::ChromeArray => chrome::array(Window::new(bytes)?, self),
        }
    }

    /// Reads the trace from a stream, in any known format.
    ///
    /// The text is parsed while it arrives and is never in memory as a whole. The stream needs no buffer
    /// of its own.
    pub fn from_reader(self, reader: impl Read) -> Result<TraceStore, TraceError> {
        let mut window = Window::new(reader)?;
        match window.piece(|scanner| Format::look(scanner.clone()))?? {
            Format::Recorded => {
                let mut text = BufReader::with_capacity(1 << 16, window.rest());
                recorded(Deserializer::from_reader(&mut text)).map_err(|error| {
                    // Damaged compressed data gives wrong text first; the decoder notices only at the end.
                    let damage = io::copy(&mut text, &mut io::sink()).err();
                    damage.map_or(error, TraceError::reading)
                })
            }
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

//! Reads traces from bytes: those of this crate and those of other profilers.
//!
//! | from | call |
//! |---|---|
//! | a file | [`open`] |
//! | bytes in memory | [`from_slice`] |
//! | a stream, such as a decoder | [`from_reader`] |
//! | a recording that is being written, again and again | [`Follower`] |
//!
//! All of them recognise the format: the JSON of this crate, its recordings, and Chrome's trace format in the dialects
//! of Kineto (`torch.profiler`) from 2021 on. [`Reader`] has the first three as methods, with options for what to keep.
//! Only new names and shapes are copied out of the text, so reading is about as fast as scanning it.
//!
//! Compressed files are not decompressed here; the `optrace` command does that.

mod append;
mod async_spans;
mod block;
mod category;
mod chrome;
mod collector;
mod devices;
mod event;
mod flows;
mod header;
mod keys;
mod left_out;
mod mesh;
mod micros;
mod nest;
mod ops;
mod own;
mod own_event;
mod parallel;
mod places;
mod reader;
mod recognize;
mod row_order;
mod scanner;
mod step_names;
mod steps;
mod tensor_list;
mod texts;
mod window;
mod xla;

#[doc(inline)]
pub use crate::model::optrace::follow::{FollowState, Follower, LiveOp, OpenOp, OpenThread};
pub use reader::Reader;
pub use recognize::Format;

use crate::model::{TraceError, TraceStore};
use std::io;
use std::path::Path;

/// Reads the trace in a file, in any known format.
///
/// A trace that this crate wrote, as its JSON or as a [Chrome trace](crate::export::ChromeTrace), is restored exactly.
/// The times of any other Chrome trace are counted from its first event; `read.base_ns` in the metadata is the time of
/// that event on the clock of the file. Events that were not kept are counted in the metadata, under
/// [`LEFT_OUT_PREFIX`](crate::model::wire::metadata::LEFT_OUT_PREFIX).
///
/// # Errors
/// [`TraceError::kind`] is the reason: the file cannot be read, is not a trace, or is damaged.
pub fn open(path: impl AsRef<Path>) -> Result<TraceStore, TraceError> {
    Reader::new().open(path)
}

/// Reads the trace in these bytes, like [`open`].
///
/// ```
/// use trace_runtime::{TraceView, read};
///
/// let trace = read::from_slice(br#"{"traceEvents": [
///     {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 100, "dur": 9},
///     {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 102.5, "dur": 4,
///      "args": {"Input Dims": [[64, 32], [32, 8]], "Input type": ["float", "float"]}}
/// ]}"#)?;
/// let mm = trace.view(1);
/// assert_eq!((mm.start_ns(), mm.duration_ns(), mm.parent()), (Some(2500), 4000, Some(0)));
/// assert_eq!(mm.inputs().next().unwrap().dims, [64, 32]);
/// # Ok::<(), trace_runtime::TraceError>(())
/// ```
///
/// # Errors
/// As for [`open`].
pub fn from_slice(bytes: &[u8]) -> Result<TraceStore, TraceError> {
    Reader::new().from_slice(bytes)
}

/// Reads the trace from a stream, like [`open`].
///
/// The text of a trace is parsed while it arrives and is never in memory as a whole. Use this for compressed files,
/// with a decoder as the reader. The reader need not be buffered.
///
/// # Errors
/// As for [`open`].
pub fn from_reader(reader: impl io::Read) -> Result<TraceStore, TraceError> {
    Reader::new().from_reader(reader)
}

/// Removes the byte order mark that some editors write before UTF-8.
fn strip_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

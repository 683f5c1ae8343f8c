//! Reads traces, ours and those of other profilers, from bytes.
//!
//! [`open`] recognises what it is given: the JSON of this crate, and Chrome's trace format in the
//! dialects of Kineto (`torch.profiler`) from 2021 on. It reads at the speed of a scan: no value of
//! the file is copied but the names and shapes that are new.
//!
//! Compressed files are not opened here; the `optrace` command does that.

mod category;
mod chrome;
mod collector;
mod event;
mod flows;
mod hash;
mod header;
mod keys;
mod left_out;
mod micros;
mod nest;
mod ops;
mod own;
mod own_event;
mod places;
mod reader;
mod recognize;
mod scanner;
mod tensor_list;
mod texts;
mod window;

pub use left_out::LEFT_OUT_PREFIX;
pub use reader::Reader;
pub use recognize::Format;

use crate::model::{TraceError, TraceStore};
use std::path::Path;

/// Reads the trace in these bytes, whatever its form.
///
/// A trace that this crate wrote, as its JSON or as a [Chrome trace](crate::export::ChromeTrace), comes
/// back as it was. The times of any other Chrome trace are counted from its first event; `read.base_ns`
/// in the metadata is that time on the clock of the file. Events that were not kept are counted
/// under [`LEFT_OUT_PREFIX`].
///
/// ```
/// use trace_runtime::{TraceView, read};
///
/// let trace = read::open(br#"{"traceEvents": [
///     {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 100, "dur": 9},
///     {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 102.5, "dur": 4,
///      "args": {"Input Dims": [[64, 32], [32, 8]], "Input type": ["float", "float"]}}
/// ]}"#)?;
/// let mm = trace.views().nth(1).unwrap();
/// assert_eq!((mm.start_ns(), mm.duration_ns(), mm.parent()), (Some(2500), 4000, Some(0)));
/// assert_eq!(mm.inputs().next().unwrap().dims, [64, 32]);
/// # Ok::<(), trace_runtime::TraceError>(())
/// ```
pub fn open(bytes: &[u8]) -> Result<TraceStore, TraceError> {
    Reader::new().open(bytes)
}

/// Reads the trace in a file, whatever its form.
pub fn trace(path: impl AsRef<Path>) -> Result<TraceStore, TraceError> {
    Reader::new().trace(path)
}

/// Without the byte order mark that some editors put before UTF-8.
fn strip_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

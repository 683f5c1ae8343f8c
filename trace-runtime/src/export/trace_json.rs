//! The JSON of this crate, which keeps everything.

use super::Exporter;
use crate::model::TraceView;
use crate::model::wire::json::JsonTrace;
use std::io::{self, BufWriter, Write};

/// Writes the JSON that [`RecordedExecutionTrace::to_json`](crate::RecordedExecutionTrace::to_json)
/// returns, entry by entry, for a trace of any size. [`read`](crate::read) restores the trace from it.
#[derive(Debug, Clone, Copy, Default)]
pub struct TraceJson;

impl Exporter for TraceJson {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        serde_json::to_writer_pretty(&mut out, &JsonTrace::new(trace))?;
        out.write_all(b"\n")?;
        out.flush()
    }

    fn extension(&self) -> &'static str {
        "json"
    }
}

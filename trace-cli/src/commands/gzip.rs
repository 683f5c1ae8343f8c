//! Compresses the output of any exporter with gzip.

use flate2::{Compression, write::GzEncoder};
use std::io::{self, Write};
use trace_runtime::TraceView;
use trace_runtime::export::Exporter;
use trace_runtime::model::EntryView;

pub(super) struct Gzip<'a>(pub(super) &'a dyn Exporter);

impl Exporter for Gzip<'_> {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let mut out = GzEncoder::new(out, Compression::fast());
        self.0.export(trace, &mut out)?;
        out.finish()?.flush()
    }

    fn extension(&self) -> &'static str {
        match self.0.extension() {
            "json" => "json.gz",
            "speedscope.json" => "speedscope.json.gz",
            "pftrace" => "pftrace.gz",
            "csv" => "csv.gz",
            _ => "gz",
        }
    }

    fn event_limit(&self) -> Option<usize> {
        self.0.event_limit()
    }

    fn events_of(&self, trace: &dyn TraceView, entry: &EntryView<'_>) -> usize {
        self.0.events_of(trace, entry)
    }

    fn events_of_memory(&self) -> usize {
        self.0.events_of_memory()
    }
}

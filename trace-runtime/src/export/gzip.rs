//! Compresses the output of any exporter with gzip.

use super::Exporter;
use crate::model::{EntryView, TraceView};
use flate2::{Compression, write::GzEncoder};
use std::io::{self, Write};

/// An exporter whose output is compressed with gzip, at the level that favours speed.
///
/// Perfetto, speedscope, HTA and [`read`](crate::read) with a decoder open compressed files.
#[derive(Debug, Clone, Copy)]
pub struct Gzip<E>(pub E);

impl<E: Exporter> Exporter for Gzip<E> {
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
            "et" => "et.gz",
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

    fn prepared<'t>(&self, whole: &'t dyn TraceView) -> Option<Box<dyn Exporter + 't>>
    where
        Self: 't,
    {
        let inner = self.0.prepared(whole)?;
        Some(Box::new(Gzip(inner)))
    }

    fn rank_name(&self, rank: u32) -> String {
        self.0.rank_name(rank)
    }
}

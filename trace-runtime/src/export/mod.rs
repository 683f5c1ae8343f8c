//! Writes traces as files for other tools.
//!
//! | format | type | opens in |
//! |---|---|---|
//! | Chrome trace, Kineto dialect | [`ChromeTrace`] | Perfetto, `chrome://tracing`, HTA, speedscope |
//! | Perfetto's native trace | [`PerfettoTrace`] | Perfetto |
//! | Chakra execution trace | [`ChakraTrace`] | simulators of training, such as ASTRA-sim |
//! | collapsed stacks | [`CollapsedStacks`] | inferno, `flamegraph.pl`, speedscope |
//! | speedscope | [`Speedscope`] | speedscope |
//! | flame graph, as SVG | `FlameGraph`, with the feature `flamegraph` | a browser |
//! | the report as one page | `HtmlPage`, with the feature `html` | a browser, offline |
//! | tables of entries and of ops by shape | `parquet`, with the feature of that name | `DuckDB`, Polars, Spark, `DataFusion` |
//! | memory as a snapshot of torch | [`TorchMemory`] | `PyTorch`'s memory viewer |
//! | op tables as CSV | [`CsvTable`] | spreadsheets |
//! | the JSON of this crate | [`TraceJson`] | [`read`](crate::read) |
//!
//! [`write_file`] picks the format by the file's ending. Each exporter takes any [`TraceView`] and writes while it
//! reads the trace. Exports of entries need almost no memory in addition to the trace; speedscope needs 4 bytes per
//! entry, because its files have one thread after another. Exports of sums over the trace (stacks, pictures, op tables)
//! need up to 48 bytes per entry.
//!
//! ```
//! use trace_runtime::RecordedExecutionTrace;
//! use trace_runtime::export::{ChromeTrace, Exporter};
//!
//! let trace = RecordedExecutionTrace::new();
//! let mut bytes = Vec::new();
//! ChromeTrace::new().export(&trace, &mut bytes)?;
//! # std::io::Result::Ok(())
//! ```

mod chakra;
mod chrome;
mod collapsed;
mod csv;
mod file;
#[cfg(feature = "flamegraph")]
mod flame_graph;
#[cfg(feature = "gzip")]
mod gzip;
#[cfg(feature = "html")]
mod html;
mod json_text;
mod memory_curve;
mod output_file;
#[cfg(feature = "parquet")]
pub mod parquet;
mod part;
mod perfetto;
mod protobuf;
mod speedscope;
mod timeline;
mod torch_memory;
mod trace_json;
mod tracks;

pub use chakra::ChakraTrace;
pub use chrome::ChromeTrace;
pub use collapsed::{CollapsedMemory, CollapsedStacks};
pub use csv::CsvTable;
pub use file::{check_event_limit, event_count, write, write_ranks, write_split, write_with};
#[cfg(feature = "flamegraph")]
pub use flame_graph::FlameGraph;
#[cfg(feature = "gzip")]
pub use gzip::Gzip;
#[cfg(feature = "html")]
pub use html::HtmlPage;
pub use output_file::{FileFormat, OutputFile, write_file};
pub use perfetto::PerfettoTrace;
pub use speedscope::Speedscope;
pub use torch_memory::TorchMemory;
pub use trace_json::TraceJson;

use crate::model::{EntryView, TraceView};
use std::io;

/// A file format that a trace can be written in.
///
/// `&dyn Exporter` and `Box<dyn Exporter>` are exporters too. To write a file, use [`write_file`] for the
/// format of the file's ending, or [`write()`] for a given exporter.
pub trait Exporter {
    /// Writes the whole trace to `out`. Exporters buffer their output, so `out` needs no buffer.
    fn export(&self, trace: &dyn TraceView, out: &mut dyn io::Write) -> io::Result<()>;

    /// The usual ending of a file of this format, without the first dot: `json`, `svg`.
    fn extension(&self) -> &'static str;

    /// The number of events that the viewers of the format open in one file; `None` for no limit.
    /// [`write`](fn@write) refuses more, and [`write_split`] writes several files.
    fn event_limit(&self) -> Option<usize> {
        None
    }

    /// The largest number of events that an entry can need.
    fn events_of(&self, _trace: &dyn TraceView, _entry: &EntryView<'_>) -> usize {
        1
    }

    /// The number of events per allocation or free.
    fn events_of_memory(&self) -> usize {
        0
    }

    /// An exporter for parts of `whole`, such as its ranks, if a part needs facts about the whole trace. The
    /// exporter gathers these facts once.
    fn prepared<'t>(&self, _whole: &'t dyn TraceView) -> Option<Box<dyn Exporter + 't>>
    where
        Self: 't,
    {
        None
    }

    /// The part of the file name of one rank before the ending: `rank-3`, unless the readers of the format expect
    /// another name.
    fn rank_name(&self, rank: u32) -> String {
        format!("rank-{rank}")
    }
}

/// Pointers to an exporter are exporters.
macro_rules! forward_to_exporter {
    ($($pointer:ty),*) => {$(
        impl<E: Exporter + ?Sized> Exporter for $pointer {
            fn export(&self, trace: &dyn TraceView, out: &mut dyn io::Write) -> io::Result<()> {
                (**self).export(trace, out)
            }

            fn extension(&self) -> &'static str {
                (**self).extension()
            }

            fn event_limit(&self) -> Option<usize> {
                (**self).event_limit()
            }

            fn events_of(&self, trace: &dyn TraceView, entry: &EntryView<'_>) -> usize {
                (**self).events_of(trace, entry)
            }

            fn events_of_memory(&self) -> usize {
                (**self).events_of_memory()
            }

            fn prepared<'t>(&self, whole: &'t dyn TraceView) -> Option<Box<dyn Exporter + 't>>
            where
                Self: 't,
            {
                (**self).prepared(whole)
            }

            fn rank_name(&self, rank: u32) -> String {
                (**self).rank_name(rank)
            }
        }
    )*};
}

forward_to_exporter!(&E, Box<E>);

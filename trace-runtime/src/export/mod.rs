//! Traces written as the files that other tools open.
//!
//! | format | type | opens in |
//! |---|---|---|
//! | Chrome trace, Kineto dialect | [`ChromeTrace`] | Perfetto, `chrome://tracing`, HTA, speedscope |
//! | Perfetto's native trace | [`PerfettoTrace`] | Perfetto |
//! | collapsed stacks | [`CollapsedStacks`] | inferno, `flamegraph.pl`, speedscope |
//! | speedscope | [`Speedscope`] | speedscope |
//! | flame graph, as SVG | `FlameGraph`, with the feature `flamegraph` | a browser |
//! | tables of entries and of ops by shape | `parquet`, with the feature of that name | `DuckDB`, Polars, Spark, `DataFusion` |
//! | op tables as CSV | [`CsvTable`] | spreadsheets |
//! | the described JSON | [`TraceJson`] | this crate |
//!
//! Each takes any [`TraceView`] and writes as it goes. Those that show entries hold next to nothing beside
//! the trace; speedscope, whose threads come one after the other, holds 4 bytes an entry. Those that are
//! sums over the trace (stacks, pictures, op tables) hold up to 48 bytes per entry while they add up.
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

mod chrome;
mod collapsed;
mod csv;
mod file;
#[cfg(feature = "flamegraph")]
mod flame_graph;
mod json_text;
mod memory_curve;
#[cfg(feature = "parquet")]
pub mod parquet;
mod part;
mod perfetto;
mod speedscope;
mod timeline;
mod trace_json;
mod tracks;

pub use chrome::ChromeTrace;
pub use collapsed::CollapsedStacks;
pub use csv::CsvTable;
pub use file::{check_event_limit, event_count, write, write_ranks, write_split, write_with};
#[cfg(feature = "flamegraph")]
pub use flame_graph::FlameGraph;
pub use perfetto::PerfettoTrace;
pub use speedscope::Speedscope;
pub use trace_json::TraceJson;

use crate::model::{EntryView, TraceView};
use std::io;

/// A file format that a trace can be written in.
pub trait Exporter {
    /// Writes the whole trace to `out`. Exporters buffer; `out` need not.
    fn export(&self, trace: &dyn TraceView, out: &mut dyn io::Write) -> io::Result<()>;

    /// The usual ending of a file of this format, without the first dot: `json`, `svg`.
    fn extension(&self) -> &'static str;

    /// How many events a file may have before the format's viewers give up on it; none where size is
    /// no concern. [`write`](fn@write) refuses more, and [`write_split`] spreads them over several files.
    fn event_limit(&self) -> Option<usize> {
        None
    }

    /// How many events an entry takes, at most.
    fn events_of(&self, _trace: &dyn TraceView, _entry: &EntryView<'_>) -> usize {
        1
    }

    /// How many events take what an allocator said once.
    fn events_of_memory(&self) -> usize {
        0
    }
}

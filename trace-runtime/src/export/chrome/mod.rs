//! The Chrome trace format in the dialect of Kineto, the profiler of `PyTorch`.
//!
//! Perfetto, `chrome://tracing`, TensorBoard-style tools and `HolisticTraceAnalysis` (HTA) read it.

mod args;
mod device_rows;
mod events;
mod rows;

use super::Exporter;
use super::memory_curve::{OUTPUTS, OutputBytes, allocated};
use super::timeline::{ThreadKey, Timeline, off_host};
use crate::analyze::CausalModel;
use crate::model::{EntryView, TraceView};
use device_rows::DeviceRows;
use events::Events;
use rows::Rows;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

/// Writes a Chrome trace: a process per rank, a row per thread and per device.
///
/// Each entry is a complete event with `Input Dims` and `Input type`. Spans on a row only nest, times are exact
/// to the nanosecond, and a parent on another thread is linked by an arrow. Control characters in names become
/// symbols (`␊`).
///
/// A device other than `cpu` has its own rows, a *stream* for each thread that uses it. A stream shows the
/// innermost op of the thread while it is the innermost, launched from its thread. HTA uses these rows; it
/// recognises communication by the name `ncclDevKernel_…` and memory work by `Memcpy …`.
///
/// [`read`](crate::read) restores the trace that was written, entry by entry, with its metadata and memory
/// events. The differences: times are rounded to whole nanoseconds, a memory event more than 73 years from the
/// beginning is moved to that limit, and entries are in the order of their steps.
#[derive(Debug, Clone)]
pub struct ChromeTrace {
    device_rows: bool,
    memory: bool,
    critical_path: bool,
}

impl ChromeTrace {
    /// An export with everything except the critical path.
    pub fn new() -> Self {
        ChromeTrace {
            device_rows: true,
            memory: true,
            critical_path: false,
        }
    }

    /// Adds a row with the critical path, as events of the category `critical_path`: see [`CausalModel`]. Readers of
    /// this crate ignore them.
    #[must_use]
    pub fn with_critical_path(mut self) -> Self {
        self.critical_path = true;
        self
    }

    /// Leaves out the rows of devices.
    #[must_use]
    pub fn without_device_rows(mut self) -> Self {
        self.device_rows = false;
        self
    }

    /// Leaves out the memory curve, which has an event per entry, and the memory events.
    #[must_use]
    pub fn without_memory(mut self) -> Self {
        self.memory = false;
        self
    }
}

impl Default for ChromeTrace {
    fn default() -> Self {
        Self::new()
    }
}

/// The number of events in one file that viewers open, approximately; names of rows are not counted.
const MAX_EVENTS: usize = 1_000_000;

impl Exporter for ChromeTrace {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let timeline = Timeline::of(trace);
        let out = BufWriter::with_capacity(1 << 16, out);
        let mut events = Events::begin(out, trace, &timeline)?;
        let mut rows = Rows::new();
        let mut devices = DeviceRows::default();
        let mut closed = Vec::new();
        let mut memory = OutputBytes::default();
        let watched = trace.memory_events().next().is_some();
        let mut handed_off = HashMap::new();
        for step in trace.steps() {
            let (row, first) = rows.steps(step.rank.unwrap_or(0));
            if first {
                events.name_row(row, step.rank, "steps")?;
            }
            let start = timeline.since_origin(step.start_ns);
            events.step(row, step, start)?;
        }
        for span in timeline.spans() {
            let view = span.view;
            let at = rows.place(&span, &mut closed);
            for gone in closed.drain(..).filter(|_| self.device_rows) {
                devices.end(&mut events, &mut rows, gone)?;
            }
            if at.place.first_on_track {
                let label = timeline.row_name(&view, at.place.lane);
                let name = view
                    .thread()
                    .and_then(|thread| trace.thread_name(view.rank(), thread));
                events.name_thread(at.row, &view, &label, name)?;
            }
            events.op(at, &view)?;
            if self.device_rows {
                devices.begin(&mut events, &mut rows, view, at)?;
            }
            if timeline.handed_off(view.step()) {
                handed_off.insert(view.step(), at);
            }
            if let Some(parent) = view.parent().filter(|_| !at.place.nested)
                && let Some(&from) = handed_off.get(&parent)
            {
                events.flow(view.step(), from, at)?;
            }
            if self.memory && !watched {
                while let Some(sample) = memory.next_until(at.place.start_ns) {
                    events.counter(OUTPUTS, sample)?;
                }
                memory.add(&view, at.place);
            }
        }
        rows.finish(&mut closed);
        for gone in closed.into_iter().filter(|_| self.device_rows) {
            devices.end(&mut events, &mut rows, gone)?;
        }
        while let Some(sample) = memory.next_until(u64::MAX) {
            events.counter(OUTPUTS, sample)?;
        }
        if self.memory {
            for (event, sample) in allocated(trace, &timeline) {
                let (row, first) = rows.memory(event.rank.unwrap_or(0));
                if first {
                    events.name_row(row, event.rank, "memory")?;
                }
                events.memory(row, &event, sample.time_ns)?;
                events.counter(&format!("allocated bytes on {}", event.device_id), sample)?;
            }
        }
        if self.critical_path {
            for step in CausalModel::new(trace).critical_steps() {
                let (row, first) = rows.critical_path(step.rank.unwrap_or(0));
                if first {
                    events.name_row(row, step.rank, "critical path")?;
                }
                let start = timeline.since_origin(step.start_ns);
                events.critical(row, &step, start)?;
            }
        }
        events.finish()
    }

    fn extension(&self) -> &'static str {
        "json"
    }

    fn event_limit(&self) -> Option<usize> {
        Some(MAX_EVENTS)
    }

    fn events_of(&self, trace: &dyn TraceView, entry: &EntryView<'_>) -> usize {
        // An interval on a device needs two events, the work and its launch. The end of an entry ends one such interval
        // of its own, and its start ends one of its parent. A parent on another thread adds two flow events.
        let stretch = |on: &EntryView<'_>| 2 * usize::from(self.device_rows && off_host(on));
        let above = entry.parent().and_then(|step| trace.index_of_step(step));
        let begins = above.map_or(0, |index| {
            let above = trace.view(index);
            if ThreadKey::of(&above) == ThreadKey::of(entry) {
                stretch(&above)
            } else {
                2
            }
        });
        let point = usize::from(self.memory && entry.memory_bytes() > 0);
        // An op with another op inside it may be on the path twice.
        let critical = 2 * usize::from(self.critical_path);
        1 + begins + stretch(entry) + point + critical
    }

    /// The event, and a point of the curve.
    fn events_of_memory(&self) -> usize {
        2 * usize::from(self.memory)
    }
}

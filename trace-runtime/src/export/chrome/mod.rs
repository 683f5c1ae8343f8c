//! The Chrome trace format in the dialect of Kineto, the profiler of `PyTorch`.
//!
//! Perfetto, `chrome://tracing`, TensorBoard-style tools and `HolisticTraceAnalysis` (HTA) read it.

mod args;
mod events;
mod rows;

use super::Exporter;
use super::memory_curve::{OUTPUTS, OutputBytes, allocated};
use super::timeline::{Timeline, off_host, row_name};
use crate::analyze::CommunicationRule;
use crate::model::{EntryView, OpKind, TraceView};
use events::{DeviceWork, Events};
use rows::Rows;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

/// Writes a Chrome trace: a process per rank, a row per thread and per device.
///
/// Each entry is a complete event with `Input Dims` and `Input type`; spans on a row only ever nest,
/// times are exact to the nanosecond, and a parent on another thread is tied by an arrow. Control
/// characters in names become pictures (`␊`).
///
/// An entry on a device other than `cpu` stands a second time on its device's row, launched from its
/// first, in the way in which HTA finds device work: communication is called `ncclDevKernel_…` there
/// and memory work `Memcpy …`. The times on both rows are the recorded ones.
#[derive(Debug, Clone)]
pub struct ChromeTrace {
    device_rows: bool,
    memory: bool,
}

impl ChromeTrace {
    /// Everything the format can show.
    pub fn new() -> Self {
        ChromeTrace {
            device_rows: true,
            memory: true,
        }
    }

    /// Leaves the rows of devices out.
    #[must_use]
    pub fn without_device_rows(mut self) -> Self {
        self.device_rows = false;
        self
    }

    /// Leaves the memory curve out, and with it an event per entry.
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

/// Viewers give up somewhere past this many events in one file.
const MAX_EVENTS: usize = 1_000_000;

impl Exporter for ChromeTrace {
    fn export<T: TraceView + ?Sized, W: Write>(&self, trace: &T, out: W) -> io::Result<()> {
        let timeline = Timeline::of(trace);
        let out = BufWriter::with_capacity(1 << 16, out);
        let mut events = Events::begin(out, trace, &timeline)?;
        let mut rows = Rows::new();
        let mut memory = OutputBytes::default();
        let watched = trace.memory_events().next().is_some();
        let mut handed_off = HashMap::new();
        let mut communication = CommunicationRule::default();
        for span in timeline.spans() {
            let view = span.view;
            let at = rows.of_thread(&span);
            if at.place.first_on_track {
                let label = row_name(trace, &view, at.place.lane);
                events.name_row(at.row, view.rank(), &label)?;
            }
            events.op(at, &view)?;
            if timeline.handed_off(view.step()) {
                handed_off.insert(view.step(), at);
            }
            if let Some(parent) = view.parent().filter(|_| !at.place.nested)
                && let Some(&from) = handed_off.get(&parent)
            {
                events.flow(view.step(), from, at)?;
            }
            if self.device_rows
                && off_host(&view)
                && let Some(device) = view.device_id()
            {
                let (on_device, stream) = rows.of_device(&span, device, at.place);
                if on_device.place.first_on_track {
                    let label = format!("{device} (stream {stream})");
                    events.name_row(on_device.row, view.rank(), &label)?;
                }
                events.launch(at, &view)?;
                events.device_work(
                    on_device,
                    stream,
                    &view,
                    device_work(&view, &mut communication),
                )?;
            }
            if self.memory && !watched {
                while let Some(sample) = memory.next_until(at.place.start_ns) {
                    events.counter(OUTPUTS, sample)?;
                }
                memory.add(&view, at.place);
            }
        }
        while let Some(sample) = memory.next_until(u64::MAX) {
            events.counter(OUTPUTS, sample)?;
        }
        if self.memory {
            for (device, sample) in allocated(trace, timeline.origin_ns()) {
                events.counter(&format!("allocated bytes on {device}"), sample)?;
            }
        }
        events.finish()
    }

    fn extension(&self) -> &'static str {
        "json"
    }

    fn entry_limit(&self) -> Option<usize> {
        let per_entry = 1 + 2 * usize::from(self.device_rows) + usize::from(self.memory);
        Some(MAX_EVENTS / per_entry)
    }
}

fn device_work<'a>(view: &EntryView<'a>, communication: &mut CommunicationRule<'a>) -> DeviceWork {
    match view.kind() {
        Some(OpKind::Memory) => DeviceWork::Memory,
        _ if communication.holds(view) => DeviceWork::Communication,
        _ => DeviceWork::Compute,
    }
}

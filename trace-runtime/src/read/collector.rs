//! Collects the events of a file, in the order of the file.

use super::async_spans::AsyncSpans;
use super::category::{Category, Lane};
use super::event::{Args, Event};
use super::flows::Flow;
use super::hash::FastHash;
use super::left_out::LeftOut;
use super::micros::Micros;
use super::ops::Ops;
use super::places::Places;
use super::scanner::Raw;
use super::texts::Texts;
use super::xla::XlaRow;
use crate::model::wire::chrome;
use std::collections::HashMap;

/// Everything kept from the events read so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub(super) rows: Vec<EventRow>,
    pub(super) ops: Ops,
    pub(super) places: Places,
    pub(super) memory: Vec<MemoryChange>,
    pub(super) memory_devices: Vec<String>,
    /// Synchronisations: the stream and event that the runtime calls of the same correlation wait for.
    pub(super) syncs: Vec<SyncRow>,
    pub(super) flows: Vec<Flow>,
    /// Flow events of this crate's own exports, from an op to one that it handed to another thread.
    pub(super) handoffs: Vec<Flow>,
    /// The sequence numbers of collectives, by lane and start.
    pub(super) sequences: HashMap<(u32, i64), u64, FastHash>,
    /// True if a device row has no correlation, so that launches must be found by flow events.
    pub(super) uncorrelated: bool,
    /// True if there are calls of an XPU runtime.
    pub(super) xpu_calls: bool,
    pub(super) async_spans: AsyncSpans,
    pub(super) left_out: LeftOut,
    pub(super) events: usize,
    /// Rows that have a begin event and no end event yet, by place.
    open: HashMap<u32, Vec<u32>, FastHash>,
    /// The devices of memory events, by type and number.
    device_texts: Texts,
}

/// One execution of an op; times in nanoseconds on the clock of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventRow {
    pub(super) start: i64,
    /// [`UNFINISHED`] where the file has no end event.
    pub(super) end: i64,
    /// Shared by a launch and the work that it launched; [`UNCORRELATED`] for none.
    pub(super) correlation: u64,
    pub(super) op: u32,
    pub(super) lane: u32,
}

pub(super) const UNFINISHED: i64 = i64::MAX;
pub(super) const UNCORRELATED: u64 = u64::MAX;

/// One allocation (`bytes` above zero) or free (below zero).
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryChange {
    pub(super) at: i64,
    pub(super) bytes: i64,
    pub(super) place: u32,
    pub(super) device: u32,
    pub(super) address: Option<u64>,
    pub(super) allocated: Option<u64>,
}

/// What a synchronisation is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct SyncRow {
    /// The correlation of the runtime call.
    pub(super) correlation: u64,
    /// The place of the stream that it waits for or that waits.
    pub(super) stream: u32,
    /// The place of the stream in which the event was recorded.
    pub(super) event_stream: Option<u32>,
    /// The correlation of the call that recorded the event.
    pub(super) event: Option<u64>,
}

impl Collector {
    #[inline]
    pub(super) fn add(&mut self, event: &Event<'_>) {
        self.events += 1;
        match event.phase {
            b'X' => self.complete(event),
            b's' | b'f' => self.flow(event),
            b'B' => self.begin(event),
            b'E' => self.end(event),
            b'i' | b'I' if event.name == Raw(chrome::MEMORY) => self.memory(event),
            b'M' => self.describe(event),
            b'i' | b'I' | b'R' => self.left_out.count("instant events"),
            b'C' => self.left_out.count("counter samples"),
            b't' => self.left_out.count("flow steps"),
            b'b' => self.begin_async(event),
            b'e' => self.end_async(event),
            b'n' => self.left_out.count("instants of async spans"),
            b'S' | b'T' | b'p' | b'F' => self.left_out.count("async events"),
            b'N' | b'O' | b'D' => self.left_out.count("object snapshots"),
            b'P' => self.left_out.count("stack samples"),
            0 => self.left_out.count("events without a phase"),
            _ => self.left_out.count("events of an unknown phase"),
        }
    }

    fn complete(&mut self, event: &Event<'_>) {
        let category = Category::of(event.category);
        let Some(start) = self.time(event) else {
            return;
        };
        let duration = match Micros::parse(event.duration.0) {
            Some(duration) if duration.ns >= 0 => duration,
            Some(_) => {
                self.left_out.count("negative durations, taken as zero");
                Micros::default()
            }
            None => {
                self.left_out.count("unreadable durations, taken as zero");
                Micros::default()
            }
        };
        let end = start.end(duration).unwrap_or(i64::MAX - 1);
        self.row(event, category, start.ns, end);
    }

    fn begin(&mut self, event: &Event<'_>) {
        let Some(start) = self.time(event) else {
            return;
        };
        let category = Category::of(event.category);
        let row = self.rows.len() as u32;
        self.row(event, category, start.ns, UNFINISHED);
        if self.rows.len() as u32 > row {
            let place = self.places.place(event.pid, event.tid);
            self.open.entry(place).or_default().push(row);
        }
    }

    fn end(&mut self, event: &Event<'_>) {
        let Some(end) = self.time(event) else {
            return;
        };
        let place = self.places.place(event.pid, event.tid);
        match self.open.get_mut(&place).and_then(Vec::pop) {
            Some(row) => {
                let row = &mut self.rows[row as usize];
                row.end = end.ns.max(row.start);
            }
            None => self.left_out.count("ends without a begin"),
        }
    }

    fn begin_async(&mut self, event: &Event<'_>) {
        let Some(start) = self.time(event) else {
            return;
        };
        let category = Category::Row(Lane::Host);
        let op = self
            .ops
            .id(event.name, Lane::Host, category, &event.args.facts);
        let id = self.async_spans.id(event.category, event.pid, event.id);
        let row = EventRow {
            start: start.ns,
            end: UNFINISHED,
            correlation: UNCORRELATED,
            op,
            lane: 0,
        };
        self.async_spans.begin(id, row);
    }

    fn end_async(&mut self, event: &Event<'_>) {
        let Some(end) = self.time(event) else {
            return;
        };
        let id = self.async_spans.id(event.category, event.pid, event.id);
        if !self.async_spans.end(id, end.ns) {
            self.left_out.count("ends without a begin");
        }
    }

    #[inline]
    fn row(&mut self, event: &Event<'_>, category: Category, start: i64, end: i64) {
        let place = self.places.place(event.pid, event.tid);
        let mut category = category;
        let mut lane = match category {
            Category::Row(lane) => lane,
            Category::DeviceMemory | Category::Vendor(_) | Category::Xla => Lane::Device,
            Category::Sync => return self.sync(event),
            Category::Mirror => return self.left_out.count("annotations mirrored on devices"),
            Category::ProfilerSpan => return self.left_out.count("spans of the profiler itself"),
        };
        let Args {
            mut facts,
            correlation,
            sequence,
            ..
        } = event.args;
        let mut xla_device = None;
        if lane == Lane::Host && event.category.is_empty() {
            let (row, device) = self.places.xla(place);
            (lane, category) = match row {
                XlaRow::None => (lane, category),
                XlaRow::Work => (Lane::Device, Category::Xla),
                XlaRow::Steps => (Lane::DeviceSteps, category),
                XlaRow::Repeated => {
                    return self.left_out.count("rows that repeat work on devices");
                }
            };
            xla_device = Some(device).filter(|_| row != XlaRow::None);
        }
        if let Some(device) = &xla_device {
            facts.device = Raw(device.as_bytes());
        }
        let mut link = UNCORRELATED;
        match lane {
            Lane::Device => {
                if facts.device.is_empty() {
                    facts.device = event.pid;
                }
                link = correlation.number().unwrap_or(UNCORRELATED);
                self.uncorrelated |= link == UNCORRELATED;
            }
            Lane::Runtime => {
                link = correlation.number().unwrap_or(UNCORRELATED);
                self.xpu_calls |= event.category.0.starts_with(b"xpu");
            }
            Lane::Host | Lane::Python | Lane::DeviceSteps => {}
        }
        let op = self.ops.id(event.name, lane, category, &facts);
        let lane = self
            .places
            .lane(place, lane, category.vendor(), facts.device);
        if let Some(sequence) = sequence.number() {
            self.sequences.insert((lane, start), sequence);
        }
        self.rows.push(EventRow {
            start,
            end,
            correlation: link,
            op,
            lane,
        });
    }

    fn sync(&mut self, event: &Event<'_>) {
        let args = &event.args;
        let Some(correlation) = args.correlation.number() else {
            return self
                .left_out
                .count("synchronisations without a correlation");
        };
        self.syncs.push(SyncRow {
            correlation,
            stream: self.places.place(event.pid, event.tid),
            event_stream: args
                .event_stream
                .number::<u32>()
                .map(|_| self.places.place(event.pid, args.event_stream)),
            event: args.event_correlation.number(),
        });
    }

    fn flow(&mut self, event: &Event<'_>) {
        if event.category == Raw(b"fwdbwd") {
            return self.left_out.count("links from forward to backward");
        }
        let Some(at) = Micros::parse(event.time.0) else {
            return self.left_out.count("events without a readable time");
        };
        let flows = if event.category == Raw(chrome::HANDOFF) {
            &mut self.handoffs
        } else {
            &mut self.flows
        };
        flows.push(Flow {
            at: at.ns,
            id: Flow::id_of(event.id),
            place: self.places.place(event.pid, event.tid),
            begins: event.phase == b's',
        });
    }

    fn memory(&mut self, event: &Event<'_>) {
        let args = &event.args;
        let Some(at) = self.time(event) else {
            return;
        };
        let Some(bytes) = args.taken.number() else {
            return self.left_out.count("memory events without bytes");
        };
        let place = self.places.place(event.pid, event.tid);
        let (kind, number) = (args.device_type, args.device_number);
        self.device_texts.part(0, kind);
        self.device_texts.part(1, number);
        let device = self.device_texts.id();
        if device as usize == self.memory_devices.len() {
            self.memory_devices.push(memory_device(kind, number));
        }
        self.memory.push(MemoryChange {
            at: at.ns,
            bytes,
            place,
            device,
            address: args.address.number(),
            allocated: args.allocated.number(),
        });
    }

    fn describe(&mut self, event: &Event<'_>) {
        match event.name.0 {
            chrome::THREAD_NAME => self
                .places
                .name_thread(event.pid, event.tid, event.args.name),
            chrome::PROCESS_NAME => self.places.name_process(event.pid, event.args.name),
            // Only for the order and labels of rows in a viewer.
            b"process_labels" | b"process_sort_index" | b"thread_sort_index" => {}
            _ => self.left_out.count("metadata events"),
        }
    }

    fn time(&mut self, event: &Event<'_>) -> Option<Micros> {
        let time = Micros::parse(event.time.0).filter(|time| time.ns < UNFINISHED - 1);
        if time.is_none() {
            self.left_out.count("events without a readable time");
        }
        time
    }
}

/// The device of a memory event, by the numbers of torch's device types.
fn memory_device(kind: Raw<'_>, number: Raw<'_>) -> String {
    let family = match kind.number::<u32>() {
        Some(0) | None => return "cpu".to_owned(),
        Some(1) => "cuda".to_owned(),
        Some(6) => "hip".to_owned(),
        Some(12) => "xpu".to_owned(),
        Some(13) => "mps".to_owned(),
        Some(15) => "hpu".to_owned(),
        Some(19) => "mtia".to_owned(),
        Some(other) => format!("device-type-{other}"),
    };
    match number.number::<u32>() {
        Some(number) => format!("{family}:{number}"),
        None => family,
    }
}

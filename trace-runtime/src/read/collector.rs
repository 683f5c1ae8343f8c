//! Collects the events of a file, in the order of the file.

use super::async_spans::AsyncSpans;
use super::category::{Category, Lane};
use super::event::{Event, Field};
use super::flows::Flow;
use super::left_out::LeftOut;
use super::micros::Micros;
use super::ops::Ops;
use super::places::Places;
use super::scanner::Raw;
use super::texts::Texts;
use super::xla::XlaRow;
use crate::model::hash::FastHash;
use crate::model::wire::chrome;
use std::collections::{BTreeMap, HashMap};

/// Everything kept from the events read so far.
#[derive(Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "facts about the file that do not depend on each other"
)]
pub(super) struct Collector {
    /// True if the frames of modules are ops of the host.
    pub(super) modules: bool,
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
    /// From the first start to the last end of events that carry the number of their step, by place and step.
    pub(super) step_spans: BTreeMap<(u32, u64), (i64, i64)>,
    /// True if a device row has no correlation, so that launches must be found by flow events.
    pub(super) uncorrelated: bool,
    /// True if there are calls of an XPU runtime.
    pub(super) xpu_calls: bool,
    pub(super) async_spans: AsyncSpans,
    pub(super) left_out: LeftOut,
    pub(super) events: usize,
    /// Rows that have a begin event and no end event yet, by place.
    pub(super) open: HashMap<u32, Vec<u32>, FastHash>,
    /// True if these are the events of a part of a file, which may end rows of the text before it.
    pub(super) is_part: bool,
    /// For a part: the place and time of each end whose begin is not in it.
    pub(super) ends_of_others: Vec<(u32, i64)>,
    /// The devices of memory events, by type and number.
    pub(super) device_texts: Texts,
}

/// One execution of an op; times in nanoseconds on the clock of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventRow {
    pub(super) start: i64,
    /// [`UNFINISHED`] if the file has no end event.
    pub(super) end: i64,
    /// Shared by a launch and the work that it launched; [`UNCORRELATED`] for none.
    pub(super) correlation: u64,
    pub(super) op: u32,
    pub(super) lane: u32,
}

/// The beginning of the names of frames that torch.profiler records for modules.
const MODULE: &[u8] = b"nn.Module: ";

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

/// The call, stream and event of a synchronisation.
#[derive(Debug, Clone, Copy)]
pub(super) struct SyncRow {
    /// The correlation of the runtime call.
    pub(super) correlation: u64,
    /// The place of the stream that the call waits for; for a wait of a stream, of the stream that waits.
    pub(super) stream: u32,
    /// The place of the stream in which the event was recorded.
    pub(super) event_stream: Option<u32>,
    /// The correlation of the call that recorded the event.
    pub(super) event: Option<u64>,
}

impl Collector {
    /// If `modules` is true, the frames of modules are ops of the host.
    pub(super) fn new(modules: bool) -> Collector {
        Collector {
            modules,
            ..Collector::default()
        }
    }

    #[inline]
    pub(super) fn add(&mut self, event: &Event<'_>) {
        self.events += 1;
        match event.phase() {
            b'X' => self.complete(event),
            b's' | b'f' => self.flow(event),
            b'B' => self.begin(event),
            b'E' => self.end(event),
            b'i' | b'I' if event[Field::Name] == Raw(chrome::MEMORY) => self.memory(event),
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
        let category = Category::of(event[Field::Category]);
        let Some(start) = self.time(event) else {
            return;
        };
        let duration = match Micros::parse(event[Field::Duration].0) {
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
        let category = Category::of(event[Field::Category]);
        let row = self.rows.len() as u32;
        self.row(event, category, start.ns, UNFINISHED);
        if self.rows.len() as u32 > row {
            let place = self.places.place(event[Field::Pid], event[Field::Tid]);
            self.open.entry(place).or_default().push(row);
        }
    }

    fn end(&mut self, event: &Event<'_>) {
        let Some(end) = self.time(event) else {
            return;
        };
        let place = self.places.place(event[Field::Pid], event[Field::Tid]);
        self.end_at(place, end.ns);
    }

    /// Ends the row of a place that began last and is still open.
    pub(super) fn end_at(&mut self, place: u32, end: i64) {
        match self.open.get_mut(&place).and_then(Vec::pop) {
            Some(row) => {
                let row = &mut self.rows[row as usize];
                row.end = end.max(row.start);
            }
            None if self.is_part => self.ends_of_others.push((place, end)),
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
            .id(event, Lane::Host, category, event[Field::Device]);
        let id = self
            .async_spans
            .id(event[Field::Category], event[Field::Pid], event[Field::Id]);
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
        let id = self
            .async_spans
            .id(event[Field::Category], event[Field::Pid], event[Field::Id]);
        if !self.async_spans.end(id, end.ns) {
            self.left_out.count("ends without a begin");
        }
    }

    #[inline]
    fn row(&mut self, event: &Event<'_>, category: Category, start: i64, end: i64) {
        let place = self.places.place(event[Field::Pid], event[Field::Tid]);
        let mut category = category;
        let mut lane = match category {
            Category::Row(lane) => lane,
            Category::DeviceMemory | Category::Vendor(_) | Category::Xla => Lane::Device,
            Category::Sync => return self.sync(event),
            Category::Mirror => return self.left_out.count("annotations mirrored on devices"),
            Category::ProfilerSpan => return self.left_out.count("spans of the profiler itself"),
        };
        if lane == Lane::Python && self.modules && event[Field::Name].0.starts_with(MODULE) {
            (lane, category) = (Lane::Host, Category::Row(Lane::Host));
        }
        let mut device = event[Field::Device];
        let mut xla_device = None;
        if lane == Lane::Host && event[Field::Category].is_empty() {
            let (row, on) = self.places.xla(place);
            (lane, category) = match row {
                XlaRow::None => (lane, category),
                XlaRow::Work => (Lane::Device, Category::Xla),
                XlaRow::Steps => (Lane::DeviceSteps, category),
                XlaRow::Repeated => {
                    return self.left_out.count("rows that repeat work on devices");
                }
            };
            xla_device = Some(on).filter(|_| row != XlaRow::None);
        }
        if let Some(of_xla) = &xla_device {
            device = Raw(of_xla.as_bytes());
        }
        let mut link = UNCORRELATED;
        match lane {
            Lane::Device => {
                if device.is_empty() {
                    device = event[Field::Pid];
                }
                link = event[Field::Correlation].number().unwrap_or(UNCORRELATED);
                self.uncorrelated |= link == UNCORRELATED;
            }
            Lane::Runtime => {
                link = event[Field::Correlation].number().unwrap_or(UNCORRELATED);
                self.xpu_calls |= event[Field::Category].0.starts_with(b"xpu");
            }
            Lane::Host | Lane::Python | Lane::DeviceSteps => {}
        }
        let op = self.ops.id(event, lane, category, device);
        let lane = self.places.lane(place, lane, category.vendor(), device);
        if let Some(sequence) = event[Field::Sequence].number() {
            self.sequences.insert((lane, start), sequence);
        }
        if let Some(step) = event[Field::InStep].number()
            && end != UNFINISHED
        {
            self.add_step(place, step, (start, end));
        }
        self.rows.push(EventRow {
            start,
            end,
            correlation: link,
            op,
            lane,
        });
    }

    /// Widens the span of a step at a place.
    pub(super) fn add_step(&mut self, place: u32, step: u64, (start, end): (i64, i64)) {
        let span = self.step_spans.entry((place, step)).or_insert((start, end));
        *span = (span.0.min(start), span.1.max(end));
    }

    fn sync(&mut self, event: &Event<'_>) {
        let Some(correlation) = event[Field::Correlation].number() else {
            return self
                .left_out
                .count("synchronisations without a correlation");
        };
        self.syncs.push(SyncRow {
            correlation,
            stream: self.places.place(event[Field::Pid], event[Field::Tid]),
            event_stream: event[Field::EventStream].number::<u32>().map(|_| {
                self.places
                    .place(event[Field::Pid], event[Field::EventStream])
            }),
            event: event[Field::EventCorrelation].number(),
        });
    }

    fn flow(&mut self, event: &Event<'_>) {
        if event[Field::Category] == Raw(b"fwdbwd") {
            return self.left_out.count("links from forward to backward");
        }
        let Some(at) = Micros::parse(event[Field::Time].0) else {
            return self.left_out.count("events without a readable time");
        };
        let flows = if event[Field::Category] == Raw(chrome::HANDOFF) {
            &mut self.handoffs
        } else {
            &mut self.flows
        };
        flows.push(Flow {
            at: at.ns,
            id: Flow::id_of(event[Field::Id]),
            place: self.places.place(event[Field::Pid], event[Field::Tid]),
            begins: event.phase() == b's',
        });
    }

    fn memory(&mut self, event: &Event<'_>) {
        let Some(at) = self.time(event) else {
            return;
        };
        let Some(bytes) = event[Field::Taken].number() else {
            return self.left_out.count("memory events without bytes");
        };
        let place = self.places.place(event[Field::Pid], event[Field::Tid]);
        let (kind, number) = (event[Field::DeviceType], event[Field::DeviceNumber]);
        let device = self.memory_device(kind, number, || memory_device(kind, number));
        self.memory.push(MemoryChange {
            at: at.ns,
            bytes,
            place,
            device,
            address: event[Field::Address].number(),
            allocated: event[Field::Allocated].number(),
        });
    }

    /// The number of a device of memory events; `name` is called if it is new.
    pub(super) fn memory_device(
        &mut self,
        kind: Raw<'_>,
        number: Raw<'_>,
        name: impl FnOnce() -> String,
    ) -> u32 {
        let device = self.device_texts.id(&[kind, number], &[], 0);
        if device as usize == self.memory_devices.len() {
            self.memory_devices.push(name());
        }
        device
    }

    fn describe(&mut self, event: &Event<'_>) {
        match event[Field::Name].0 {
            chrome::THREAD_NAME => self.places.name_thread(
                event[Field::Pid],
                event[Field::Tid],
                event[Field::GivenName],
            ),
            chrome::PROCESS_NAME => self
                .places
                .name_process(event[Field::Pid], event[Field::GivenName]),
            // These events only set the order and labels of rows in a viewer.
            b"process_labels" | b"process_sort_index" | b"thread_sort_index" => {}
            _ => self.left_out.count("metadata events"),
        }
    }

    fn time(&mut self, event: &Event<'_>) -> Option<Micros> {
        let time = Micros::parse(event[Field::Time].0).filter(|time| time.ns < UNFINISHED - 1);
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

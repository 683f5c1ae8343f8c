//! Perfetto's native trace: a protobuf stream, for recordings that are too large for JSON.

mod annotations;
mod handoffs;
mod packets;

use super::Exporter;
use super::memory_curve::{OUTPUTS, OutputBytes, Sample, allocated};
use super::timeline::{ThreadKey, Timeline};
use super::tracks::{Closed, Request, Tracks};
use crate::analyze::CausalModel;
use crate::model::wire::chrome::{STEP_PREFIX, text};
use crate::model::{EntryView, TraceStep, TraceView};
use annotations::Annotations;
use handoffs::{Arrows, Handoffs};
use packets::{EventType, Packets, Pool};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

/// Writes a trace for Perfetto's UI and its trace processor, with strings and shapes stored once.
///
/// There is a group per rank, with a track for each of its threads and a memory curve. The shapes and all other
/// fields of an entry are arguments of its slice. A parent on another thread is linked by an arrow. Smaller and
/// faster to load than JSON, without a limit on its size.
#[derive(Debug, Clone, Copy, Default)]
pub struct PerfettoTrace {
    critical_path: bool,
}

impl PerfettoTrace {
    /// An export with everything except the critical path.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a track with the critical path: see [`CausalModel`].
    #[must_use]
    pub fn with_critical_path(mut self) -> Self {
        self.critical_path = true;
        self
    }
}

impl Exporter for PerfettoTrace {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let timeline = Timeline::of(trace);
        let mut file = File {
            packets: Packets::new(BufWriter::with_capacity(1 << 16, out)),
            annotations: Annotations::default(),
            ranks: HashMap::new(),
            curves: Vec::new(),
            uuids: 0,
        };
        let handoffs = Handoffs::of_trace(trace, &timeline);
        let mut tracks = Tracks::new();
        let mut uuid_of: Vec<u64> = Vec::new();
        let mut closed: Vec<Closed> = Vec::new();
        let mut memory = OutputBytes::default();
        let watched = trace.memory_events().next().is_some();
        file.steps(trace.steps(), &timeline)?;
        for span in timeline.spans() {
            let view = span.view;
            let key = ThreadKey::of(&view);
            let place = tracks.place(key, Request::of(&span), &mut closed);
            for gone in closed.drain(..) {
                file.end(gone.end_ns, uuid_of[gone.track as usize])?;
            }
            if place.first_on_track {
                let group = file.rank(view.rank())?;
                let uuid = file.new_uuid();
                let name = timeline.row_name(&view, place.lane);
                file.packets.track(uuid, Some(group), &name)?;
                uuid_of.push(uuid);
            }
            let row = uuid_of[place.track as usize];
            file.begin(place.start_ns, row, &view, handoffs.of(&view))?;
            if !watched {
                while let Some(sample) = memory.next_until(place.start_ns) {
                    file.counter(OUTPUTS, sample)?;
                }
                memory.add(&view, place);
            }
        }
        tracks.finish(&mut closed);
        for gone in closed {
            file.end(gone.end_ns, uuid_of[gone.track as usize])?;
        }
        while let Some(sample) = memory.next_until(u64::MAX) {
            file.counter(OUTPUTS, sample)?;
        }
        for (event, sample) in allocated(trace, &timeline) {
            file.counter(&format!("allocated bytes on {}", event.device_id), sample)?;
        }
        if self.critical_path {
            file.critical_path(trace, &timeline)?;
        }
        file.packets.finish()
    }

    fn extension(&self) -> &'static str {
        "pftrace"
    }
}

struct File<W> {
    packets: Packets<W>,
    annotations: Annotations,
    ranks: HashMap<u32, u64>,
    curves: Vec<Curve>,
    uuids: u64,
}

struct Curve {
    rank: u32,
    name: String,
    uuid: u64,
}

impl<W: Write> File<W> {
    fn begin(
        &mut self,
        time_ns: u64,
        track: u64,
        view: &EntryView<'_>,
        arrows: Arrows<'_>,
    ) -> io::Result<()> {
        const CATEGORY_IIDS: u32 = 3;
        const NAME_IID: u32 = 10;
        const FLOW_IDS: u32 = 47;
        const TERMINATING_FLOW_IDS: u32 = 48;
        let category = view.kind().map_or("op", |kind| kind.name());
        let category = self.packets.intern(Pool::Categories, category);
        let name = self.packets.intern(Pool::Names, view.operation());
        self.annotations.read(&mut self.packets, view);
        let annotations = &self.annotations;
        self.packets
            .event(time_ns, track, EventType::Begin, |event| {
                event.number(CATEGORY_IIDS, category);
                event.number(NAME_IID, name);
                annotations.write(event);
                for &child in arrows.to {
                    event.fixed64(FLOW_IDS, child as u64);
                }
                if arrows.arrives {
                    event.fixed64(TERMINATING_FLOW_IDS, view.step() as u64);
                }
            })
    }

    /// A track of steps for each rank.
    fn steps(&mut self, steps: &[TraceStep], timeline: &Timeline<'_>) -> io::Result<()> {
        const CATEGORY_IIDS: u32 = 3;
        const NAME_IID: u32 = 10;
        let mut by_rank: HashMap<Option<u32>, u64> = HashMap::new();
        for step in steps {
            let row = if let Some(&known) = by_rank.get(&step.rank) {
                known
            } else {
                let group = self.rank(step.rank)?;
                let uuid = self.new_uuid();
                self.packets.track(uuid, Some(group), "steps")?;
                by_rank.insert(step.rank, uuid);
                uuid
            };
            let category = self.packets.intern(Pool::Categories, "step");
            let name = format!("{}{}", text(STEP_PREFIX), step.number);
            let name = self.packets.intern(Pool::Names, &name);
            let start = timeline.since_origin(step.start_ns);
            self.packets.event(start, row, EventType::Begin, |event| {
                event.number(CATEGORY_IIDS, category);
                event.number(NAME_IID, name);
            })?;
            self.end(start.saturating_add(step.length_ns()), row)?;
        }
        Ok(())
    }

    /// A track with the critical path for each rank that it runs through.
    fn critical_path(&mut self, trace: &dyn TraceView, timeline: &Timeline<'_>) -> io::Result<()> {
        const CATEGORY_IIDS: u32 = 3;
        const NAME_IID: u32 = 10;
        let mut by_rank: HashMap<Option<u32>, u64> = HashMap::new();
        for step in CausalModel::new(trace).critical_steps() {
            let row = if let Some(&known) = by_rank.get(&step.rank) {
                known
            } else {
                let group = self.rank(step.rank)?;
                let uuid = self.new_uuid();
                self.packets.track(uuid, Some(group), "critical path")?;
                by_rank.insert(step.rank, uuid);
                uuid
            };
            let category = self.packets.intern(Pool::Categories, "critical_path");
            let name = self.packets.intern(Pool::Names, &step.operation);
            let start = timeline.since_origin(step.start_ns);
            self.packets.event(start, row, EventType::Begin, |event| {
                event.number(CATEGORY_IIDS, category);
                event.number(NAME_IID, name);
            })?;
            self.end(start.saturating_add(step.ns), row)?;
        }
        Ok(())
    }

    fn end(&mut self, time_ns: u64, track: u64) -> io::Result<()> {
        self.packets.event(time_ns, track, EventType::End, |_| {})
    }

    fn counter(&mut self, name: &str, sample: Sample) -> io::Result<()> {
        const COUNTER_VALUE: u32 = 30;
        let rank = sample.rank.unwrap_or(0);
        let known = self
            .curves
            .iter()
            .find(|curve| curve.rank == rank && curve.name == name);
        let curve = if let Some(curve) = known {
            curve.uuid
        } else {
            let group = self.rank(sample.rank)?;
            let uuid = self.new_uuid();
            self.packets.counter_track(uuid, group, name)?;
            let name = name.to_owned();
            self.curves.push(Curve { rank, name, uuid });
            uuid
        };
        let bytes = sample.bytes.min(i64::MAX as u64);
        self.packets
            .event(sample.time_ns, curve, EventType::Counter, |event| {
                event.number(COUNTER_VALUE, bytes);
            })
    }

    /// The group of a rank.
    fn rank(&mut self, rank: Option<u32>) -> io::Result<u64> {
        let number = rank.unwrap_or(0);
        if let Some(&group) = self.ranks.get(&number) {
            return Ok(group);
        }
        let group = self.new_uuid();
        let name = rank.map_or("ops".to_owned(), |rank| format!("rank {rank}"));
        self.packets.track(group, None, &name)?;
        self.ranks.insert(number, group);
        Ok(group)
    }

    /// Counted from 1: 0 is Perfetto's own default track.
    fn new_uuid(&mut self) -> u64 {
        self.uuids += 1;
        self.uuids
    }
}

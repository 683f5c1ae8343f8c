//! Builds a trace from the rows of a file: sorts them by start and finds the parent of each.

use super::category::Lane;
use super::collector::{Collector, EventRow, MemoryChange, SyncRow, UNCORRELATED, UNFINISHED};
use super::devices::{DeviceClues, Devices};
use super::flows::Arrows;
use super::header::FileHeader;
use super::ops::Rows;
use super::places::{LaneOf, Places};
use super::reader::Reader;
use super::row_order::sort_rows;
use super::steps::Steps;
use crate::model::collective_keys::SEQUENCE;
use crate::model::hash::FastHash;
use crate::model::wire::metadata;
use crate::model::{
    Launch, MemoryEvent, NewRow, Outcome, SignatureIndex, ThreadIndex, TraceError, TraceStep,
    TraceStore, TraceStoreBuilder,
};
use std::collections::{BTreeMap, HashMap};

/// Builds a store from the collected rows.
///
/// A row's parent is the innermost row of its lane that contains it. The parent of device work is the op that launched
/// it, or the runtime call if that was made outside any op. An op that no row contains may have been handed over by an
/// op of another thread; that op is its parent if the trace has the link.
#[allow(
    clippy::too_many_lines,
    reason = "one stage after another, each with what the one before it made"
)]
pub(super) fn build(
    collected: Collector,
    header: FileHeader,
    reader: Reader,
) -> Result<TraceStore, TraceError> {
    let Collector {
        mut rows,
        ops,
        mut places,
        mut memory,
        memory_devices,
        syncs,
        flows,
        handoffs,
        uncorrelated,
        xpu_calls,
        async_spans,
        sequences,
        step_spans,
        mut left_out,
        events,
        ..
    } = collected;
    rows.extend(async_spans.place(&mut places));
    let mut clues = DeviceClues {
        xpu_calls,
        in_memory: memory_devices.clone(),
        ..DeviceClues::default()
    };
    ops.note_devices(&mut clues);
    let devices = Devices::new(&clues);
    places.find_mesh();
    let base = finish_rows(&mut rows, &memory);
    let steps = Steps::find(&rows, &ops, &places);
    // Before the rows are sorted, because the flows are not needed if there are correlations.
    let arrows = uncorrelated.then(|| Arrows::new(flows));
    sort_rows(&mut rows);
    memory.sort_by_key(|event| event.at);

    let mut builder = TraceStoreBuilder::new();
    let threads = places.threads(&mut builder, header.rank, &devices);
    let signatures = match threads.first() {
        Some(&thread) => ops.signatures(&mut builder, thread, &devices, Rows::Any)?,
        None => Vec::new(),
    };
    let for_communication: Vec<bool> = places
        .lanes()
        .iter()
        .map(|lane| lane.lane == Lane::Host && places.is_for_communication(lane.place))
        .collect();
    let on_communication = match threads.first() {
        Some(&thread) if for_communication.contains(&true) => {
            ops.signatures(&mut builder, thread, &devices, Rows::ForCommunication)?
        }
        _ => Vec::new(),
    };
    let has_ops = places.lanes().iter().any(|lane| lane.lane == Lane::Host);
    let mut sweep = Sweep {
        hides: [
            (Lane::Python, has_ops && !reader.frames),
            (Lane::Runtime, has_ops && !reader.runtime_calls),
        ],
        collectives: (0..signatures.len() as u32)
            .map(|op| Some(ops.collective(op)).filter(|facts| !facts.is_empty()))
            .collect(),
        sequences,
        steps,
        builder,
        base,
        threads,
        signatures,
        on_communication,
        for_communication,
        open: vec![Vec::new(); places.lanes().len()],
        launches: HashMap::default(),
        arrows,
        handoffs: (!handoffs.is_empty()).then(|| Arrows::new(handoffs)),
        total_ns: 0,
        rank: header.rank,
        places,
    };
    let mut memory = memory.iter().peekable();
    for row in &rows {
        while let Some(event) = memory.next_if(|event| event.at < row.start) {
            sweep.memory(event, &memory_devices);
        }
        if let Some(hidden) = sweep.row(row)? {
            left_out.count(hidden);
        }
    }
    for event in memory {
        sweep.memory(event, &memory_devices);
    }
    for sync in &syncs {
        if !sweep.sync(sync) {
            left_out.count("synchronisations without their runtime call");
        }
    }

    let mut builder = sweep.builder;
    let mut steps = sweep.steps.found();
    if steps.is_empty() {
        let rank_of = |place: u32| sweep.places.rank(place).or(header.rank);
        steps = steps_of_events(&step_spans, base, rank_of);
    }
    for step in steps {
        builder.step(step);
    }
    for (rank, coordinates, stage) in sweep.places.mesh().facts() {
        builder.metadata(metadata::of_rank(rank, metadata::MESH), coordinates);
        if let Some(stage) = stage {
            builder.metadata(metadata::of_rank(rank, metadata::STAGE), stage);
        }
    }
    builder.total_duration_us(sweep.total_ns as f64 / 1000.0);
    builder.metadata(metadata::READ_BASE_NS, base.to_string());
    builder.metadata(metadata::READ_EVENTS, events.to_string());
    if let Some(start) = header.wall_clock_ns(base) {
        builder.metadata(metadata::START_UNIX_NS, start.to_string());
    }
    header.write_to(&mut builder, &devices);
    left_out.write_to(&mut builder);
    Ok(builder.finish())
}

/// Steps of events that carry the number of their step: from the first start to the last end on each rank.
fn steps_of_events(
    spans: &BTreeMap<(u32, u64), (i64, i64)>,
    base: i64,
    rank_of: impl Fn(u32) -> Option<u32>,
) -> Vec<TraceStep> {
    let mut steps: BTreeMap<(Option<u32>, u64), (i64, i64)> = BTreeMap::new();
    for (&(place, number), &(start, end)) in spans {
        let span = steps
            .entry((rank_of(place), number))
            .or_insert((start, end));
        *span = (span.0.min(start), span.1.max(end));
    }
    let at = |time: i64| time.saturating_sub(base);
    steps
        .into_iter()
        .map(|((rank, number), (start, end))| {
            TraceStep::new(number, at(start), at(end)).with_rank(rank)
        })
        .collect()
}

/// Ends unfinished rows at the last time in the trace. Returns the first time in the trace.
fn finish_rows(rows: &mut [EventRow], memory: &[MemoryChange]) -> i64 {
    let times = || {
        let ends = rows.iter().map(|row| match row.end {
            UNFINISHED => row.start,
            end => end,
        });
        ends.chain(memory.iter().map(|event| event.at))
    };
    let last = times().max().unwrap_or(0);
    let first = rows
        .iter()
        .map(|row| row.start)
        .chain(memory.iter().map(|event| event.at))
        .min()
        .unwrap_or(0);
    for row in rows {
        if row.end == UNFINISHED {
            // The correlation marks the row as unfinished, because other rows may also end at this time. No profiler
            // writes this number.
            row.end = last;
            row.correlation = NEVER_ENDED;
        }
    }
    first
}

const NEVER_ENDED: u64 = u64::MAX - 1;

struct Sweep {
    /// The lanes whose rows are only used to find launches, and whether they are left out of the trace.
    hides: [(Lane, bool); 2],
    builder: TraceStoreBuilder,
    base: i64,
    places: Places,
    threads: Vec<ThreadIndex>,
    signatures: Vec<SignatureIndex>,
    /// The signatures of ops on rows for communication; empty if there are no such rows.
    on_communication: Vec<SignatureIndex>,
    /// By lane: true if its row is for communication.
    for_communication: Vec<bool>,
    /// By op: the facts about the collective that it is part of.
    collectives: Vec<Option<BTreeMap<String, String>>>,
    sequences: HashMap<(u32, i64), u64, FastHash>,
    steps: Steps,
    /// By lane: the rows that may contain later ones, outermost first.
    open: Vec<Vec<Open>>,
    /// The runtime call of each correlation.
    launches: HashMap<u64, Launched, FastHash>,
    arrows: Option<Arrows>,
    /// Arrows from ops to the ops that they handed to another thread.
    handoffs: Option<Arrows>,
    total_ns: u64,
    rank: Option<u32>,
}

/// A runtime call and the op that made it.
#[derive(Debug, Clone, Copy)]
struct Launched {
    /// [`NO_OP`] for a call outside ops.
    op: u32,
    call: u32,
}

const NO_OP: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Open {
    end: i64,
    index: usize,
}

/// The innermost open row that ends at `until` or later.
fn innermost(open: &[Open], until: i64) -> Option<usize> {
    open.iter()
        .rev()
        .find(|open| open.end >= until)
        .map(|open| open.index)
}

impl Sweep {
    /// Adds one row. Returns its sort if it was not kept.
    fn row(&mut self, row: &EventRow) -> Result<Option<&'static str>, TraceError> {
        let lane = self.places.lanes()[row.lane as usize];
        self.follow_arrows(row.start);
        if self.steps.marks(row.op) {
            self.take_step(row, lane);
            return Ok(None);
        }
        if lane.lane == Lane::DeviceSteps {
            return Ok(Some("steps shown on devices"));
        }
        if self.hides.contains(&(lane.lane, true)) {
            if lane.lane == Lane::Python {
                return Ok(Some("interpreter frames"));
            }
            let op = self.op_at(lane.place, row.end);
            self.call(row, lane, op);
            return Ok(None);
        }
        let mut launch = None;
        let (container, launcher) = if lane.lane == Lane::Device {
            launch = self.launches.get(&row.correlation).copied();
            (None, self.launching_op(row, lane.place, launch))
        } else {
            let open = &mut self.open[row.lane as usize];
            while open.last().is_some_and(|open| open.end < row.end) {
                open.pop();
            }
            let container = open.last().map(|open| open.index);
            (container, self.handed_off_by(row, lane))
        };
        let new = NewRow {
            signature: if self.for_communication[row.lane as usize] {
                self.on_communication[row.op as usize]
            } else {
                self.signatures[row.op as usize]
            },
            thread: self.threads[row.lane as usize],
            start_ns: row.start.saturating_sub(self.base),
            duration_ns: row.end.abs_diff(row.start),
            parent: container.or(launcher),
            outcome: if row.correlation == NEVER_ENDED {
                Outcome::Unfinished
            } else {
                Outcome::Ok
            },
        };
        let index = self.builder.push_row_with(new, &self.collective(row))?;
        if lane.lane != Lane::Device {
            let end = row.end;
            self.open[row.lane as usize].push(Open { end, index });
        }
        if container.is_none() {
            self.add_to_total(row, lane);
        }
        if lane.lane == Lane::Runtime {
            let op = self.op_at(lane.place, row.end).unwrap_or(index);
            self.call(row, lane, Some(op));
        }
        if let Some(Launched { call, .. }) = launch {
            self.builder.push_launch(Launch {
                step: index,
                call: call as usize,
            });
        }
        Ok(None)
    }

    /// Keeps a row that marks a step, separately from the entries.
    fn take_step(&mut self, row: &EventRow, lane: LaneOf) {
        let own_rank = self.places.rank(lane.place);
        let at = |time: i64| time.saturating_sub(self.base);
        let step = TraceStep::new(0, at(row.start), at(row.end))
            .with_rank(own_rank.or(self.rank))
            .with_thread(self.builder.thread_id(self.threads[row.lane as usize]));
        self.steps.take(row, own_rank, step);
    }

    /// The metadata of a row that is part of a collective; empty for other rows.
    fn collective(&self, row: &EventRow) -> BTreeMap<String, String> {
        let Some(facts) = &self.collectives[row.op as usize] else {
            return BTreeMap::new();
        };
        let mut facts = facts.clone();
        if let Some(sequence) = self.sequences.get(&(row.lane, row.start)) {
            facts.insert(SEQUENCE.to_owned(), sequence.to_string());
        }
        facts
    }

    /// Keeps a call into the runtime, made during `op` on the host thread of its place.
    fn call(&mut self, row: &EventRow, lane: LaneOf, op: Option<usize>) {
        let host = self.places.lane_of(lane.place, Lane::Host);
        let number = self.builder.push_call_row(
            self.signatures[row.op as usize],
            self.threads[host.unwrap_or(row.lane) as usize],
            (
                row.start.saturating_sub(self.base),
                row.end.abs_diff(row.start),
            ),
            op,
        );
        if row.correlation < NEVER_ENDED {
            let launched = Launched {
                op: op.map_or(NO_OP, |op| op as u32),
                call: number as u32,
            };
            self.launches.insert(row.correlation, launched);
        }
    }

    /// The op that launched a row of a device. `None` if its call began after the row, which happens because clocks of
    /// devices drift.
    fn launching_op(&self, row: &EventRow, place: u32, launch: Option<Launched>) -> Option<usize> {
        if row.correlation != UNCORRELATED {
            let op = launch?.op;
            return (op != NO_OP).then_some(op as usize);
        }
        self.arrows.as_ref()?.source(place, row.start)
    }

    /// Adds to a runtime call the stream or event that it waits for; `false` if the call was not traced.
    fn sync(&mut self, sync: &SyncRow) -> bool {
        let Some(&Launched { call, .. }) = self.launches.get(&sync.correlation) else {
            return false;
        };
        let stream = |place| self.places.stream(place, &self.threads, &self.builder);
        let event = sync.event.and_then(|event| self.launches.get(&event));
        let (own, of_event) = (stream(sync.stream), sync.event_stream.and_then(stream));
        let event = event.map(|recorded| recorded.call as usize);
        self.builder
            .set_call_target(call as usize, own, event, of_event);
        true
    }

    /// The op of another thread that handed this row over: its arrow ends at the start of the row.
    fn handed_off_by(&self, row: &EventRow, lane: LaneOf) -> Option<usize> {
        let arrows = self.handoffs.as_ref()?;
        (lane.lane == Lane::Host).then(|| arrows.source(lane.place, row.start))?
    }

    /// Adds the row to the total. Frames and runtime calls overlap the ops of their thread, so they
    /// count only on a thread without ops.
    fn add_to_total(&mut self, row: &EventRow, lane: LaneOf) {
        let counts = match lane.lane {
            Lane::Host | Lane::Device => true,
            Lane::DeviceSteps => false,
            Lane::Python | Lane::Runtime => self.places.lane_of(lane.place, Lane::Host).is_none(),
        };
        if counts {
            self.total_ns = self.total_ns.saturating_add(row.end.abs_diff(row.start));
        }
    }

    fn follow_arrows(&mut self, until: i64) {
        let (open, places) = (&self.open, &self.places);
        for arrows in [&mut self.arrows, &mut self.handoffs].into_iter().flatten() {
            arrows.advance(until, |place, at| {
                [Lane::Host, Lane::Runtime]
                    .into_iter()
                    .find_map(|lane| innermost(&open[places.lane_of(place, lane)? as usize], at))
            });
        }
    }

    fn op_at(&self, place: u32, until: i64) -> Option<usize> {
        let lane = self.places.lane_of(place, Lane::Host)?;
        innermost(&self.open[lane as usize], until)
    }

    fn memory(&mut self, event: &MemoryChange, devices: &[String]) {
        let during = self.op_at(event.place, event.at);
        self.builder.push_memory(&MemoryEvent {
            at_ns: event.at.saturating_sub(self.base),
            bytes: event.bytes,
            device_id: &devices[event.device as usize],
            rank: self.places.rank(event.place).or(self.rank),
            during,
            address: event.address,
            allocated: event.allocated,
            context: None,
        });
    }
}

//! Why each device, and each of its streams, was idle.

use super::CausalModel;
use super::lane::LaneKind;
use super::piece::Node;
use super::wait::WaitFor;
use crate::analyze::communication::CommunicationRule;
use crate::analyze::device_time::is_accelerator;
use crate::analyze::forest::NONE;
use crate::analyze::intervals::{SaturatingSum as _, add_ns};
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::{BTreeMap, HashMap};

/// Why a device had nothing to do at a moment.
///
/// The idle time before a piece of work is divided at the moments of its launch: before the launch call began
/// nothing had been launched; during the call, and from its end to the start of the work, the work was launched
/// but late, unless an event of another stream kept it waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IdleClass {
    /// Nothing had been launched: the host was busy with something else.
    NothingLaunched,
    /// The work was launched and had not begun.
    LaunchDelay,
    /// The work waited for an event of another stream, or for a copy.
    OtherStream,
    /// The work waited for communication, or the host communicated before it launched.
    Communication,
    /// A rank that came late to a collective was waited for.
    SlowerRank,
    /// When the work was launched is not in the trace.
    Unknown,
}

impl IdleClass {
    /// All classes, in the order in which reports show them.
    pub const ALL: [IdleClass; 6] = [
        IdleClass::NothingLaunched,
        IdleClass::LaunchDelay,
        IdleClass::OtherStream,
        IdleClass::Communication,
        IdleClass::SlowerRank,
        IdleClass::Unknown,
    ];

    /// The class in a few words.
    pub fn name(self) -> &'static str {
        match self {
            IdleClass::NothingLaunched => "nothing launched",
            IdleClass::LaunchDelay => "launch delay",
            IdleClass::OtherStream => "waiting for another stream",
            IdleClass::Communication => "waiting for communication",
            IdleClass::SlowerRank => "waiting for a slower rank",
            IdleClass::Unknown => "launch unknown",
        }
    }
}

/// Why one device was idle. The causes add up to `idle_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceIdle {
    /// The rank it belongs to.
    pub rank: Option<u32>,
    /// The device.
    pub device: String,
    /// From its first start to its last end.
    pub span_ns: u64,
    /// Time in which at least one of its entries ran.
    pub busy_ns: u64,
    /// Time of its span in which none did.
    pub idle_ns: u64,
    /// The causes that have any time, longest first.
    pub causes: Vec<IdleCause>,
    /// The same for each of its streams, within the stream's own span. Empty where its work is recorded on host
    /// threads.
    pub streams: Vec<StreamIdle>,
}

json_struct!(DeviceIdle {
    required: [device, span_ns, busy_ns, idle_ns, causes, streams],
    optional: [rank],
});

impl DeviceIdle {
    /// The idle time of a class.
    pub fn of(&self, class: IdleClass) -> u64 {
        let named = self
            .causes
            .iter()
            .filter(|cause| cause.cause == class.name());
        named.map(|cause| cause.ns).saturating_sum()
    }
}

/// Why one stream was idle. The causes add up to `idle_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamIdle {
    /// The name of the stream.
    pub stream: String,
    /// From its first start to its last end.
    pub span_ns: u64,
    /// Time in which nothing ran on it.
    pub idle_ns: u64,
    /// The causes that have any time, longest first.
    pub causes: Vec<IdleCause>,
}

json_struct!(StreamIdle {
    required: [stream, span_ns, idle_ns, causes],
    optional: [],
});

/// Idle time of one class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdleCause {
    /// The class: see [`IdleClass::name`].
    pub cause: String,
    /// How long.
    pub ns: u64,
    /// What ran on the launching thread meanwhile, or what was waited for; longest first, at most
    /// [`MOST_OPS`](Self::MOST_OPS). Time outside of ops has an empty name.
    pub ops: Vec<(String, u64)>,
}

json_struct!(IdleCause {
    required: [cause, ns, ops],
    optional: [],
});

impl IdleCause {
    /// The longest list of ops.
    pub const MOST_OPS: usize = 8;
}

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// Why each device other than `cpu` was idle, by rank and name.
    pub fn idle_causes(&self) -> Vec<DeviceIdle> {
        let mut devices: BTreeMap<(Option<u32>, &str), Device> = BTreeMap::new();
        for &entry in &self.order {
            let view = self.trace.view(entry as usize);
            let Some(device) = view.device_id().filter(|_| is_accelerator(&view)) else {
                continue;
            };
            if let Some((start, end)) = self.tasks.span(entry as usize, &view) {
                let lane = self.lanes.of_entry(entry as usize).unwrap_or(NONE);
                let known = devices.entry((view.rank(), device)).or_default();
                if known.lanes.last() != Some(&lane) && !known.lanes.contains(&lane) {
                    known.lanes.push(lane);
                }
                known.add(start, end, entry);
            }
        }
        let mut causes = Causes::new(self);
        devices
            .into_iter()
            .map(|((rank, device), known)| causes.device(rank, device, &known))
            .collect()
    }
}

/// When a device or a stream was busy and what ended its gaps.
#[derive(Debug, Default)]
struct Device {
    lanes: Vec<u32>,
    first: Option<i64>,
    end: i64,
    busy_ns: u64,
    /// From, to, and the entry that began then.
    gaps: Vec<(i64, i64, u32)>,
}

impl Device {
    /// Entries come in the order of their starts.
    fn add(&mut self, start: i64, end: i64, entry: u32) {
        if self.first.is_none() {
            self.first = Some(start);
            self.end = start;
        }
        if self.end < start {
            self.gaps.push((self.end, start, entry));
        }
        if end > self.end {
            add_ns(&mut self.busy_ns, end.abs_diff(start.max(self.end)));
            self.end = end;
        }
    }

    fn span_ns(&self) -> u64 {
        self.first.map_or(0, |first| self.end.abs_diff(first))
    }
}

/// Divides gaps among classes.
/// The number of the empty name.
const NO_NAME: u32 = 0;

struct Causes<'m, 'a, T: ?Sized> {
    model: &'m CausalModel<'a, T>,
    communication: CommunicationRule<'a>,
    /// The names of what the host did, by number.
    names: Vec<&'a str>,
    numbers: HashMap<&'a str, u32>,
    /// The number of the name of each signature; [`NONE`] where it is not known yet.
    by_signature: Vec<u32>,
    /// By class.
    sums: [ClassSum; IdleClass::ALL.len()],
}

/// Idle time of one class.
#[derive(Debug, Default)]
struct ClassSum {
    ns: u64,
    /// By the number of the name.
    by_name: Vec<u64>,
}

impl<'m, 'a, T: TraceView + ?Sized> Causes<'m, 'a, T> {
    fn new(model: &'m CausalModel<'a, T>) -> Self {
        Causes {
            model,
            communication: CommunicationRule::default(),
            // What is not known has no name.
            names: vec![""],
            numbers: HashMap::from([("", NO_NAME)]),
            by_signature: Vec::new(),
            sums: Default::default(),
        }
    }

    /// The number of a node's name. Names are long, and a device has a gap for nearly every piece of work.
    fn name(&mut self, node: u32) -> u32 {
        let model = self.model;
        let signature = match Node::of(node, model.trace.entry_count()) {
            Node::Entry(index) => {
                let view = model.trace.view(index);
                view.signature().map(|signature| signature as usize)
            }
            _ => None,
        };
        if let Some(&known) = signature.and_then(|signature| self.by_signature.get(signature))
            && known != NONE
        {
            return known;
        }
        let (name, _) = model.name_and_device(node);
        let number = *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() as u32 - 1
        });
        if let Some(signature) = signature {
            if signature >= self.by_signature.len() {
                self.by_signature.resize(signature + 1, NONE);
            }
            self.by_signature[signature] = number;
        }
        number
    }

    fn device(&mut self, rank: Option<u32>, device: &'a str, known: &Device) -> DeviceIdle {
        let model = self.model;
        let causes = self.causes(&known.gaps);
        let mut streams = Vec::new();
        for &lane in &known.lanes {
            let Some(works) = model.work.lane(lane) else {
                continue;
            };
            let mut stream = Device::default();
            for work in &works.works {
                stream.add(work.start, work.end, work.entry);
            }
            let causes = self.causes(&stream.gaps);
            streams.push(StreamIdle {
                stream: model.lanes.all[lane as usize].plain_label(),
                span_ns: stream.span_ns(),
                idle_ns: stream.span_ns() - stream.busy_ns,
                causes,
            });
        }
        DeviceIdle {
            rank,
            device: device.to_owned(),
            span_ns: known.span_ns(),
            busy_ns: known.busy_ns,
            idle_ns: known.span_ns() - known.busy_ns,
            causes,
            streams,
        }
    }

    fn causes(&mut self, gaps: &[(i64, i64, u32)]) -> Vec<IdleCause> {
        for &(start, end, entry) in gaps {
            self.divide(start, end, entry);
        }
        let mut causes: Vec<IdleCause> = IdleClass::ALL
            .into_iter()
            .zip(std::mem::take(&mut self.sums))
            .filter(|(_, sum)| sum.ns > 0)
            .map(|(class, sum)| {
                let ops = self.names.iter().zip(sum.by_name).filter(|op| op.1 > 0);
                let mut ops: Vec<(&str, u64)> = ops.map(|(&name, ns)| (name, ns)).collect();
                ops.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
                ops.truncate(IdleCause::MOST_OPS);
                IdleCause {
                    cause: class.name().to_owned(),
                    ns: sum.ns,
                    ops: ops
                        .into_iter()
                        .map(|(name, ns)| (name.to_owned(), ns))
                        .collect(),
                }
            })
            .collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.ns));
        causes
    }

    /// Divides the gap before an entry.
    fn divide(&mut self, start: i64, end: i64, entry: u32) {
        let model = self.model;
        let Some(lane) = model.lanes.of_entry(entry as usize) else {
            return self.add(IdleClass::Unknown, start, end, NO_NAME);
        };
        if model.lanes.kind(lane) != LaneKind::Device {
            // The thread that shows the work ran it itself: it did something else before.
            return self.on_host(lane, start, end);
        }
        let works = model.work.lane(lane);
        // A gap ends where its entry begins.
        let work = works.and_then(|works| works.of_entry(entry, end));
        let Some(launch) = work.and_then(|work| work.launch) else {
            return self.add(IdleClass::Unknown, start, end, NO_NAME);
        };
        let begun = launch.start.clamp(start, end);
        self.on_host(launch.lane, start, begun);
        let mut at = begun;
        if let Some(wait) = model.stream_waits.get(&entry) {
            let until = wait.source_end.clamp(at, end);
            // The launch itself takes its time, whatever the event does.
            let launched = launch.end.clamp(at, until);
            self.add(IdleClass::LaunchDelay, at, launched, NO_NAME);
            self.on_stream(wait.source, launched, until);
            at = until;
        }
        self.add(IdleClass::LaunchDelay, at, end, NO_NAME);
    }

    /// Time in which a host thread did something else than launch.
    fn on_host(&mut self, lane: u32, start: i64, end: i64) {
        let model = self.model;
        let mut at = start;
        for (piece, _) in model.pieces_between(lane, start, end) {
            let (from, to) = (piece.start.max(start), piece.end.min(end));
            self.add(IdleClass::NothingLaunched, at, from, NO_NAME);
            let name = self.name(piece.node);
            let class = match model.wait_of(piece) {
                Some(WaitFor::Rank(_)) => IdleClass::SlowerRank,
                _ if self.communicates(piece.node) => IdleClass::Communication,
                _ => IdleClass::NothingLaunched,
            };
            self.add(class, from, to, name);
            at = to;
        }
        self.add(IdleClass::NothingLaunched, at, end, NO_NAME);
    }

    /// Time in which an entry of another stream was waited for.
    fn on_stream(&mut self, source: u32, start: i64, end: i64) {
        let model = self.model;
        let name = self.name(source);
        let class = if self.communicates(source) {
            IdleClass::Communication
        } else {
            IdleClass::OtherStream
        };
        let Some(lane) = model.lanes.of_entry(source as usize) else {
            return self.add(class, start, end, name);
        };
        let mut at = start;
        for (piece, _) in model.pieces_between(lane, start, end) {
            if let Some(WaitFor::Rank(_)) = model.wait_of(piece) {
                let (from, to) = (piece.start.max(start), piece.end.min(end));
                self.add(class, at, from, name);
                self.add(IdleClass::SlowerRank, from, to, name);
                at = to;
            }
        }
        self.add(class, at, end, name);
    }

    fn communicates(&mut self, node: u32) -> bool {
        let entries = self.model.trace.entry_count();
        (node as usize) < entries && {
            let view = self.model.trace.view(node as usize);
            self.communication.holds(&view)
        }
    }

    fn add(&mut self, class: IdleClass, start: i64, end: i64, name: u32) {
        if start < end {
            let ns = end.abs_diff(start);
            let sum = &mut self.sums[class as usize];
            add_ns(&mut sum.ns, ns);
            let name = name as usize;
            if name >= sum.by_name.len() {
                sum.by_name.resize(name + 1, 0);
            }
            add_ns(&mut sum.by_name[name], ns);
        }
    }
}

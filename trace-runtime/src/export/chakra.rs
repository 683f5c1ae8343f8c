//! Chakra execution traces, the format of `MLCommons` that simulators of training read.
//!
//! A file is a stream of protobuf messages, each after its length: a `GlobalMetadata`, then a `Node` per entry. Field
//! numbers and attribute names are those of `et_def.proto`. Types are those that Chakra's feeder expects; the feeder
//! uses `data_deps` and ignores `ctrl_deps`.

use super::Exporter;
use super::protobuf::Message;
use crate::analyze::{
    CallKind, CausalModel, CollectiveKind, CommunicationCalls, Dependencies, bytes_moved,
    is_accelerator, message_bytes,
};
use crate::model::{EntryView, TraceView};
use serde_json::json;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

/// Writes a Chakra execution trace: a node for each entry, with the nodes that it depends on.
///
/// Simulators read one file per rank, `job.0.et`, `job.1.et` and so on: use [`write_ranks`](super::write_ranks), which
/// gives the process groups the same numbers in all files. If there is only one file, it has the nodes of all ranks.
///
/// - `data_deps` are the entries that came before: on the same thread or stream, by a launch, by a hand-off to another
///   thread, or because the host waited for a device. `ctrl_deps` is the op around the entry.
/// - The duration of a node is its own work: without the ops inside it, and without waiting for other threads, devices
///   or ranks, because a simulator finds the waiting itself. Durations are whole microseconds whose sum is right to one
///   microsecond for each thread; the attribute `duration_ns` is exact. Time between ops is not in the file.
/// - Collectives, sends and receives are communication nodes. If a device does the work, its entry is the communication
///   node, and the host op that started it is a computation node. Communication for which Chakra has no type, and
///   messages whose other rank is not known, are computation nodes too.
/// - Process groups are numbered, as ASTRA-sim requires. A first node lists their ranks, and the metadata their names.
///
/// Needs about 40 bytes per entry in addition to the causal model.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChakraTrace;

impl Exporter for ChakraTrace {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        Prepared::of(trace).export(trace, out)
    }

    fn extension(&self) -> &'static str {
        "et"
    }

    fn prepared<'t>(&self, whole: &'t dyn TraceView) -> Option<Box<dyn Exporter + 't>>
    where
        Self: 't,
    {
        Some(Box::new(Prepared::of(whole)))
    }

    fn rank_name(&self, rank: u32) -> String {
        rank.to_string()
    }
}

/// The version that Chakra's own converters write.
const VERSION: &str = "0.0.4";

/// `NodeType`.
const METADATA_NODE: u64 = 1;
const COMP_NODE: u64 = 4;
const COMM_SEND_NODE: u64 = 5;
const COMM_RECV_NODE: u64 = 6;
const COMM_COLL_NODE: u64 = 7;

/// Facts about the whole trace that the files of its ranks need.
struct Prepared<'t> {
    whole: &'t dyn TraceView,
    graph: Dependencies,
    calls: CommunicationCalls,
    first_start: i64,
}

impl<'t> Prepared<'t> {
    fn of(whole: &'t dyn TraceView) -> Prepared<'t> {
        let model = CausalModel::new(whole);
        Prepared {
            whole,
            graph: model.dependencies(),
            calls: model.communication_calls(),
            first_start: whole
                .views()
                .filter_map(|view| view.start_ns())
                .min()
                .unwrap_or(0),
        }
    }
}

impl Exporter for Prepared<'_> {
    fn export(&self, part: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let mut file = File {
            out: BufWriter::with_capacity(1 << 16, out),
            message: Message::default(),
            length: Message::default(),
        };
        file.write(|global| {
            global.string(1, VERSION);
            for (number, group) in self.calls.groups.iter().enumerate() {
                let text = format!("{} {:?}", group.name, group.ranks);
                attribute(global, 2, &format!("process_group.{number}"), |value| {
                    value.string(29, text.trim_start());
                });
            }
        })?;
        if !self.calls.groups.is_empty() {
            file.write(|node| self.groups(node))?;
        }
        let is_whole = part.entry_count() == self.whole.entry_count();
        // Work so far on each lane: in nanoseconds, and in the microseconds that were written.
        let mut written: HashMap<u32, (u64, u64)> = HashMap::new();
        for (position, view) in part.views().enumerate() {
            let index = if is_whole {
                Some(position)
            } else {
                self.whole.index_of_step(view.step())
            };
            let Some(index) = index else { continue };
            let work_ns = self.graph.work_ns[index];
            let lane = written.entry(self.graph.lane[index]).or_default();
            lane.0 = lane.0.saturating_add(work_ns);
            let micros = (lane.0.saturating_add(500) / 1000).saturating_sub(lane.1);
            lane.1 += micros;
            file.write(|node| self.node(node, index as u32, &view, micros))?;
        }
        file.out.flush()
    }

    fn extension(&self) -> &'static str {
        ChakraTrace.extension()
    }

    fn rank_name(&self, rank: u32) -> String {
        ChakraTrace.rank_name(rank)
    }
}

/// The number of the node of an entry. Node 0 lists the process groups.
fn id(entry: u32) -> u64 {
    u64::from(entry) + 1
}

impl Prepared<'_> {
    /// Writes the process groups in the form that torch uses, because ASTRA-sim reads that form.
    fn groups(&self, node: &mut Message) {
        let groups: Vec<_> = self
            .calls
            .groups
            .iter()
            .enumerate()
            .map(|(number, group)| json!({"pg_name": number.to_string(), "ranks": group.ranks}))
            .collect();
        node.number(1, 0);
        node.string(2, "process_groups");
        node.number(3, METADATA_NODE);
        let values = format!("['{}']", serde_json::Value::Array(groups));
        node.message(8, |inputs| inputs.string(1, &values));
    }

    fn node(&self, node: &mut Message, entry: u32, view: &EntryView<'_>, micros: u64) {
        let call = self.calls.of_entry.get(&entry);
        let index = entry as usize;
        node.number(1, id(entry));
        node.string(2, view.operation());
        node.number(
            3,
            match call {
                None => COMP_NODE,
                Some(CallKind::Collective(..)) => COMM_COLL_NODE,
                Some(CallKind::Send(..)) => COMM_SEND_NODE,
                Some(CallKind::Receive(..)) => COMM_RECV_NODE,
            },
        );
        let above = Some(self.graph.inside[index]).filter(|&above| above != u32::MAX);
        node.numbers(4, above.into_iter().map(id));
        node.numbers(5, self.graph.of(entry).map(id));
        if let Some(start) = view.start_ns() {
            node.number(6, start.abs_diff(self.first_start) / 1000);
        }
        node.number(7, micros);
        tensors(
            node,
            8,
            view.inputs().map(|one| (one.dims, one.dtype.name())),
        );
        tensors(
            node,
            9,
            view.outputs().map(|one| (one.dims, one.dtype.name())),
        );
        // Chakra has types for communication on devices only.
        let on_host = call.is_none() && !is_accelerator(view);
        attribute(node, 10, "is_cpu_op", |value| {
            value.number(27, u64::from(on_host));
        });
        attribute(node, 10, "duration_ns", |value| {
            value.number(13, self.graph.work_ns[index]);
        });
        if let Some(rank) = view.rank() {
            attribute(node, 10, "rank", |value| {
                value.number(11, u64::from(rank));
            });
        }
        match call {
            None => computation(node, view),
            Some(call) => communication(node, view, *call),
        }
    }
}

fn computation(node: &mut Message, view: &EntryView<'_>) {
    if let Some(flops) = view.flops() {
        attribute(node, 10, "num_ops", |value| {
            value.number(9, not_negative(flops));
        });
    }
    let bytes = bytes_moved(view);
    if bytes > 0 {
        attribute(node, 10, "tensor_size", |value| {
            value.number(13, bytes);
        });
    }
}

fn communication(node: &mut Message, view: &EntryView<'_>, call: CallKind) {
    let bytes = not_negative(message_bytes(view));
    attribute(node, 10, "comm_size", |value| {
        value.number(9, bytes);
    });
    let mut small = |name: &str, number: u32| {
        let number = u64::from(number.min(i32::MAX as u32));
        attribute(node, 10, name, |value| {
            value.number(7, number);
        });
    };
    let own = view.rank().unwrap_or(0);
    match call {
        CallKind::Collective(kind, group) => {
            small("comm_priority", 0);
            attribute(node, 10, "comm_type", |value| {
                value.number(9, comm_type(kind));
            });
            if let Some(group) = group {
                attribute(node, 10, "pg_name", |value| {
                    value.string(29, &group.to_string());
                });
            }
        }
        CallKind::Send(to, tag) => {
            small("comm_src", own);
            small("comm_dst", to);
            small("comm_tag", tag.unwrap_or(0));
        }
        CallKind::Receive(from, tag) => {
            small("comm_src", from);
            small("comm_dst", own);
            small("comm_tag", tag.unwrap_or(0));
        }
    }
}

/// `CollectiveCommType`.
fn comm_type(kind: CollectiveKind) -> u64 {
    match kind {
        CollectiveKind::AllReduce => 0,
        CollectiveKind::Reduce => 1,
        CollectiveKind::AllGather => 2,
        CollectiveKind::Gather => 3,
        CollectiveKind::Scatter => 4,
        CollectiveKind::Broadcast => 5,
        CollectiveKind::AllToAll => 6,
        CollectiveKind::ReduceScatter => 7,
        CollectiveKind::Barrier => 9,
    }
}

/// Limits a number so that it is not negative in a field of type `int64`.
fn not_negative(number: u64) -> u64 {
    number.min(i64::MAX as u64)
}

/// An `AttributeProto`.
fn attribute(message: &mut Message, field: u32, name: &str, value: impl FnOnce(&mut Message)) {
    message.message(field, |attribute| {
        attribute.string(1, name);
        value(attribute);
    });
}

/// An `IOInfo` with the shapes and types of tensors; nothing if there are none.
fn tensors<'d>(
    node: &mut Message,
    field: u32,
    tensors: impl Iterator<Item = (&'d [usize], &'static str)>,
) {
    let (shapes, types): (Vec<_>, Vec<_>) = tensors.unzip();
    if !shapes.is_empty() {
        node.message(field, |info| {
            info.string(2, &json!(shapes).to_string());
            info.string(3, &json!(types).to_string());
        });
    }
}

struct File<W: Write> {
    out: BufWriter<W>,
    message: Message,
    length: Message,
}

impl<W: Write> File<W> {
    fn write(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.message.clear();
        self.length.clear();
        fill(&mut self.message);
        self.length.varint(self.message.as_bytes().len() as u64);
        self.out.write_all(self.length.as_bytes())?;
        self.out.write_all(self.message.as_bytes())
    }
}

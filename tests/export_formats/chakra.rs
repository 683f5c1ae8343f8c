//! Chakra execution traces, read with a separate decoder and run as a simulator runs them.

use crate::protobuf::Message;
use crate::random_trace::{exported, random_trace};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trace_runtime::export::{self, ChakraTrace};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, OpKind, RecordedExecutionTrace, TraceStore, TraceView, read};

const METADATA: u64 = 1;
const COMPUTE: u64 = 4;
const SEND: u64 = 5;
const RECEIVE: u64 = 6;
const COLLECTIVE: u64 = 7;

#[derive(Debug)]
struct Node {
    id: u64,
    name: String,
    kind: u64,
    inside: Vec<u64>,
    needs: Vec<u64>,
    start_us: u64,
    duration_us: u64,
    shapes: String,
    /// The field of each attribute's value, and the value as text.
    attributes: BTreeMap<String, (u64, String)>,
}

impl Node {
    fn of(message: &Message) -> Node {
        let number = |field| message.get(field).map_or(0, super::protobuf::Field::number);
        let list = |field| {
            message
                .get(field)
                .map_or(Vec::new(), super::protobuf::Field::numbers)
        };
        let attributes = message.all(10).map(|attribute| {
            let attribute = attribute.message();
            let (field, value) = &attribute.0[1];
            let text = match field {
                29 => value.text(),
                _ => value.number().to_string(),
            };
            (attribute.get(1).unwrap().text(), (*field, text))
        });
        Node {
            id: number(1),
            name: message.get(2).unwrap().text(),
            kind: number(3),
            inside: list(4),
            needs: list(5),
            start_us: number(6),
            duration_us: number(7),
            shapes: message.get(8).map_or(String::new(), |inputs| {
                let inputs = inputs.message();
                inputs.get(2).or(inputs.get(1)).unwrap().text()
            }),
            attributes: attributes.collect(),
        }
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(|value| value.1.as_str())
    }
}

/// The nodes of a file, after its metadata.
fn nodes(bytes: &[u8]) -> Vec<Node> {
    let messages = Message::decode_all(bytes);
    assert_eq!(messages[0].get(1).unwrap().text(), "0.0.4");
    messages[1..].iter().map(Node::of).collect()
}

/// Runs the nodes as Chakra's feeder does: each node begins when all of its `data_deps` have ended. Returns the end of
/// each node in nanoseconds. Some are missing if nodes wait for each other.
fn run(nodes: &[Node]) -> BTreeMap<u64, u64> {
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    loop {
        let ready: Vec<(u64, u64)> = nodes
            .iter()
            .filter(|node| !ends.contains_key(&node.id))
            .filter_map(|node| {
                let before: Option<Vec<u64>> =
                    node.needs.iter().map(|id| ends.get(id).copied()).collect();
                let start = before?.into_iter().max().unwrap_or(0);
                let ns = node.attribute("duration_ns").unwrap_or("0");
                Some((node.id, start + ns.parse::<u64>().unwrap()))
            })
            .collect();
        if ready.is_empty() {
            return ends;
        }
        ends.extend(ready);
    }
}

fn check(trace: &dyn TraceView, nodes: &[Node]) {
    let entries: Vec<&Node> = nodes.iter().filter(|node| node.kind != METADATA).collect();
    let mut names: Vec<&str> = entries.iter().map(|node| node.name.as_str()).collect();
    let mut expected: Vec<&str> = trace.views().map(|view| view.operation()).collect();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected, "every entry is a node");
    let ids: BTreeSet<u64> = nodes.iter().map(|node| node.id).collect();
    assert_eq!(ids.len(), nodes.len());
    for node in nodes {
        assert!(
            node.needs
                .iter()
                .all(|id| ids.contains(id) && *id != node.id)
        );
        assert!(
            node.inside
                .iter()
                .all(|id| ids.contains(id) && *id != node.id)
        );
        assert!(node.needs.is_sorted_by(|a, b| a < b), "{node:?}");
    }
    assert_eq!(run(nodes).len(), nodes.len(), "no node waits for itself");
    let exact: u64 = entries
        .iter()
        .map(|node| {
            node.attribute("duration_ns")
                .unwrap()
                .parse::<u64>()
                .unwrap()
        })
        .sum();
    let rounded: u64 = entries.iter().map(|node| node.duration_us).sum();
    // Half a microsecond for each thread, stream or task.
    let most = 1000 * (trace.entry_count() as u64 + 1) / 2;
    assert!(exact.abs_diff(1000 * rounded) <= most);
}

proptest! {
    #[test]
    fn every_entry_is_a_node_and_no_node_waits_for_itself(trace in random_trace()) {
        check(&trace, &nodes(&exported(&ChakraTrace, &trace)));
        let store = TraceStore::try_from(&trace).unwrap();
        check(&store, &nodes(&exported(&ChakraTrace, &store)));
    }
}

fn named<'n>(nodes: &'n [Node], name: &str) -> &'n Node {
    nodes.iter().find(|node| node.name == name).expect(name)
}

#[test]
fn one_thread_runs_one_after_the_other_and_parents_come_first() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), None, None);
    let layer = builder
        .push(&NewEntry::new("layer", thread, 5_000, 10_700))
        .unwrap();
    let dims = [64, 32];
    let inputs: [(&[usize], DType); 1] = [(&dims, DType::F32)];
    let mut matmul = NewEntry::new("matmul", thread, 6_000, 4_300).with_parent(layer);
    matmul.inputs = &inputs;
    matmul.flops = Some(77);
    builder.push(&matmul).unwrap();
    builder
        .push(&NewEntry::new("relu", thread, 11_000, 2_300).with_parent(layer))
        .unwrap();
    builder
        .push(&NewEntry::new("loss", thread, 20_000, 400))
        .unwrap();
    let nodes = nodes(&exported(&ChakraTrace, &builder.finish()));
    let [layer, matmul, relu, loss] = &nodes[..] else {
        panic!("{nodes:?}")
    };
    assert_eq!((&layer.needs, &matmul.needs), (&vec![], &vec![layer.id]));
    assert_eq!(
        (&relu.needs, &loss.needs),
        (&vec![matmul.id], &vec![relu.id])
    );
    assert_eq!((&matmul.inside, &loss.inside), (&vec![layer.id], &vec![]));
    // The layer without the ops inside it takes 4,100 ns. Then 4,300, 2,300 and 400: 4.1, 8.4, 10.7 and 11.1 µs.
    let micros: Vec<u64> = nodes.iter().map(|node| node.duration_us).collect();
    assert_eq!(micros, [4, 4, 3, 0]);
    assert_eq!(run(&nodes)[&loss.id], 11_100);
    assert_eq!((layer.start_us, loss.start_us), (0, 15));
    assert_eq!(matmul.shapes, "[[64,32]]");
    // The types are those that the feeder reads: `num_ops` is an `int64`, `tensor_size` a `uint64`, `is_cpu_op` a
    // `bool`.
    assert_eq!(matmul.attributes["num_ops"], (9, "77".to_owned()));
    assert_eq!(matmul.attributes["tensor_size"].0, 13);
    assert_eq!(matmul.attributes["is_cpu_op"], (27, "1".to_owned()));
    assert!(nodes.iter().all(|node| node.kind == COMPUTE));
}

#[test]
fn launches_and_synchronisations_are_dependencies() {
    let trace = read::from_slice(br#"[
      {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
      {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 5,
       "args": {"correlation": 7}},
      {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12, "dur": 80,
       "args": {"device": 0, "stream": 7, "correlation": 7}},
      {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 10, "dur": 85,
       "args": {"correlation": 8}},
      {"ph": "X", "cat": "cpu_op", "name": "aten::item", "pid": 1, "tid": 1, "ts": 96, "dur": 4}
    ]"#)
    .unwrap();
    let nodes = nodes(&exported(&ChakraTrace, &trace));
    let (mm, gemm, item) = (
        named(&nodes, "aten::mm"),
        named(&nodes, "gemm"),
        named(&nodes, "aten::item"),
    );
    assert_eq!(gemm.needs, [mm.id]);
    assert_eq!(gemm.attribute("is_cpu_op"), Some("0"));
    assert_eq!(item.needs, [mm.id, gemm.id]);
    // 10 on the host, 80 on the device, 4 on the host.
    assert_eq!(run(&nodes)[&item.id], 94_000);
}

/// Two ranks that compute, exchange a message and reduce; rank 1 is late by 300 ns.
fn job() -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let mut push = |rank: u32, name: &str, start: i64, end: i64, facts: &[(&str, &str)]| {
        let thread = builder.thread(Some(1), Some(rank), None);
        let dims = [256];
        let inputs: [(&[usize], DType); 1] = [(&dims, DType::F32)];
        let mut entry = NewEntry::new(name, thread, start, end.abs_diff(start));
        entry.inputs = &inputs;
        entry.kind = (!facts.is_empty()).then_some(OpKind::Communication);
        let facts = facts
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()));
        entry.meta = facts.collect();
        builder.push(&entry).unwrap();
    };
    let reduce = [
        ("process_group", "data"),
        ("process_group_ranks", "[0, 1]"),
        ("sequence", "1"),
    ];
    push(0, "forward", 0, 1_000, &[]);
    push(1, "forward", 1, 1_301, &[]);
    push(0, "mpi::send", 1_000, 1_010, &[("peer", "1"), ("tag", "5")]);
    push(0, "mpi::all_reduce", 1_010, 2_000, &reduce);
    push(1, "mpi::recv", 1_301, 1_310, &[("peer", "0"), ("tag", "5")]);
    push(1, "mpi::all_reduce", 1_310, 2_000, &reduce);
    builder.finish()
}

#[test]
fn each_rank_has_a_file_with_its_communication_and_the_numbers_of_groups_agree() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chakra");
    std::fs::create_dir_all(&folder).unwrap();
    let written = export::write_ranks(&ChakraTrace, &job(), folder.join("job.et")).unwrap();
    let names: Vec<_> = written
        .iter()
        .map(|path| path.file_name().unwrap())
        .collect();
    assert_eq!(names, ["job.0.et", "job.1.et"]);
    let ranks: Vec<Vec<Node>> = written
        .iter()
        .map(|path| nodes(&std::fs::read(path).unwrap()))
        .collect();
    for nodes in &ranks {
        let groups = &nodes[0];
        assert_eq!((groups.id, groups.kind), (0, METADATA));
        assert_eq!(groups.shapes, r#"['[{"pg_name":"0","ranks":[0,1]}]']"#);
        let reduce = named(nodes, "mpi::all_reduce");
        assert_eq!(reduce.kind, COLLECTIVE);
        assert_eq!(reduce.attributes["comm_type"], (9, "0".to_owned()));
        assert_eq!(reduce.attributes["comm_size"], (9, "1024".to_owned()));
        assert_eq!(reduce.attributes["pg_name"], (29, "0".to_owned()));
        assert_eq!(reduce.attribute("is_cpu_op"), Some("0"));
        assert_eq!(run(nodes).len(), nodes.len());
        // Without the time that it waited for the other rank.
        assert_eq!(reduce.attribute("duration_ns"), Some("690"));
    }
    let (send, receive) = (named(&ranks[0], "mpi::send"), named(&ranks[1], "mpi::recv"));
    assert_eq!((send.kind, receive.kind), (SEND, RECEIVE));
    for side in [send, receive] {
        assert_eq!(side.attributes["comm_src"], (7, "0".to_owned()));
        assert_eq!(side.attributes["comm_dst"], (7, "1".to_owned()));
        assert_eq!(side.attributes["comm_tag"], (7, "5".to_owned()));
    }
}

#[test]
fn an_empty_trace_has_metadata_alone() {
    let bytes = exported(&ChakraTrace, &RecordedExecutionTrace::new());
    assert_eq!(nodes(&bytes).len(), 0);
}

//! Memory as stacks and as a snapshot of torch, read back independently.

use crate::random_trace::{exported, exported_text, random_trace};
use proptest::prelude::*;
use std::collections::BTreeMap;
use trace_runtime::TraceStore;
use trace_runtime::analyze::{MemoryWeight, live_memory, memory_collapsed};
use trace_runtime::export::{CollapsedMemory, TorchMemory};
use trace_runtime::model::{MemoryEvent, NewEntry, TraceStoreBuilder};

/// A layer that allocates two blocks and an op inside it that allocates one; one is freed before the peak.
fn layer() -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    let outer = builder
        .push(&NewEntry::new("layer", thread, 0, 1000))
        .unwrap();
    let mut inner = NewEntry::new("mat mul", thread, 100, 200);
    inner.parent = Some(outer);
    let inner = builder.push(&inner).unwrap();
    for (at, bytes, during, address) in [
        (10, 100, outer, 0x7F00_0000_1000),
        (110, 4000, inner, 0x7F00_0000_2000),
        (300, -100, outer, 0x7F00_0000_1000),
        (310, 500, outer, 0x7F00_0000_1000),
        (900, -4000, outer, 0x7F00_0000_2000),
        // Allocated before the trace.
        (950, -1000, outer, 0x7F00_0000_9000),
    ] {
        builder.push_memory(
            &MemoryEvent::new(at, bytes, "cuda:0")
                .with_during(during)
                .with_address(address),
        );
    }
    builder.finish()
}

#[test]
fn stacks_of_bytes_add_up_to_the_peak_and_to_what_was_allocated() {
    let trace = layer();
    let live = exported_text(&CollapsedMemory(MemoryWeight::LiveAtPeak), &trace);
    assert_eq!(
        live,
        "cuda:0;(before%20the%20trace) 500\ncuda:0;layer 500\ncuda:0;layer;mat%20mul 4000\n"
    );
    assert_eq!(live_memory(&trace)[0].peak_bytes, 5000);
    let allocated = exported_text(&CollapsedMemory(MemoryWeight::Allocated), &trace);
    assert_eq!(allocated, "cuda:0;layer 600\ncuda:0;layer;mat%20mul 4000\n");
    let nothing = trace_runtime::RecordedExecutionTrace::new();
    assert_eq!(memory_collapsed(&nothing, MemoryWeight::Allocated), "");
}

#[cfg(feature = "flamegraph")]
#[test]
fn a_flame_graph_of_memory_has_bytes() {
    use crate::flame_graph::assert_is_svg;
    use trace_runtime::export::FlameGraph;
    let graph = FlameGraph::of_memory(MemoryWeight::LiveAtPeak);
    let svg = exported_text(&graph, &layer());
    assert_is_svg(&svg);
    assert!(
        svg.contains("<title>memory (5,000 bytes, 100%)</title>"),
        "{svg}"
    );
    assert!(svg.contains("(4,000 bytes, 80.00%)</title>"), "{svg}");
    assert!(svg.contains("Live memory at its peak"));
    let nothing = trace_runtime::RecordedExecutionTrace::new();
    let svg = exported_text(&FlameGraph::of_memory(MemoryWeight::Allocated), &nothing);
    assert!(svg.contains("no allocations were recorded"));
}

/// A Python object.
#[derive(Debug, Clone, PartialEq)]
enum Object {
    Mark,
    Bool(bool),
    Number(i128),
    Text(String),
    List(Vec<Object>),
    Dict(BTreeMap<String, Object>),
}

impl Object {
    fn get(&self, key: &str) -> &Object {
        match self {
            Object::Dict(items) => items
                .get(key)
                .unwrap_or_else(|| panic!("no `{key}`: {self:?}")),
            _ => panic!("not a dict: {self:?}"),
        }
    }

    fn list(&self) -> &[Object] {
        match self {
            Object::List(elements) => elements,
            _ => panic!("not a list: {self:?}"),
        }
    }

    fn number(&self, key: &str) -> i128 {
        match self.get(key) {
            Object::Number(number) => *number,
            other => panic!("not a number: {other:?}"),
        }
    }

    fn text(&self, key: &str) -> &str {
        match self.get(key) {
            Object::Text(text) => text,
            other => panic!("not a text: {other:?}"),
        }
    }
}

/// Runs the instructions of a pickle. Shared objects are copied, which makes no difference for constants.
fn unpickle(bytes: &[u8]) -> Object {
    let mut rest = bytes;
    let mut take = |count: usize| {
        let (taken, after) = rest.split_at(count);
        rest = after;
        taken
    };
    let u32_of = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let (mut stack, mut memo) = (Vec::new(), BTreeMap::new());
    assert_eq!(take(2), [0x80, 2]);
    loop {
        match take(1)[0] {
            b'}' => stack.push(Object::Dict(BTreeMap::new())),
            b']' => stack.push(Object::List(Vec::new())),
            b'(' => stack.push(Object::Mark),
            b'X' => {
                let len = u32_of(take(4));
                let text = std::str::from_utf8(take(len as usize)).unwrap();
                stack.push(Object::Text(text.to_owned()));
            }
            b'J' => {
                let number = i32::from_le_bytes(take(4).try_into().unwrap());
                stack.push(Object::Number(number.into()));
            }
            0x8A => {
                let len = take(1)[0] as usize;
                let bytes = take(len);
                let fill = if bytes[len - 1] >= 128 { 0xFF } else { 0 };
                let mut wide = [fill; 16];
                wide[..len].copy_from_slice(bytes);
                stack.push(Object::Number(i128::from_le_bytes(wide)));
            }
            0x89 => stack.push(Object::Bool(false)),
            b'r' => {
                let number = u32_of(take(4));
                memo.insert(number, stack.last().unwrap().clone());
            }
            b'j' => {
                let number = u32_of(take(4));
                stack.push(memo[&number].clone());
            }
            instruction @ (b'e' | b'u') => {
                let mark = stack.iter().rposition(|one| *one == Object::Mark).unwrap();
                let items: Vec<Object> = stack.drain(mark..).skip(1).collect();
                match (instruction, stack.last_mut().unwrap()) {
                    (b'e', Object::List(elements)) => elements.extend(items),
                    (b'u', Object::Dict(dict)) => {
                        for pair in items.chunks(2) {
                            let [Object::Text(key), value] = pair else {
                                panic!("{pair:?}");
                            };
                            dict.insert(key.clone(), value.clone());
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
            b'.' => {
                assert!(rest.is_empty());
                assert_eq!(stack.len(), 1);
                return stack.remove(0);
            }
            other => panic!("instruction {other:#x}"),
        }
    }
}

/// Replays the events of each device and checks the properties that viewers need. Returns the peaks.
fn check(snapshot: &Object) -> Vec<i128> {
    let segments = snapshot.get("segments").list();
    let traces = snapshot.get("device_traces").list();
    assert_eq!(segments.len(), traces.len(), "one segment per device");
    let mut peaks = Vec::new();
    for (index, (segment, trace)) in segments.iter().zip(traces).enumerate() {
        assert_eq!(segment.number("device"), index as i128);
        let (start, total) = (segment.number("address"), segment.number("total_size"));
        let mut next = start;
        let mut live = BTreeMap::new();
        for block in segment.get("blocks").list() {
            assert_eq!(block.number("address"), next, "blocks have no gaps");
            next += block.number("size");
            if block.text("state") == "active_allocated" {
                live.insert(block.number("address"), block.number("size"));
            }
        }
        assert_eq!(next, start + total);
        assert_eq!(
            live.values().sum::<i128>(),
            segment.number("allocated_size")
        );
        // Backwards from the end, as the viewer does.
        let (mut now, mut peak) = (live.values().sum::<i128>(), 0);
        peak = peak.max(now);
        for event in trace.list().iter().rev() {
            let (address, size) = (event.number("addr"), event.number("size"));
            assert!(address >= start && address + size <= start + total);
            match event.text("action") {
                "alloc" => {
                    assert_eq!(live.remove(&address), Some(size));
                    now -= size;
                }
                "free_completed" => {
                    let inside = live.range(..address + size).next_back();
                    assert!(inside.is_none_or(|(other, length)| other + length <= address));
                    live.insert(address, size);
                    now += size;
                }
                "free_requested" => assert_eq!(live.get(&address), Some(&size)),
                other => panic!("{other}"),
            }
            peak = peak.max(now);
        }
        peaks.push(peak);
    }
    peaks
}

#[test]
fn a_snapshot_for_torch_has_the_blocks_with_their_stacks() {
    let snapshot = unpickle(&exported(&TorchMemory, &layer()));
    // The address gives the size of the whole block. Live memory only has the smallest possible size.
    assert_eq!(check(&snapshot), [5500]);
    let [trace] = snapshot.get("device_traces").list() else {
        panic!("one device");
    };
    let events: Vec<(&str, i128, i128)> = trace
        .list()
        .iter()
        .filter(|event| event.text("action") != "free_requested")
        .map(|event| {
            (
                event.text("action"),
                event.number("size"),
                event.number("time_us"),
            )
        })
        .collect();
    assert_eq!(
        events,
        [
            ("alloc", 100, 0),
            ("alloc", 4000, 0),
            ("free_completed", 100, 0),
            ("alloc", 500, 0),
            ("free_completed", 4000, 0),
            ("free_completed", 1000, 0),
        ]
    );
    let frames = trace.list()[1].get("frames").list();
    let names: Vec<&str> = frames.iter().map(|frame| frame.text("name")).collect();
    assert_eq!(names, ["mat mul", "layer", "cuda:0"], "the innermost first");
    let empty = unpickle(&exported(
        &TorchMemory,
        &trace_runtime::RecordedExecutionTrace::new(),
    ));
    assert_eq!(check(&empty), []);
}

#[test]
fn memory_from_before_the_trace_is_part_of_a_snapshot() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    builder.push(&NewEntry::new("op", thread, 0, 100)).unwrap();
    for (at, bytes, address, allocated) in [(0, 100, 1, 5100), (10, -700, 2, 4400)] {
        let event = MemoryEvent::new(at, bytes, "cuda:0");
        builder.push_memory(&event.with_address(address).with_allocated(allocated));
    }
    let trace = builder.finish();
    let snapshot = unpickle(&exported(&TorchMemory, &trace));
    assert_eq!(check(&snapshot), [5100]);
    assert_eq!(live_memory(&trace)[0].peak_bytes, 5100);
    let segment = &snapshot.get("segments").list()[0];
    assert_eq!(segment.number("allocated_size"), 4400);
}

#[test]
fn changes_of_a_context_become_blocks() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    builder.push(&NewEntry::new("op", thread, 0, 100)).unwrap();
    let changes = [5000, 3000, -4000, 1 << 40, -(1i64 << 40), -4000];
    for (at, bytes) in (0..).step_by(2000).zip(changes) {
        builder.push_memory(&MemoryEvent::new(at, bytes, "cpu").with_context(0));
    }
    let snapshot = unpickle(&exported(&TorchMemory, &builder.finish()));
    assert_eq!(check(&snapshot), [4000 + (1 << 40)]);
    let segment = &snapshot.get("segments").list()[0];
    assert_eq!(segment.number("allocated_size"), 0);
}

proptest! {
    #[test]
    fn every_snapshot_can_be_replayed_and_has_the_peak(
        changes in prop::collection::vec((0u64..6, 1i64..5000, any::<bool>(), 0u8..3), 0..60)
    ) {
        let mut builder = TraceStoreBuilder::new();
        let thread = builder.thread(None, None, None);
        builder.push(&NewEntry::new("op", thread, 0, 100)).unwrap();
        // Valid by construction: an address is freed with the size that it was allocated with.
        let mut sizes: BTreeMap<u64, i64> = BTreeMap::new();
        let mut of_context = 0;
        for (at, (address, bytes, frees, how)) in (0..).step_by(10).zip(changes) {
            let event = |bytes| MemoryEvent::new(at, bytes, "cpu").with_during(0);
            if how == 0 {
                let change = if frees { -bytes.min(of_context) } else { bytes };
                of_context += change;
                builder.push_memory(&event(change).with_context(0));
            } else if let Some(size) = sizes.remove(&address) {
                builder.push_memory(&event(-size).with_address(address));
            } else {
                sizes.insert(address, bytes);
                builder.push_memory(&event(bytes).with_address(address));
            }
        }
        let trace = builder.finish();
        let peaks: Vec<i128> = live_memory(&trace).iter().map(|one| one.peak_bytes.into()).collect();
        prop_assert_eq!(check(&unpickle(&exported(&TorchMemory, &trace))), peaks);
    }

    #[test]
    fn every_trace_can_be_written(trace in random_trace()) {
        unpickle(&exported(&TorchMemory, &trace));
        exported_text(&CollapsedMemory(MemoryWeight::LiveAtPeak), &trace);
        exported_text(&CollapsedMemory(MemoryWeight::Allocated), &trace);
    }
}

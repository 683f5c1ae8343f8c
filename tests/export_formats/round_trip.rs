//! A trace that is exported to a format that we can read is restored from it.

use crate::arbitrary;
use crate::random_trace::{exported, two_ranks};
use proptest::prelude::*;
use trace_runtime::analyze::CausalModel;
use trace_runtime::export::{self, ChromeTrace, CollapsedStacks, Exporter, TraceJson};
use trace_runtime::model::{
    EntryView, Launch, MemoryEvent, NewEntry, RuntimeCall, TraceStoreBuilder,
};
use trace_runtime::{
    DType, OpKind, Outcome, RecordedExecutionTrace, RecordedTraceEntry, TraceStore, TraceView, read,
};

fn read_back(exporter: &dyn Exporter, trace: &dyn TraceView) -> TraceStore {
    read::from_slice(&exported(exporter, trace)).expect("our own file")
}

/// An entry with its times rounded to nanoseconds, if they are finite: Chrome's format has no more decimals.
fn rounded(mut entry: RecordedTraceEntry) -> RecordedTraceEntry {
    let view = EntryView::from(&entry);
    let (start, duration) = (view.start_ns(), view.duration_ns());
    let suspended = view.suspended_ns();
    let near = |us: f64, ns: f64| (us * 1000.0 - ns).abs() <= 1.0;
    let starts_near = match (entry.start_us(), start) {
        (Some(us), Some(ns)) => near(us, ns as f64),
        _ => true,
    };
    if starts_near
        && near(entry.duration_us, duration as f64)
        && near(entry.suspended_us, suspended as f64)
    {
        entry.set_start_us(start.map(|ns| ns as f64 / 1000.0));
        entry.duration_us = duration as f64 / 1000.0;
        entry.suspended_us = suspended as f64 / 1000.0;
    }
    entry
}

fn to_the_nanosecond(trace: &TraceStore) -> String {
    let mut trace = RecordedExecutionTrace::from(trace);
    trace.entries = trace.entries.into_iter().map(rounded).collect();
    arbitrary::text(&trace)
}

proptest! {
    #[test]
    fn any_trace_survives_a_chrome_trace_to_the_nanosecond(trace in arbitrary::trace()) {
        let store = TraceStore::try_from(&trace).unwrap();
        let expected = to_the_nanosecond(&store);
        let bytes = exported(&ChromeTrace::new(), &store);
        let back = read::from_slice(&bytes).expect("our own file");
        prop_assert_eq!(&to_the_nanosecond(&back), &expected);
        prop_assert!(bytes == exported(&ChromeTrace::new(), &back), "written once more, it differs");
        let bare = ChromeTrace::new().without_device_rows();
        prop_assert_eq!(to_the_nanosecond(&read_back(&bare, &trace)), expected);
    }

    #[test]
    fn any_trace_survives_our_json_unchanged(trace in arbitrary::trace()) {
        let store = TraceStore::try_from(&trace).unwrap();
        for back in [read_back(&TraceJson, &trace), read_back(&TraceJson, &store)] {
            let back = RecordedExecutionTrace::from(&back);
            prop_assert_eq!(arbitrary::text(&back), arbitrary::text(&trace));
        }
    }

    #[test]
    fn a_damaged_chrome_trace_of_our_own_is_an_error_or_still_a_trace(
        trace in arbitrary::trace(),
        damage in proptest::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(b"{}[]\",:09e-x".to_vec())),
            1..4,
        ),
    ) {
        let mut bytes = exported(&ChromeTrace::new(), &trace);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(read) = read::from_slice(&bytes) {
            exported(&ChromeTrace::new(), &read);
            exported(&CollapsedStacks, &read);
            read.report().to_markdown(3);
        }
    }

    #[test]
    fn any_recorded_trace_survives_a_chrome_trace_unchanged(trace in recorded()) {
        let back = read_back(&ChromeTrace::new(), &trace);
        prop_assert_eq!(
            RecordedExecutionTrace::from(&back),
            RecordedExecutionTrace::from(&trace)
        );
    }
}

/// One entry with every field, on a device and under a parent on another thread.
fn everything() -> RecordedExecutionTrace {
    let mut trace = two_ranks()
        .with_metadata("dropped", "3")
        .with_metadata("long", "x".repeat(5000));
    let mut entry = RecordedTraceEntry::new(6, "send")
        .with_device_id("cuda:1")
        .with_input_shapes(vec![vec![8], vec![]])
        .with_output_shape(vec![8]);
    entry.set_start_us(Some(50.001));
    entry.duration_us = 7.999;
    entry.suspended_us = 1.5;
    entry.thread = Some(9);
    entry.rank = Some(1);
    entry.parent = Some(1);
    entry.kind = Some(OpKind::Io);
    entry.outcome = Outcome::Cancelled;
    entry.more_outputs = vec![vec![2, 0]];
    entry.output_dtypes = [DType::F16, DType::Bool].into();
    entry.output_elements = 11;
    entry.memory_bytes = 1;
    entry.flops = Some(u64::MAX);
    entry.bytes_moved = Some(0);
    entry.meta = [("batch", "7"), ("", "\u{85}")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    trace.add_entry(entry);
    trace
}

#[test]
fn a_chrome_trace_with_rows_of_devices_is_read_back_entry_for_entry() {
    let trace = everything();
    let text = String::from_utf8(exported(&ChromeTrace::new(), &trace)).unwrap();
    assert!(text.contains("ncclDevKernel_all_reduce") && text.contains("cudaLaunchKernel"));
    let back = read::from_slice(text.as_bytes()).unwrap();
    let store = TraceStore::try_from(&trace).unwrap();
    assert_eq!(to_the_nanosecond(&back), to_the_nanosecond(&store));
    assert_eq!(back.thread_name(Some(0), 1), Some("main"));
}

#[test]
fn memory_events_are_read_back_unless_they_were_left_out() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), Some(1), None);
    builder.push(&NewEntry::new("op", thread, 10, 5)).unwrap();
    for (at_ns, device_id, rank) in [(-3, "cuda:0", Some(1)), (12, "n\npu", None)] {
        builder.push_memory(
            &MemoryEvent::new(at_ns, -64, device_id)
                .with_rank(rank)
                .with_during(0)
                .with_address(u64::MAX),
        );
    }
    let store = builder.finish();
    let back = read_back(&ChromeTrace::new(), &store);
    assert!(back.memory_events().eq(store.memory_events()));
    let without = read_back(&ChromeTrace::new().without_memory(), &store);
    assert_eq!(without.memory_events().count(), 0);
}

#[test]
fn the_critical_path_of_a_chrome_trace_is_shown_and_not_read_back() {
    let trace = two_ranks();
    let with_path = ChromeTrace::new().with_critical_path();
    let text = String::from_utf8(exported(&with_path, &trace)).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let pieces = file["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["cat"] == "critical_path");
    let path_us: f64 = pieces.map(|event| event["dur"].as_f64().unwrap()).sum();
    let expected = CausalModel::new(&trace).critical_path().length_ns;
    assert!(expected > 0);
    assert_eq!((path_us * 1000.0).round(), expected as f64);
    assert_eq!(
        to_the_nanosecond(&read_back(
            &with_path,
            &TraceStore::try_from(&trace).unwrap()
        )),
        to_the_nanosecond(&read_back(
            &ChromeTrace::new(),
            &TraceStore::try_from(&trace).unwrap()
        ))
    );
}

#[test]
fn runtime_calls_and_launches_are_read_back() {
    let mut builder = TraceStoreBuilder::new();
    let threads = [0, 1].map(|rank| builder.thread(Some(1), Some(rank), None));
    for (thread, start_ns) in [(threads[0], 10), (threads[1], 12)] {
        let step = builder
            .push(&NewEntry::new("op", thread, start_ns, 5))
            .unwrap();
        let call = RuntimeCall::new("cudaLaunchKernel \"é\"", start_ns, 2)
            .with_during(step)
            .with_stream(7)
            .with_event(step);
        let call = builder.push_call(thread, &call);
        builder.push_launch(Launch::new(step, call));
    }
    let store = builder.finish();
    let back = read_back(&ChromeTrace::new(), &store);
    assert!(back.runtime_calls().eq(store.runtime_calls()));
    assert!(back.launches().eq(store.launches()));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("read-calls");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("run.json");
    let ranks = export::write_ranks(&ChromeTrace::new(), &store, path).unwrap();
    let second = read::open(&ranks[1]).unwrap();
    let calls: Vec<_> = second.runtime_calls().collect();
    assert_eq!(
        (calls.len(), calls[0].rank, calls[0].event),
        (1, Some(1), Some(0))
    );
    assert!(second.launches().eq([Launch::new(1, 0)]));
}

#[test]
fn the_parts_of_a_split_chrome_trace_are_read_back_as_the_entries_of_the_whole() {
    let trace = everything();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("read-ranks");
    std::fs::create_dir_all(&folder).unwrap();
    let exporter = ChromeTrace::new();
    let written = export::write_ranks(&exporter, &trace, folder.join("run.json")).unwrap();
    let mut entries: Vec<RecordedTraceEntry> = written
        .iter()
        .flat_map(|path| RecordedExecutionTrace::from(&read::open(path).unwrap()).entries)
        .collect();
    entries.sort_by_key(|entry| entry.step);
    let expected: Vec<_> = trace.entries.into_iter().map(rounded).collect();
    assert_eq!(entries, expected);
}

#[test]
fn a_file_of_a_later_version_is_read_like_that_of_another_profiler() {
    let text = String::from_utf8(exported(&ChromeTrace::new(), &two_ranks())).unwrap();
    let later = text.replace("\"version\": 1", "\"version\": 2");
    assert_ne!(text, later);
    let back = read::from_slice(later.as_bytes()).unwrap();
    assert!(back.metadata().contains_key("read.events"));
    assert!(back.views().any(|view| view.operation() == "matmul"));
}

prop_compose! {
    /// Ops as in a recording: on each thread, children are inside their parents.
    fn recorded()(
        depths in proptest::collection::vec((1..4u64, 0..4usize, 1..50u64, 0..9usize), 1..40),
        dtype in proptest::sample::select(
            &[DType::Unknown, DType::F32, DType::BF16, DType::F8E4M3, DType::I4, DType::C64][..],
        ),
    ) -> TraceStore {
        let mut builder = TraceStoreBuilder::new();
        // The clock of each thread, and its open ops, each inside the one before.
        let mut clocks = [0i64; 4];
        for (thread, depth, length, dim) in depths {
            let index = builder.thread(Some(thread), Some(thread as u32 % 2), None);
            let mut parent = None;
            for level in 0..=depth as u64 {
                let start = clocks[thread as usize] + level as i64;
                let mut entry = NewEntry::new("op \"x\"", index, start, (4 - level) * 100 + length - level * 2);
                let (dims, output) = ([dim, 3], [dim]);
                let inputs: [(&[usize], DType); 2] = [(&dims, dtype), (&[], DType::F64)];
                let outputs: [(&[usize], DType); 1] = [(&output, dtype)];
                entry.inputs = &inputs;
                entry.outputs = &outputs;
                entry.flops = Some(length);
                entry.parent = parent;
                if length < 10 && level > 2 {
                    break;
                }
                parent = Some(builder.push(&entry).expect("few entries"));
            }
            clocks[thread as usize] += 1000;
        }
        builder.finish()
    }
}

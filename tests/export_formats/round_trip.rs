//! What a Chrome trace can carry is read back as it was; the described JSON carries everything, and is
//! tested beside its exporter.

use crate::random_trace::{exported, two_ranks};
use proptest::prelude::*;
use trace_runtime::export::ChromeTrace;
use trace_runtime::model::{EntryView, NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, TraceStore, TraceView, read};

/// What both sides must agree on, sorted because ops that begin at once have no order.
fn facts<T: TraceView + ?Sized>(trace: &T) -> Vec<String> {
    let describe = |view: EntryView<'_>| {
        let parent = view
            .parent()
            .and_then(|step| trace.index_of_step(step))
            .map(|index| {
                let above: EntryView<'_> = trace.entry(index).into();
                (above.operation(), above.start_ns(), above.thread())
            });
        let tensors = |tensors: trace_runtime::model::Tensors<'_>| {
            let text = |tensor: trace_runtime::model::TensorView<'_>| {
                format!("{}{:?}", tensor.dtype, tensor.dims)
            };
            tensors.map(text).collect::<Vec<_>>()
        };
        format!(
            "{:?} {:?} +{} on {:?} of {:?} in {parent:?}: {:?} -> {:?} {:?}",
            view.start_ns(),
            view.operation(),
            view.duration_ns(),
            view.thread(),
            view.rank(),
            tensors(view.inputs()),
            tensors(view.outputs()),
            view.flops(),
        )
    };
    let mut facts: Vec<String> = trace.views().map(describe).collect();
    facts.sort();
    facts
}

fn read_back<T: TraceView + ?Sized>(trace: &T) -> TraceStore {
    let exporter = ChromeTrace::new().without_device_rows();
    read::open(&exported(&exporter, trace)).expect("our own file")
}

#[test]
fn names_times_threads_ranks_parents_and_shapes_survive_a_chrome_trace() {
    let trace = two_ranks();
    let back = read_back(&trace);
    assert_eq!(facts(&back), facts(&trace));
    assert_eq!(back.thread_name(1), Some("main"));
}

prop_compose! {
    /// Ops as a recorder has them: on each thread, children inside their parents.
    fn recorded()(
        depths in proptest::collection::vec((1..4u64, 0..4usize, 1..50u64, 0..9usize), 1..40),
        dtype in proptest::sample::select(
            &[DType::Unknown, DType::F32, DType::BF16, DType::F8E4M3, DType::I4, DType::C64][..],
        ),
    ) -> TraceStore {
        let mut builder = TraceStoreBuilder::new();
        // A thread's clock, and what is open on it, each inside the one before.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_recorded_trace_survives_a_chrome_trace(trace in recorded()) {
        prop_assert_eq!(facts(&read_back(&trace)), facts(&trace));
    }
}

#[test]
fn halves_of_characters_in_what_is_read_do_not_come_out_again() {
    let file =
        br#"{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "half \ud83e of a crab \udd80",
        "pid": 1, "tid": 1, "ts": 0, "dur": 5}]}"#;
    let trace = read::open(file).expect("a name costs no trace");
    let chrome = exported(&ChromeTrace::new(), &trace);
    let chrome: serde_json::Value = serde_json::from_slice(&chrome).expect("valid JSON");
    let events = chrome["traceEvents"].as_array().unwrap();
    let op = events.iter().find(|event| event["ph"] == "X").unwrap();
    assert_eq!(op["name"], "half \u{fffd} of a crab \u{fffd}");
}

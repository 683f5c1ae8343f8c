use crate::random_trace::{exported_text, random_trace, two_ranks};
use proptest::prelude::*;
use serde_json::Value;
use std::time::Duration;
use trace_runtime::export::Speedscope;
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry, TraceStore};

fn file(trace: &RecordedExecutionTrace) -> Value {
    serde_json::from_str(&exported_text(&Speedscope, trace)).expect("valid JSON")
}

#[test]
fn each_thread_is_a_profile_and_ops_open_and_close_in_it() {
    let file = file(&two_ranks());
    let names: Vec<_> = file["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|profile| profile["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "rank 0: main",
            "rank 1: main",
            "rank 0: thread 2",
            "rank 1: thread 2"
        ]
    );
    let events: Vec<_> = file["profiles"][0]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let frame = event["frame"].as_u64().unwrap() as usize;
            format!(
                "{} {} {}",
                event["type"].as_str().unwrap(),
                file["shared"]["frames"][frame]["name"].as_str().unwrap(),
                event["at"]
            )
        })
        .collect();
    assert_eq!(
        events,
        [
            "O layer 0",
            "O matmul 10000",
            "C matmul 40250",
            "C layer 100125"
        ]
    );
    assert_eq!(file["profiles"][0]["endValue"], 100_125);
}

#[test]
fn an_empty_trace_is_still_a_file_with_a_profile() {
    let file = file(&RecordedExecutionTrace::new());
    assert_eq!(file["profiles"].as_array().unwrap().len(), 1);
}

proptest! {
    #[test]
    fn ops_close_in_the_order_that_they_opened_and_time_never_runs_back(trace in random_trace()) {
        let file = file(&trace);
        let frames = file["shared"]["frames"].as_array().unwrap().len() as u64;
        let mut opened = 0;
        for profile in file["profiles"].as_array().unwrap() {
            let (mut stack, mut last) = (Vec::new(), 0);
            for event in profile["events"].as_array().unwrap() {
                let (frame, at) = (event["frame"].as_u64().unwrap(), event["at"].as_u64().unwrap());
                prop_assert!(frame < frames && at >= last);
                last = at;
                if event["type"] == "O" {
                    opened += 1;
                    stack.push(frame);
                } else {
                    prop_assert_eq!(stack.pop(), Some(frame));
                }
            }
            prop_assert!(stack.is_empty());
            prop_assert_eq!(profile["endValue"].as_u64(), Some(last));
        }
        prop_assert_eq!(opened, trace.entries.len());
    }

    #[test]
    fn both_storages_give_the_same_bytes(trace in random_trace()) {
        let store = TraceStore::try_from(&trace).unwrap();
        prop_assert_eq!(exported_text(&Speedscope, &trace), exported_text(&Speedscope, &store));
    }
}

#[test]
fn executions_with_different_labels_are_different_frames() {
    let mut trace = RecordedExecutionTrace::new();
    for (step, label) in [None, Some("layers.0"), Some("layers.1"), Some("layers.0")]
        .into_iter()
        .enumerate()
    {
        let mut entry = RecordedTraceEntry::new(step, "attn");
        entry.label = label.map(str::to_owned);
        entry.set_start_us(Some(10.0 * step as f64));
        trace.add_entry(entry.with_duration(Duration::from_micros(5)));
    }
    let file = file(&trace);
    let frames: Vec<_> = file["shared"]["frames"]
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| frame["name"].as_str().unwrap())
        .collect();
    assert_eq!(frames, ["attn", "attn layers.0", "attn layers.1"]);
}

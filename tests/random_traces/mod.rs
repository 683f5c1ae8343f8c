//! Random traces for property tests: flat traces, nested traces, and traces that hand work to other threads.

#![allow(dead_code, reason = "each test file uses a part of it")]

use proptest::prelude::*;
use std::collections::HashMap;
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry};

const NAMES: [&str; 6] = ["matmul", "relu", "all_reduce", "Send", "norm", "a b;c"];
const DEVICES: [Option<&str>; 4] = [None, Some("cpu"), Some("cuda:0"), Some("cuda:1")];

prop_compose! {
    fn flat_entry()(
        name in 0..NAMES.len(),
        device in 0..DEVICES.len(),
        us in prop_oneof![0.0..5.0f64, 0.0..1e7f64, Just(0.0), Just(1e-12)],
        dims in prop::collection::vec(0usize..9, 0..4),
    ) -> RecordedTraceEntry {
        let mut entry = RecordedTraceEntry::new(0, NAMES[name]).with_output_shape(dims);
        entry.device_id = DEVICES[device].map(str::to_owned);
        entry.duration_us = us;
        entry
    }
}

pub(crate) fn flat_trace() -> impl Strategy<Value = RecordedExecutionTrace> {
    prop::collection::vec(flat_entry(), 0..60).prop_map(|entries| {
        let mut trace = RecordedExecutionTrace::new();
        for (step, mut entry) in entries.into_iter().enumerate() {
            entry.step = step;
            trace.add_entry(entry);
        }
        trace
    })
}

/// An event on a thread: an op begins, or the innermost open one ends.
#[derive(Debug, Clone, Copy)]
enum Event {
    Begin(usize, usize),
    End,
}

fn thread_events() -> impl Strategy<Value = Vec<(Event, u32)>> {
    let event = prop_oneof![
        (0..NAMES.len(), 0..DEVICES.len()).prop_map(|(name, device)| Event::Begin(name, device)),
        Just(Event::End),
    ];
    prop::collection::vec((event, 0..5000u32), 0..40)
}

/// A trace whose ops are properly nested on each thread, with all starts and parents.
pub(crate) fn nested_trace() -> impl Strategy<Value = RecordedExecutionTrace> {
    prop::collection::vec(thread_events(), 1..4).prop_map(build)
}

/// Like [`nested_trace`], but ops on a later thread may have a parent on an earlier one.
pub(crate) fn handed_off_trace() -> impl Strategy<Value = RecordedExecutionTrace> {
    let picks = prop::collection::vec(any::<prop::sample::Index>(), 40);
    (nested_trace(), picks).prop_map(|(mut trace, picks)| {
        for index in 0..trace.entries.len() {
            let entry = &trace.entries[index];
            let (start, thread) = (entry.start_us(), entry.thread);
            if entry.parent.is_some() || thread == Some(0) {
                continue;
            }
            // Any op that runs on an earlier thread at that moment can be the parent.
            let running: Vec<usize> = (0..index)
                .filter(|&other| {
                    let other = &trace.entries[other];
                    let end = other
                        .start_us()
                        .zip(Some(other.duration_us))
                        .map(|(a, b)| a + b);
                    other.thread < thread && other.start_us() <= start && start < end
                })
                .collect();
            if !running.is_empty() {
                let pick = picks[index % picks.len()].get(&running);
                trace.entries[index].parent = Some(*pick);
            }
        }
        trace
    })
}

fn build(threads: Vec<Vec<(Event, u32)>>) -> RecordedExecutionTrace {
    let mut entries: Vec<(i64, usize, RecordedTraceEntry, i64, Option<usize>)> = Vec::new();
    for (thread, events) in threads.into_iter().enumerate() {
        let (mut now, mut open): (i64, Vec<usize>) = (0, Vec::new());
        for (event, passed) in events {
            now += i64::from(passed);
            match event {
                Event::Begin(name, device) => {
                    let mut entry =
                        RecordedTraceEntry::new(0, NAMES[name]).with_thread(thread as u64);
                    entry.device_id = DEVICES[device].map(str::to_owned);
                    open.push(entries.len());
                    let parent = open.len().checked_sub(2).map(|above| open[above]);
                    entries.push((now, entries.len(), entry, i64::MAX, parent));
                }
                Event::End => {
                    if let Some(index) = open.pop() {
                        entries[index].3 = now;
                    }
                }
            }
        }
        for index in open {
            entries[index].3 = now;
        }
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&index| (entries[index].0, index));
    let mut step_of = HashMap::new();
    let mut trace = RecordedExecutionTrace::new();
    for (step, index) in order.into_iter().enumerate() {
        step_of.insert(index, step);
        let (start, _, entry, end, parent) = &entries[index];
        let mut entry = entry.clone();
        entry.step = step;
        entry.set_start_us(Some(*start as f64 / 1000.0));
        entry.duration_us = (end - start) as f64 / 1000.0;
        entry.parent = parent.map(|parent| step_of[&parent]);
        trace.add_entry(entry);
    }
    trace
}

//! Device memory that libraries reported, as memory events of the trace.

use crate::model::{MemoryEvent, TraceStore, TraceView as _};
use std::collections::HashMap;
use trace_core::__engine::memory::Reported;

/// Adds the reported allocations and frees to the trace.
pub(super) fn add_to(store: &mut TraceStore, reported: &[Reported], rank: Option<u32>) {
    if reported.is_empty() {
        return;
    }
    let mut reported: Vec<&Reported> = reported.iter().collect();
    reported.sort_by_key(|event| event.at);
    let times: Vec<(u64, i64)> = reported
        .iter()
        .map(|event| (event.thread, store.ns_of(event.at)))
        .collect();
    let during = innermost(store, &times);
    let devices: Vec<String> = reported
        .iter()
        .map(|event| event.device.to_string())
        .collect();
    let events = reported.into_iter().zip(&times).zip(&during).zip(&devices);
    store.add_memory(
        events.map(|(((event, &(_, at_ns)), &during), device)| MemoryEvent {
            at_ns,
            bytes: event.bytes,
            device_id: device,
            rank,
            during,
            address: Some(event.address as u64),
            allocated: None,
            context: None,
        }),
    );
}

/// For each thread and time, the step of the innermost op that was running; times are in order.
fn innermost(store: &TraceStore, times: &[(u64, i64)]) -> Vec<Option<usize>> {
    let mut open: HashMap<u64, Vec<(i64, usize)>> = HashMap::new();
    let mut entries = store.views().peekable();
    times
        .iter()
        .map(|&(thread, at)| {
            while let Some(view) = entries.next_if(|view| view.start_ns().is_none_or(|s| s <= at)) {
                if let (Some(thread), Some(end)) = (view.thread(), view.end_ns()) {
                    open.entry(thread).or_default().push((end, view.step()));
                }
            }
            let open = open.get_mut(&thread)?;
            while open.last().is_some_and(|&(end, _)| end < at) {
                open.pop();
            }
            open.last().map(|&(_, step)| step)
        })
        .collect()
}

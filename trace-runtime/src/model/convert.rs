//! Converts each storage to the other, without loss.

use super::builder::TraceStoreBuilder;
use super::error::TraceError;
use super::in_parallel::in_parallel;
use super::memory::{EventLines, events_in};
use super::runtime_call::CallLines;
use super::thread_names::{name_in, names_as_metadata};
use super::view::{EntryStorage as _, TraceView};
use super::wire::json::JsonContent;
use super::wire::metadata::{MEMORY_EVENTS, RUNTIME_CALLS};
use super::{RecordedExecutionTrace, RecordedTraceEntry, TraceStore};
use std::collections::HashMap;

/// Fails only if there are more than 4 billion entries or 16 million distinct signatures.
impl TryFrom<&RecordedExecutionTrace> for TraceStore {
    type Error = TraceError;

    fn try_from(trace: &RecordedExecutionTrace) -> Result<Self, TraceError> {
        let mut builder = TraceStoreBuilder::new();
        for entry in &trace.entries {
            builder.push_owned(entry)?;
        }
        for &step in &trace.steps {
            builder.step(step);
        }
        Ok(with_facts(
            builder,
            trace.total_duration_us,
            trace.metadata.clone(),
        ))
    }
}

impl From<JsonContent<TraceStoreBuilder>> for TraceStore {
    fn from(content: JsonContent<TraceStoreBuilder>) -> Self {
        let JsonContent {
            entries,
            total_duration_us,
            metadata,
            steps,
        } = content;
        let mut builder = entries;
        for step in steps {
            builder.step(step);
        }
        with_facts(builder, total_duration_us, metadata)
    }
}

/// Completes a store of entries with the metadata of a [`RecordedExecutionTrace`], which also contain
/// memory events, runtime calls and the names of threads.
fn with_facts(
    mut builder: TraceStoreBuilder,
    total_us: f64,
    mut metadata: HashMap<String, String>,
) -> TraceStore {
    for event in events_in(&metadata) {
        builder.push_memory(&event);
    }
    if let Some(lines) = metadata.remove(RUNTIME_CALLS) {
        builder.push_call_lines(&lines);
    }
    metadata.remove(MEMORY_EVENTS);
    builder.metadata = metadata;
    builder.total_us = Some(total_us);
    let mut store = builder.finish();
    for thread in &mut store.threads {
        let name = thread
            .id
            .and_then(|id| name_in(&store.metadata, thread.rank, id));
        thread.name = name.map(str::to_owned);
    }
    store
}

impl From<&TraceStore> for RecordedExecutionTrace {
    fn from(store: &TraceStore) -> Self {
        let mut metadata = store.metadata.clone();
        let threads = store
            .threads
            .iter()
            .filter_map(|thread| Some((thread.rank, thread.id?, thread.name.as_deref())));
        for (key, name) in names_as_metadata(threads) {
            metadata.insert(key, name.to_owned());
        }
        if !store.memory.is_empty() {
            metadata.insert(MEMORY_EVENTS.to_owned(), EventLines(store).to_string());
        }
        if !store.calls.calls.is_empty() {
            metadata.insert(RUNTIME_CALLS.to_owned(), CallLines(store).to_string());
        }
        RecordedExecutionTrace {
            entries: entries(store),
            total_duration_us: store.total_duration_us(),
            metadata,
            steps: store.steps().to_vec(),
        }
    }
}

/// Nearly all of the time is spent on allocations, so the entries of a long trace are made on several cores.
fn entries(store: &TraceStore) -> Vec<RecordedTraceEntry> {
    const WORTH_A_THREAD: usize = 1 << 15;
    let mut copies = Copies::default();
    if store.len() < 2 * WORTH_A_THREAD {
        return (0..store.len())
            .map(|index| copies.of(store, index))
            .collect();
    }
    in_parallel(store.len(), WORTH_A_THREAD, || {
        let mut copies = Copies::default();
        move |index| copies.of(store, index)
    })
}

/// Entries of one signature and thread are copies of one template, so that a signature is decoded once and the details
/// are shared. If two have the same slot of the table, the later one replaces the earlier.
struct Copies(Vec<Option<(u32, u32, RecordedTraceEntry)>>);

impl Default for Copies {
    fn default() -> Self {
        Copies(vec![None; 256])
    }
}

impl Copies {
    fn of(&mut self, store: &TraceStore, index: usize) -> RecordedTraceEntry {
        let entry = store.entry(index);
        let (signature, thread) = (entry.signature(), entry.thread_index());
        let places = self.0.len();
        let place = &mut self.0[(signature ^ thread << 4) as usize % places];
        let template = match place {
            Some((known, on, template)) if (*known, *on) == (signature, thread) => template,
            _ => &mut place.insert((signature, thread, entry.template())).2,
        };
        entry.filled_in(template.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryEvent, NewEntry};
    use super::*;

    #[test]
    fn memory_events_survive_both_ways() {
        let mut builder = TraceStoreBuilder::new();
        let thread = builder.thread(Some(1), None, Some("main"));
        let op = builder
            .push(&NewEntry::new("matmul", thread, 0, 10))
            .unwrap();
        let event = MemoryEvent {
            at_ns: 5,
            bytes: 64,
            device_id: "cuda:0",
            rank: None,
            during: Some(op),
            address: Some(16),
            allocated: Some(128),
            context: None,
        };
        builder.push_memory(&event);
        let owned = RecordedExecutionTrace::from(&builder.finish());
        assert_eq!(owned.memory_events().collect::<Vec<_>>(), [event]);
        let store = TraceStore::try_from(&owned).unwrap();
        assert_eq!(store.memory_events().collect::<Vec<_>>(), [event]);
        assert!(!store.metadata().contains_key(MEMORY_EVENTS));
        assert_eq!(RecordedExecutionTrace::from(&store), owned);
    }
}

//! From one storage to the other, losing nothing.

use super::builder::TraceStoreBuilder;
use super::error::TraceError;
use super::memory::{EVENTS_KEY, EventLines, events_in};
use super::view::{TraceView, thread_name_key};
use super::{RecordedExecutionTrace, TraceStore};

/// Fails only past 4 billion entries or 16 million distinct signatures.
impl TryFrom<&RecordedExecutionTrace> for TraceStore {
    type Error = TraceError;

    fn try_from(trace: &RecordedExecutionTrace) -> Result<Self, TraceError> {
        let mut builder = TraceStoreBuilder::new();
        for entry in &trace.entries {
            builder.push_owned(entry)?;
        }
        for event in events_in(&trace.metadata) {
            builder.push_memory(&event);
        }
        builder.metadata.clone_from(&trace.metadata);
        builder.metadata.remove(EVENTS_KEY);
        builder.total_us = Some(trace.total_duration_us);
        let mut store = builder.finish();
        for thread in &mut store.threads {
            let key = thread.id.map(thread_name_key);
            thread.name = key.and_then(|key| store.metadata.get(&key).cloned());
        }
        Ok(store)
    }
}

impl From<&TraceStore> for RecordedExecutionTrace {
    fn from(store: &TraceStore) -> Self {
        let mut metadata = store.metadata.clone();
        for thread in &store.threads {
            if let (Some(id), Some(name)) = (thread.id, &thread.name) {
                metadata.insert(thread_name_key(id), name.clone());
            }
        }
        if !store.memory.is_empty() {
            metadata.insert(EVENTS_KEY.to_owned(), EventLines(store).to_string());
        }
        RecordedExecutionTrace {
            entries: store.views().map(|view| view.to_entry()).collect(),
            total_duration_us: store.total_duration_us(),
            metadata,
        }
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
        };
        builder.push_memory(&event);
        let owned = RecordedExecutionTrace::from(&builder.finish());
        assert_eq!(owned.memory_events().collect::<Vec<_>>(), [event]);
        let store = TraceStore::try_from(&owned).unwrap();
        assert_eq!(store.memory_events().collect::<Vec<_>>(), [event]);
        assert!(!store.metadata().contains_key(EVENTS_KEY));
        assert_eq!(RecordedExecutionTrace::from(&store), owned);
    }
}

//! From one storage to the other, losing nothing.

use super::builder::TraceStoreBuilder;
use super::error::TraceError;
use super::in_parallel::in_parallel;
use super::memory::{EVENTS_KEY, EventLines, events_in};
use super::runtime_call::{CALLS_KEY, CallLines};
use super::view::{EntryStorage as _, TraceView, thread_name_key};
use super::{RecordedExecutionTrace, RecordedTraceEntry, TraceStore};

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
        if let Some(lines) = trace.metadata.get(CALLS_KEY) {
            builder.push_call_lines(lines);
        }
        builder.metadata.clone_from(&trace.metadata);
        builder.metadata.remove(EVENTS_KEY);
        builder.metadata.remove(CALLS_KEY);
        for &step in &trace.steps {
            builder.step(step);
        }
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
        if !store.calls.calls.is_empty() {
            metadata.insert(CALLS_KEY.to_owned(), CallLines(store).to_string());
        }
        RecordedExecutionTrace {
            entries: entries(store),
            total_duration_us: store.total_duration_us(),
            metadata,
            steps: store.steps().to_vec(),
        }
    }
}

/// Nearly all of the time goes to allocating what an entry owns, so a long trace is shared out among cores.
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

/// Entries of one signature are copies of one template, so that its words are read once. There is room for
/// some templates; signatures that meet there take turns.
struct Copies(Vec<Option<(u32, RecordedTraceEntry)>>);

impl Default for Copies {
    fn default() -> Self {
        Copies(vec![None; 256])
    }
}

impl Copies {
    fn of(&mut self, store: &TraceStore, index: usize) -> RecordedTraceEntry {
        let entry = store.entry(index);
        let rooms = self.0.len();
        let room = &mut self.0[entry.signature() as usize % rooms];
        let template = match room {
            Some((signature, template)) if *signature == entry.signature() => template,
            _ => &mut room.insert((entry.signature(), entry.template())).1,
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

use crate::random_trace::{exported_text, random_trace, two_ranks};
use proptest::prelude::*;
use trace_runtime::export::TraceJson;
use trace_runtime::model::{MemoryEvent, NewEntry, TraceStoreBuilder};
use trace_runtime::{RecordedExecutionTrace, TraceStore};

#[test]
fn the_export_has_the_bytes_of_to_json() {
    let trace = two_ranks();
    let text = exported_text(&TraceJson, &trace);
    assert_eq!(text, trace.to_json().unwrap() + "\n");
}

#[test]
fn thread_names_and_memory_events_of_a_store_are_written() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(4), None, Some("loader"));
    builder.push(&NewEntry::new("read", thread, 0, 10)).unwrap();
    builder.push_memory(
        &MemoryEvent::new(3, 64, "cpu")
            .with_during(0)
            .with_context(4),
    );
    let store = builder.finish();
    let whole = RecordedExecutionTrace::from(&store).to_json().unwrap();
    assert!(whole.contains("loader") && whole.contains("memory.events"));
    assert_eq!(exported_text(&TraceJson, &store), whole + "\n");
}

proptest! {
    #[test]
    fn a_written_trace_is_read_back_equal(trace in random_trace()) {
        let store = TraceStore::try_from(&trace).unwrap();
        for text in [exported_text(&TraceJson, &trace), exported_text(&TraceJson, &store)] {
            prop_assert_eq!(&RecordedExecutionTrace::from_json(&text).unwrap(), &trace);
        }
    }
}

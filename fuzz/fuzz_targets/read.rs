//! Any bytes are a trace or an error. In a trace, parents come before their children and contain those on the same
//! thread. The trace converts to the other storage without loss, and a report is made of it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trace_runtime::read::Reader;
use trace_runtime::{RecordedExecutionTrace, TraceStore, TraceView};

fuzz_target!(|bytes: &[u8]| {
    let reader = Reader::new().with_frames().with_runtime_calls();
    let Ok(trace) = reader.from_slice(bytes) else {
        return;
    };
    let has = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    let recorded = has(b"\"entries\"") || has(b"\"trace-runtime\"");
    for (index, view) in trace.views().enumerate() {
        // Our formats keep the recorded parents, even if they do not fit the times.
        let Some(parent) = view.parent().filter(|_| !recorded) else {
            continue;
        };
        assert!(parent < index);
        let parent = trace.view(parent);
        assert!(parent.start_ns() <= view.start_ns());
        if parent.thread() == view.thread() && parent.rank() == view.rank() {
            assert!(parent.end_ns() >= view.end_ns());
        }
    }
    let owned = RecordedExecutionTrace::from(&trace);
    let again = TraceStore::try_from(&owned).expect("a trace that was just one");
    assert_eq!(trace.entry_count(), again.entry_count());
    let _ = trace.report().to_text(&Default::default());
});

//! A thread's name belongs to its rank, and labels distinguish threads of one name.

use trace_runtime::analyze::thread_labels;
use trace_runtime::export::{ChromeTrace, Exporter, PerfettoTrace, TraceJson};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{TraceStore, TraceView, read};

fn rank(rank: u32, name: &str) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    for (thread, name) in [
        (1, Some(name)),
        (2, Some("worker")),
        (3, Some("worker")),
        (4, None),
    ] {
        let thread = builder.thread(Some(thread), Some(rank), name);
        builder.push(&NewEntry::new("op", thread, 0, 5)).unwrap();
    }
    builder.finish()
}

fn names(trace: &TraceStore) -> Vec<Option<&str>> {
    [(0, 1), (1, 1), (0, 2), (1, 2), (0, 4)]
        .map(|(rank, thread)| trace.thread_name(Some(rank), thread))
        .to_vec()
}

#[test]
fn a_merged_trace_keeps_the_names_of_each_rank() {
    let both = TraceStore::merge(&[rank(0, "trainer"), rank(1, "server")]).unwrap();
    let expected = [
        Some("trainer"),
        Some("server"),
        Some("worker"),
        Some("worker"),
        None,
    ];
    assert_eq!(names(&both), expected);
    let exporters: [&dyn Exporter; 2] = [&ChromeTrace::new(), &TraceJson];
    for exporter in exporters {
        let mut bytes = Vec::new();
        exporter.export(&both, &mut bytes).unwrap();
        assert_eq!(names(&read::from_slice(&bytes).unwrap()), expected);
    }
    let owned = trace_runtime::RecordedExecutionTrace::from(&both);
    assert_eq!(owned.metadata["rank.1.thread.1.name"], "server");
    assert_eq!(owned.metadata["thread.2.name"], "worker");
    assert_eq!(owned.thread_name(Some(1), 1), Some("server"));
}

#[test]
fn threads_of_one_name_are_numbered() {
    let trace = rank(0, "main");
    let labels: Vec<String> = thread_labels(&trace).into_values().collect();
    assert_eq!(labels, ["main", "worker #1", "worker #2", "thread 4"]);
    // Viewers show the labels; the name in the trace does not change.
    for exporter in [&ChromeTrace::new() as &dyn Exporter, &PerfettoTrace::new()] {
        let mut bytes = Vec::new();
        exporter.export(&trace, &mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            text.contains("worker #1") && text.contains("worker #2"),
            "{text}"
        );
    }
    // Each rank numbers its own threads.
    let both = TraceStore::merge(&[rank(0, "worker"), rank(1, "main")]).unwrap();
    let labels = thread_labels(&both);
    assert_eq!(labels[&(Some(0), Some(1))], "worker #1");
    assert_eq!(labels[&(Some(1), Some(2))], "worker #1");
}

//! Sessions: they record every thread, one at a time, with a limit, and nothing is lost.
//!
//! Sessions belong to the process, so these tests take turns.
#![cfg(feature = "enabled")]

mod choice;
mod environment;
mod handles;
mod output;

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use trace_runtime::{
    Outcome, RecordedExecutionTrace, Session, SessionErrorKind, traced_op, with_recorder,
};

pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[traced_op]
pub(crate) fn leaf(x: &[f32]) -> f32 {
    x.iter().sum()
}

#[traced_op]
pub(crate) fn twice(x: &[f32]) -> f32 {
    leaf(x) + leaf(x)
}

pub(crate) fn count(trace: &RecordedExecutionTrace, operation: &str) -> usize {
    trace
        .entries
        .iter()
        .filter(|entry| entry.operation == operation)
        .count()
}

#[test]
fn a_second_session_is_a_clear_error() {
    let _turn = turn();
    let session = Session::start().unwrap();
    let error = Session::start().unwrap_err();
    assert_eq!(error.kind(), SessionErrorKind::AlreadyRunning);
    assert!(error.to_string().contains("finish it first"), "{error}");
    drop(session);
    Session::start().unwrap().finish();
}

#[test]
fn the_ops_of_every_thread_are_gathered_even_if_it_has_ended() {
    let _turn = turn();
    let (go, wait) = mpsc::channel::<()>();
    let (done, finished) = mpsc::channel::<()>();
    // Started before the session, and parked when it finishes.
    let parked = std::thread::Builder::new()
        .name("parked".into())
        .spawn(move || {
            wait.recv().unwrap();
            leaf(&[1.0]);
            done.send(()).unwrap();
            let _ = wait.recv();
        })
        .unwrap();
    let session = Session::start().unwrap();
    go.send(()).unwrap();
    finished.recv().unwrap();
    for _ in 0..3 {
        std::thread::spawn(|| twice(&[1.0, 2.0])).join().unwrap();
    }
    std::thread::scope(|scope| {
        scope.spawn(|| leaf(&[3.0]));
    });
    leaf(&[4.0]);
    let trace = session.finish();
    drop(go);
    parked.join().unwrap();

    assert_eq!(count(&trace, "twice"), 3);
    assert_eq!(count(&trace, "leaf"), 9);
    let mut threads: Vec<_> = trace.entries.iter().map(|entry| entry.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    assert_eq!(threads.len(), 6);
    assert!(trace.metadata.values().any(|name| name == "parked"));
    for (step, entry) in trace.entries.iter().enumerate() {
        assert_eq!(entry.step, step);
        let Some(parent) = entry.parent.map(|step| &trace.entries[step]) else {
            continue;
        };
        assert!(parent.step < entry.step && parent.thread == entry.thread);
        assert_eq!(parent.operation, "twice");
    }
    let starts: Vec<_> = trace
        .entries
        .iter()
        .map(|entry| entry.start_us().unwrap())
        .collect();
    assert!(starts.is_sorted());
}

#[test]
fn a_long_trace_converts_to_owned_entries_unchanged() {
    // More shapes than a thread keeps at hand, in turns.
    const SHAPES: usize = 700;
    let _turn = turn();
    let session = Session::start().unwrap();
    let x = [1.0; SHAPES];
    for len in (0..SHAPES).cycle().take(30_000) {
        twice(&x[..len]);
    }
    let snapshot = session.snapshot();
    let trace = session.finish();
    assert_eq!(trace.entries.len(), 90_000);
    for (index, entry) in trace.entries.iter().enumerate() {
        assert_eq!(entry.step, index);
        assert_eq!(entry.input_shapes, [[index / 3 % SHAPES]]);
    }
    let owned = RecordedExecutionTrace::from(&snapshot);
    assert_eq!(owned.entries, trace.entries);
}

#[test]
fn ops_outside_a_session_are_not_recorded() {
    let _turn = turn();
    leaf(&[1.0]);
    let session = Session::start().unwrap();
    let trace = session.finish();
    leaf(&[1.0]);
    assert_eq!(trace.step_count(), 0);
}

#[test]
fn an_op_that_outlives_its_session_is_in_no_other() {
    #[traced_op]
    fn outer(session: Session) -> (RecordedExecutionTrace, Session) {
        leaf(&[1.0]);
        let first = session.finish();
        let second = Session::start().unwrap();
        leaf(&[1.0]);
        (first, second)
    }
    let _turn = turn();
    let (first, second) = outer(Session::start().unwrap());
    let second = second.finish();
    assert_eq!((count(&first, "leaf"), first.step_count()), (1, 1));
    assert_eq!((count(&second, "leaf"), second.step_count()), (1, 1));
    assert_eq!(first.entries[0].parent, None, "its parent had not ended");
}

#[test]
fn ops_begun_by_hand_that_are_open_at_the_end_are_unfinished() {
    let _turn = turn();
    let session = Session::start().unwrap();
    with_recorder(|recorder| recorder.begin_op("by hand"));
    leaf(&[1.0]);
    let trace = session.finish();
    assert_eq!(trace.entries[0].outcome, Outcome::Unfinished);
    assert_eq!(trace.entries[1].parent, Some(0), "the two are one system");
}

#[test]
fn a_snapshot_has_the_ops_so_far_and_recording_continues() {
    let _turn = turn();
    let session = Session::start().unwrap();
    leaf(&[1.0]);
    let early = session.snapshot();
    leaf(&[1.0]);
    assert_eq!(early.len(), 1);
    assert_eq!(session.snapshot().len(), 2);
    assert_eq!(session.finish().step_count(), 2);
    assert_eq!(early.len(), 1, "a snapshot stays as it is");
}

#[test]
fn the_trace_describes_the_run() {
    let _turn = turn();
    let session = Session::builder()
        .rank(1)
        .world_size(4)
        .metadata("model", "tiny")
        .start()
        .unwrap();
    leaf(&[1.0]);
    let trace = session.finish();
    for key in [
        "program",
        "arg_count",
        "os",
        "arch",
        "cores",
        "start_unix_ns",
        "version",
        "clock",
        "overhead_ns",
        "dropped",
        "pid",
    ] {
        assert!(trace.metadata.contains_key(key), "{key}");
    }
    assert_eq!(trace.metadata["model"], "tiny");
    assert_eq!(trace.metadata["world_size"], "4");
    assert_eq!(trace.entries[0].rank, Some(1));
    assert!(trace.metadata["program"].starts_with("session"));
}

/// A directory for one test.
pub(crate) fn directory(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("trace-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

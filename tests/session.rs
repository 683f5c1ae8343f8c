//! Sessions: every thread, one at a time, bounded, and nothing lost.
//!
//! Sessions belong to the process, so these tests take turns.
#![cfg(feature = "enabled")]

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use trace_runtime::{
    Filter, Outcome, RecordedExecutionTrace, Schedule, Session, SessionErrorKind, TraceView,
    current_op, in_op, read, record, traced_op, with_recorder,
};

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[traced_op]
fn leaf(x: &[f32]) -> f32 {
    x.iter().sum()
}

#[traced_op]
fn twice(x: &[f32]) -> f32 {
    leaf(x) + leaf(x)
}

fn count(trace: &RecordedExecutionTrace, operation: &str) -> usize {
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
fn every_thread_is_gathered_whether_it_lives_or_not() {
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
fn a_long_trace_is_owned_as_it_was_stored() {
    // More shapes than are kept at hand, in turns.
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
fn what_runs_outside_a_session_is_not_recorded() {
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
fn what_the_recorder_keeps_open_is_unfinished_at_the_end() {
    let _turn = turn();
    let session = Session::start().unwrap();
    with_recorder(|recorder| recorder.begin_op("by hand"));
    leaf(&[1.0]);
    let trace = session.finish();
    assert_eq!(trace.entries[0].outcome, Outcome::Unfinished);
    assert_eq!(trace.entries[1].parent, Some(0), "the two are one system");
}

#[test]
fn past_the_memory_limit_ops_are_dropped_and_counted() {
    let _turn = turn();
    let session = Session::builder().memory_limit(64 << 10).start().unwrap();
    for _ in 0..10_000 {
        leaf(&[1.0]);
    }
    let store = session.finish_store();
    let dropped: usize = store.metadata()["dropped"].parse().unwrap();
    assert!(dropped > 1000 && !store.is_empty());
    assert_eq!(store.len() + dropped, 10_000);
    assert!(store.heap_bytes() <= 80 << 10, "{}", store.heap_bytes());
}

#[test]
fn sampling_keeps_the_first_of_each_n_and_counts_the_rest() {
    let _turn = turn();
    let session = Session::builder().sample(10).start().unwrap();
    for _ in 0..95 {
        leaf(&[1.0]);
    }
    let trace = session.finish();
    assert_eq!(trace.step_count(), 10);
    assert_eq!(trace.metadata["sampled_out"], "85");
}

#[test]
fn async_ops_are_sampled_as_others_are() {
    #[traced_op]
    async fn later(x: &[f32]) -> f32 {
        leaf(x)
    }
    let _turn = turn();
    let session = Session::builder().sample(4).start().unwrap();
    for _ in 0..12 {
        let future = std::pin::pin!(later(&[1.0]));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(future.poll(&mut context).is_ready());
    }
    let trace = session.finish();
    assert_eq!((count(&trace, "later"), count(&trace, "leaf")), (3, 3));
    assert_eq!(trace.metadata["sampled_out"], "18");
}

#[test]
fn a_schedule_keeps_only_its_active_steps() {
    let _turn = turn();
    let schedule = Schedule::new().wait(1).warm_up(1).active(2).repeat(2);
    let mut session = Session::builder().schedule(schedule).start().unwrap();
    for step in 0..12 {
        leaf(&vec![0.0; step]);
        session.step();
    }
    let trace = session.finish();
    let steps: Vec<_> = trace
        .entries
        .iter()
        .map(|entry| entry.input_shapes[0][0])
        .collect();
    assert_eq!(steps, [2, 3, 6, 7]);
}

#[test]
fn a_paused_session_records_nothing_until_it_is_resumed() {
    let _turn = turn();
    let mut session = Session::start().unwrap();
    leaf(&[1.0]);
    session.pause();
    assert!(!session.is_active());
    leaf(&[1.0, 2.0]);
    std::thread::spawn(|| leaf(&[1.0, 2.0])).join().unwrap();
    session.step();
    session.resume();
    assert!(session.is_active());
    leaf(&[1.0, 2.0, 3.0]);
    let trace = session.finish();
    let lens: Vec<_> = trace
        .entries
        .iter()
        .map(|entry| entry.input_shapes[0][0])
        .collect();
    assert_eq!(lens, [1, 3]);
    assert_eq!(trace.metadata["dropped"], "0");
}

#[test]
fn a_filter_leaves_ops_out_by_name() {
    let _turn = turn();
    let record = |filter| {
        let session = Session::builder().filter(filter).start().unwrap();
        twice(&[1.0]);
        let trace = session.finish();
        assert_eq!(trace.metadata["dropped"], "0");
        let names = trace.entries.iter().map(|entry| entry.operation.clone());
        let parents: Vec<_> = trace.entries.iter().map(|entry| entry.parent).collect();
        (names.collect::<Vec<_>>(), parents)
    };
    let all = ["twice", "leaf", "leaf"].map(str::to_owned).to_vec();
    assert_eq!(
        record(Filter::new()),
        (all.clone(), vec![None, Some(0), Some(0)])
    );
    assert_eq!(
        record(Filter::new().only("lea*")),
        (all[1..].to_vec(), vec![None, None])
    );
    assert_eq!(
        record(Filter::new().without("*e")),
        (all[1..].to_vec(), vec![None, None])
    );
    assert_eq!(
        record(Filter::new().only("twice").only("other")).0,
        all[..1]
    );
}

#[test]
fn a_filter_leaves_out_what_is_too_short_and_counts_it() {
    #[traced_op]
    fn wait(ms: u64) {
        std::thread::sleep(std::time::Duration::from_millis(ms));
        leaf(&[1.0]);
    }
    let _turn = turn();
    let minimum = std::time::Duration::from_millis(20);
    let session = Session::builder()
        .filter(Filter::new().min_duration(minimum))
        .start()
        .unwrap();
    for ms in [0, 30, 0] {
        wait(ms);
    }
    let trace = session.finish();
    assert_eq!(trace.step_count(), 1);
    assert!(trace.entries[0].duration_us >= 20_000.0);
    assert_eq!(trace.metadata["filtered_out"], "5");
    assert_eq!(trace.metadata["dropped"], "0");
}

#[test]
fn one_thread_can_be_recorded_alone() {
    let _turn = turn();
    let session = Session::builder().this_thread_only().start().unwrap();
    std::thread::spawn(|| leaf(&[1.0])).join().unwrap();
    twice(&[1.0]);
    assert_eq!(session.finish().step_count(), 3);
}

#[test]
fn a_snapshot_shows_what_is_there_and_recording_goes_on() {
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

#[test]
fn a_dropped_session_still_writes_its_file() {
    let _turn = turn();
    let path = std::env::temp_dir().join(format!("trace-{}-{{rank}}.json", std::process::id()));
    let session = Session::builder().rank(3).output(&path).start().unwrap();
    leaf(&[1.0]);
    drop(session);
    let written = path.to_str().unwrap().replace("{rank}", "3");
    let trace = RecordedExecutionTrace::read(&written).unwrap();
    std::fs::remove_file(written).unwrap();
    assert_eq!(trace.entries[0].operation, "leaf");
    Session::start().unwrap().finish();
}

#[test]
fn an_output_is_checked_when_the_session_starts() {
    let _turn = turn();
    for (path, reason) in [
        (
            "/nowhere/at/all.json",
            "there is no directory `/nowhere/at`; create it first",
        ),
        (
            "trace.xlsx",
            "use one of `.speedscope.json`, `.chrome.json`",
        ),
    ] {
        let error = Session::builder().output(path).start().unwrap_err();
        assert_eq!(error.kind(), SessionErrorKind::Output);
        assert!(error.to_string().contains(reason), "{error}");
    }
    Session::start().unwrap().finish();
}

/// A directory for one test.
fn directory(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("trace-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn the_ending_of_the_output_picks_the_format() {
    let _turn = turn();
    let directory = directory("endings");
    for (name, begins_with) in [
        ("t.json", &b"{\n  \"schema_version\""[..]),
        ("t.chrome.json", b"{"),
        ("t.collapsed", b"trace;cpu;leaf "),
        ("t.csv", b"op"),
        ("t.pftrace", b"\x0a"),
    ] {
        let path = directory.join(name);
        let session = Session::builder().output(&path).start().unwrap();
        leaf(&[1.0]);
        assert_eq!(session.try_finish().unwrap().len(), 1);
        let written = std::fs::read(&path).unwrap();
        assert!(
            written.starts_with(begins_with),
            "{name}: {}",
            written.escape_ascii()
        );
        if name.ends_with("json") {
            assert_eq!(read::open(&path).unwrap().len(), 1, "{name}");
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_write_that_fails_is_returned_with_the_trace() {
    let _turn = turn();
    let directory = directory("lost");
    let path = directory.join("t.json");
    let start = || {
        std::fs::create_dir_all(&directory).unwrap();
        let session = Session::builder().output(&path).start().unwrap();
        leaf(&[1.0]);
        std::fs::remove_dir_all(&directory).unwrap();
        session
    };
    let error = start().try_finish().unwrap_err();
    assert_eq!(error.kind(), SessionErrorKind::Write);
    let expected = format!("{}: cannot be written: ", path.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert_eq!(error.into_trace().unwrap().len(), 1, "nothing is lost");

    let trace = start().finish();
    assert!(trace.metadata["write_error"].starts_with(&expected));
    assert_eq!(trace.step_count(), 1);
}

/// The program of the tests below: run by them, with variables of their choice.
#[test]
#[ignore = "run by other tests"]
fn program_with_a_session_from_the_environment() {
    let session = Session::from_env().unwrap_or_else(|error| panic!("{error}"));
    leaf(&[1.0]);
    if let Some(directory) = std::env::var_os("REMOVE") {
        std::fs::remove_dir_all(directory).unwrap();
    }
    drop(session);
}

/// Runs it, and returns whether it succeeded and its standard error.
fn program(variables: &[(&str, &std::ffi::OsStr)]) -> (bool, String) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture"])
        .arg("program_with_a_session_from_the_environment")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), errors)
}

#[test]
fn the_environment_starts_a_session_and_a_failed_write_is_one_line() {
    let directory = directory("environment");
    let path = directory.join("t-{rank}.json");
    let output = ("OPTRACE", path.as_os_str());
    let rank = ("RANK", "2".as_ref());
    assert_eq!(program(&[output, rank]), (true, String::new()));
    let trace = read::open(directory.join("t-2.json")).unwrap();
    assert_eq!(trace.view(0).rank(), Some(2));

    let (ok, errors) = program(&[output, ("REMOVE", directory.as_os_str())]);
    assert!(ok, "a program does not fail because of its trace");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(
        errors.starts_with("the recorded trace is lost: "),
        "{errors}"
    );
}

#[test]
fn variables_that_cannot_be_used_stop_the_start() {
    let (ok, errors) = program(&[("OPTRACE", "t.json".as_ref()), ("RANK", "one".as_ref())]);
    assert!(
        !ok && errors.contains("`RANK` is `one`; expected "),
        "{errors}"
    );
    #[cfg(unix)]
    {
        let not_utf_8 = std::os::unix::ffi::OsStrExt::from_bytes(b"t\xff.json");
        let (ok, errors) = program(&[("OPTRACE", not_utf_8)]);
        assert!(
            !ok && errors.contains("expected text that is valid UTF-8"),
            "{errors}"
        );
    }
}

#[test]
fn a_handle_carries_the_parent_to_other_threads() {
    #[traced_op]
    fn layer() {
        let here = current_op();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let here = here.clone();
                scope.spawn(move || in_op(&here, || twice(&[1.0])));
            }
        });
        leaf(&[2.0]);
    }
    let _turn = turn();
    let session = Session::start().unwrap();
    layer();
    let trace = session.finish();
    let by_name = |name| {
        trace
            .entries
            .iter()
            .filter(move |entry| entry.operation == name)
    };
    assert_eq!(by_name("twice").count(), 3);
    let layer = by_name("layer").next().unwrap();
    for entry in by_name("twice") {
        assert_eq!(entry.parent, Some(layer.step));
        assert_ne!(entry.thread, layer.thread);
    }
    assert_eq!(
        by_name("leaf")
            .filter(|leaf| leaf.parent == Some(layer.step))
            .count(),
        1
    );
}

#[test]
fn an_empty_handle_changes_nothing() {
    let _turn = turn();
    let nothing = current_op();
    let (sum, trace) = record(|| in_op(&nothing, || leaf(&[1.0])));
    assert_eq!((sum, trace.entries[0].parent), (1.0, None));
}

#[test]
fn record_is_independent_of_a_session_around_it() {
    let _turn = turn();
    let session = Session::start().unwrap();
    let ((), inner) = record(|| {
        twice(&[1.0]);
    });
    leaf(&[1.0]);
    let outer = session.finish();
    assert_eq!((inner.step_count(), outer.step_count()), (3, 1));
}

#[test]
fn record_ends_even_when_its_body_panics() {
    let _turn = turn();
    let panicked = std::panic::catch_unwind(|| record(|| panic!("on purpose")));
    assert!(panicked.is_err());
    assert!(with_recorder(|_| ()).is_none());
    let (_, trace) = record(|| leaf(&[1.0]));
    assert_eq!(trace.step_count(), 1);
}

#[test]
fn without_a_recording_there_is_no_recorder_to_reach() {
    let _turn = turn();
    assert!(with_recorder(|recorder| recorder.begin_op("nowhere")).is_none());
}

//! `top` and `report --follow` on a recording of this process.

#![cfg(unix)]

mod process;

use process::{Folder, optrace, torch_trace};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trace_runtime::{Session, TraceRecorder, with_recorder};

/// A session that streams to a file. There is one at a time.
struct Recording {
    folder: Folder,
    session: Option<Session>,
    _turn: MutexGuard<'static, ()>,
}

impl Recording {
    fn start() -> Recording {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Folder::new();
        let path = folder.path().join("run.optrace");
        let session = Session::builder().stream_to(path).stream_buffer(1 << 20);
        Recording {
            session: Some(session.start().expect("a session")),
            folder,
            _turn: turn,
        }
    }

    fn path(&self) -> String {
        let path = self.folder.path().join("run.optrace");
        path.to_str().expect("a path in UTF-8").to_owned()
    }
}

fn ops(count: usize) {
    for _ in 0..count {
        with_recorder(|recorder| recorder.begin_op("matmul"));
        with_recorder(TraceRecorder::end_op);
    }
}

#[test]
fn top_prints_its_table_once_for_a_file_and_for_a_process() {
    let recording = Recording::start();
    ops(700);
    let pid = std::process::id().to_string();
    for name in [recording.path(), pid.clone()] {
        let text = optrace(&["top", &name, "--once", "--every", "0.1"]).fine();
        assert!(text.starts_with(&format!("process {pid}, ")), "{text}");
        assert!(
            text.contains("700 ops") && text.contains("recording"),
            "{text}"
        );
        assert!(
            text.contains("calls/s") && text.contains("matmul"),
            "{text}"
        );
    }
    let csv = optrace(&["top", &pid, "--once", "--every", "0.1", "--format", "csv"]).fine();
    assert!(
        csv.starts_with("operation,calls,calls_per_s,busy,"),
        "{csv}"
    );
    assert!(csv.contains("\nmatmul,700,"), "{csv}");
    let json = optrace(&["top", &pid, "--once", "--every", "0.1", "--format", "json"]).fine();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["ops"][0]["calls"], 700);
    assert_eq!(json["finished"], false);
}

#[test]
fn top_shows_what_threads_are_in() {
    let recording = Recording::start();
    ops(1);
    with_recorder(|recorder| recorder.begin_op("attention"));
    let text = optrace(&["top", &recording.path(), "--once", "--every", "0.1"]).fine();
    with_recorder(TraceRecorder::end_op);
    assert!(
        text.contains("now running") && text.contains("attention"),
        "{text}"
    );
}

#[test]
fn a_finished_recording_is_shown_at_once() {
    let mut recording = Recording::start();
    ops(50);
    drop(recording.session.take());
    let start = Instant::now();
    let text = optrace(&["top", &recording.path(), "--once", "--every", "600"]).fine();
    assert!(
        text.contains("50 ops") && text.contains("finished"),
        "{text}"
    );
    assert!(start.elapsed() < Duration::from_secs(300));
}

#[test]
fn mistakes_get_an_error_that_helps() {
    let folder = Folder::new();
    let other = folder.file("t.json", torch_trace(1));
    for (args, expected) in [
        (
            &["top", other.as_str()][..],
            "needs a terminal; `--once` prints",
        ),
        (
            &["top", &other, "--once"],
            "is not a recording that can be followed",
        ),
        (&["top", "missing.optrace", "--once"], "no such file"),
        (
            &["report", &other, "--follow"],
            "is not a recording that can be followed",
        ),
    ] {
        let error = optrace(args).failed();
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    for args in [
        &["top", "x", "--sort", "speed"][..],
        &["top", "x", "--every", "0"],
        &["report", "x", "--follow=never"],
    ] {
        let ended = optrace(args);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{args:?}");
        assert!(ended.err.contains("expected "), "{args:?}: {}", ended.err);
    }
}

#[test]
fn a_report_follows_until_the_recording_is_finished() {
    let mut recording = Recording::start();
    ops(300);
    let child = Command::new(env!("CARGO_BIN_EXE_optrace"))
        .args(["report", &recording.path(), "--follow=0.1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // Long enough for several reports, even on a slow machine.
    std::thread::sleep(Duration::from_secs(2));
    ops(100);
    drop(recording.session.take());
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("300 ops") && text.contains("recording"),
        "{text}"
    );
    let last = text.rfind("matmul").expect("a report");
    assert!(
        text[..last].contains("matmul"),
        "more than one report: {text}"
    );
    assert!(!text.contains('\u{1b}'), "{text}");
}

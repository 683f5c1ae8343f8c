//! The file that a session writes.

use crate::{directory, leaf, turn};
use trace_runtime::{RecordedExecutionTrace, Session, SessionErrorKind, read};

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

//! A flight recorder keeps the last ops in fixed memory and dumps them while it keeps recording; a split recording
//! keeps the last files.

#![cfg(all(unix, feature = "enabled"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trace_runtime::model::wire::metadata as keys;
use trace_runtime::{Session, SessionErrorKind, TraceStore, TraceView, read, traced_op};

/// Sessions do not nest.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[traced_op]
fn fast(x: &[f32]) -> f32 {
    x.iter().sum()
}

#[traced_op]
fn slow(x: &[f32]) -> f32 {
    std::thread::sleep(Duration::from_millis(30));
    x.iter().sum()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("flight-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn run(ops: usize) {
    for op in 0..ops {
        fast(&[1.0; 4][..op % 4]);
    }
}

fn count(trace: &TraceStore, key: &str) -> usize {
    trace
        .metadata()
        .get(key)
        .map_or(0, |count| count.parse().expect("a number"))
}

/// Waits until another thread has written a file.
fn wait_for(path: &Path) -> TraceStore {
    let began = Instant::now();
    loop {
        match read::open(path) {
            Ok(trace) => return trace,
            Err(error) if began.elapsed() > Duration::from_secs(30) => panic!("{error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

#[test]
fn the_last_ops_are_kept_and_the_others_counted() {
    const OPS: usize = 200_000;
    let _alone = alone();
    let folder = Folder::new("bytes");
    let session = Session::builder()
        .keep_last(1 << 20)
        .start()
        .expect("a session");
    run(OPS);
    let path = folder.file("dump.optrace");
    session.dump(&path).expect("dumped");
    let kept = read::open(&path).expect("a trace");
    assert_eq!(kept.len() + count(&kept, keys::REPLACED), OPS);
    assert_eq!(count(&kept, keys::DROPPED), 0);
    assert!((20_000..45_000).contains(&kept.len()), "{}", kept.len());
    let last = kept.view(kept.len() - 1);
    assert_eq!(
        last.inputs().next().expect("an input").dims,
        [(OPS - 1) % 4]
    );

    // Recording continues, and a dump can have any format.
    slow(&[1.0]);
    session.dump(folder.file("dump.json")).expect("dumped");
    let json = read::open(folder.file("dump.json")).expect("a trace");
    assert_eq!(json.view(json.len() - 1).operation(), "slow");
    let trace = session.finish_store();
    assert_eq!(trace.len() + count(&trace, keys::REPLACED), OPS + 1);
}

#[test]
fn ops_older_than_a_duration_are_not_dumped() {
    let _alone = alone();
    let session = Session::builder()
        .keep_last(Duration::from_millis(400))
        .start()
        .expect("a session");
    run(1000);
    std::thread::sleep(Duration::from_millis(600));
    slow(&[1.0]);
    let names: Vec<String> = session
        .snapshot()
        .views()
        .map(|view| view.operation().to_owned())
        .collect();
    assert_eq!(names, ["slow"]);
    drop(session);
}

#[test]
fn a_kept_recording_in_a_file_outlives_the_session_and_stays_small() {
    let _alone = alone();
    let folder = Folder::new("file");
    let path = folder.file("box.optrace");
    let session = Session::builder()
        .stream_to(&path)
        .keep_last(1 << 20)
        .start()
        .expect("a session");
    run(200_000);
    // A copy of the file as it would be after a crash.
    let crashed = folder.file("crashed.optrace");
    fs::copy(&path, &crashed).expect("copied");
    let kept = read::open(&crashed).expect("a trace");
    assert_eq!(kept.len() + count(&kept, keys::REPLACED), 200_000);
    assert_eq!(kept.metadata()[keys::UNFINISHED], "true");
    assert!(fs::metadata(&crashed).expect("a file").len() < 4 << 20);
    drop(session);
    let finished = read::open(&path).expect("a trace");
    assert_eq!(finished.len(), kept.len());
    assert!(fs::metadata(&path).expect("a file").len() < 1 << 20);
}

#[test]
fn a_slow_op_a_panic_and_a_signal_dump() {
    let _alone = alone();
    let folder = Folder::new("triggers");
    let session = Session::builder()
        .keep_last(4 << 20)
        .dump_to(folder.file("dump-{n}.optrace"))
        .dump_if_slower("slow", Duration::from_millis(10))
        .dump_on_panic()
        .dump_on_signal()
        .start()
        .expect("a session");
    run(1000);
    std::thread::sleep(Duration::from_millis(100));
    assert!(
        !folder.file("dump-1.optrace").exists(),
        "`fast` is not slow"
    );
    slow(&[1.0]);
    let trace = wait_for(&folder.file("dump-1.optrace"));
    assert_eq!(
        trace
            .views()
            .filter(|view| view.operation() == "slow")
            .count(),
        1
    );

    let panicked = std::thread::spawn(|| panic!("expected by the test")).join();
    assert!(panicked.is_err());
    assert_eq!(wait_for(&folder.file("dump-2.optrace")).len(), 1001);

    let pid = std::process::id().to_string();
    let sent = Command::new("kill")
        .args(["-USR1", &pid])
        .status()
        .expect("`kill` runs");
    assert!(sent.success());
    assert_eq!(wait_for(&folder.file("dump-3.optrace")).len(), 1001);
    drop(session);
}

#[test]
fn settings_that_do_not_fit_together_are_refused() {
    let _alone = alone();
    for (builder, part) in [
        (
            Session::builder().keep_last(1 << 20).dump_on_panic(),
            "`dump_to`",
        ),
        (
            Session::builder().dump_to("x.optrace").dump_on_panic(),
            "`keep_last`",
        ),
        (Session::builder().rotate(1 << 20, 3), "`stream_to`"),
    ] {
        let error = builder.start().expect_err("refused");
        assert_eq!(error.kind(), SessionErrorKind::Output);
        assert!(error.to_string().contains(part), "{error}");
    }
    Session::start().expect("the claim was given back").finish();
}

#[test]
fn a_split_recording_keeps_its_last_files_and_is_read_as_one() {
    const ROUNDS: usize = 60;
    let _alone = alone();
    let folder = Folder::new("rotate");
    let path = folder.file("run.optrace");
    let session = Session::builder()
        .stream_to(&path)
        .stream_buffer(1 << 20)
        .rotate(100_000, 3)
        .metadata("model", "tiny")
        .start()
        .expect("a session");
    for _ in 0..ROUNDS {
        run(5_000);
        // Gives the writer time: otherwise ops would be dropped, which another test checks.
        std::thread::sleep(Duration::from_millis(12));
    }
    let live = read::open(&path).expect("a trace");
    let counted = |trace: &TraceStore| {
        trace.len() + count(trace, keys::REPLACED) + count(trace, keys::DROPPED)
    };
    assert_eq!(counted(&live), ROUNDS * 5_000);
    drop(session);
    let trace = read::open(&path).expect("a trace");
    assert_eq!(counted(&trace), ROUNDS * 5_000);
    assert!(count(&trace, keys::REPLACED) > 0, "no file was removed");
    let mut parts: Vec<PathBuf> = fs::read_dir(&folder.0)
        .expect("a folder")
        .map(|file| file.expect("a file").path())
        .filter(|file| *file != path)
        .collect();
    parts.sort();
    assert_eq!(parts.len(), 3, "{parts:?}");
    let mut rows = 0;
    for part in &parts {
        let alone = read::open(part).expect("a part on its own");
        assert_eq!(alone.metadata()["model"], "tiny");
        assert_eq!(alone.view(0).operation(), "fast");
        rows += alone.len();
    }
    assert_eq!(rows, trace.len());
}

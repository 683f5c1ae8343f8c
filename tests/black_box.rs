//! A recording in a file has every op that ended, even if the process was killed.
//!
//! Each test starts this program again as a child. The child counts the ops that have ended in separate files, after
//! each op, and the test compares the recording with these counts.

#![cfg(all(unix, feature = "enabled"))]

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trace_runtime::model::wire::metadata as keys;
use trace_runtime::{Outcome, Session, SessionErrorKind, TraceView, read, traced_op};

const THREADS: usize = 2;
const SHAPES: usize = 7;

#[traced_op]
fn inner(x: &[f32]) -> f32 {
    std::hint::black_box(x).iter().sum()
}

#[traced_op]
fn outer(x: &[f32]) -> Vec<f32> {
    vec![inner(x); x.len()]
}

/// The body of the child: `BLACK_BOX` has the folder and the way in which the child ends.
#[test]
#[ignore = "started by the other tests as a child process"]
fn child() {
    let Ok(setting) = std::env::var("BLACK_BOX") else {
        return;
    };
    let (end, folder) = setting.split_once(':').expect("`end:folder`");
    let folder = PathBuf::from(folder);
    let session = Session::builder()
        .stream_to(folder.join("run.optrace"))
        .metadata("model", "tiny")
        .start()
        .expect("the recording starts");
    if end == "stuck" {
        block(&folder, &[1.0; 3]);
    }
    // In these cases the session is dropped: what other threads do after that is not recorded.
    let ends = matches!(end, "panic" | "finish");
    let threads: Vec<_> = (1..THREADS)
        .map(|thread| {
            let folder = folder.clone();
            std::thread::spawn(move || work(&folder, thread, if ends { 10_000 } else { u64::MAX }))
        })
        .collect();
    work(&folder, 0, if end == "kill" { u64::MAX } else { 20_000 });
    if ends {
        for thread in threads {
            thread.join().expect("no panic");
        }
    }
    match end {
        "abort" => std::process::abort(),
        "exit" => std::process::exit(7),
        "overflow" => drop(std::hint::black_box(overflow(1))),
        "panic" => std::panic::resume_unwind(Box::new(())),
        "sigterm" => drop(
            Command::new("kill")
                .arg(std::process::id().to_string())
                .status(),
        ),
        "forget" => std::mem::forget(session),
        _ => {}
    }
    if end == "sigterm" {
        std::thread::sleep(Duration::from_secs(60));
    }
}

#[allow(unconditional_recursion, reason = "it is to overflow the stack")]
fn overflow(depth: u64) -> u64 {
    let page = std::hint::black_box([depth; 512]);
    page[3] + overflow(depth + 1)
}

#[traced_op]
fn matmul(a: &[[f32; 32]; 64], b: &[[f32; 16]; 32]) -> f32 {
    std::thread::sleep(Duration::from_secs(120));
    a[0][0] + b[0][0]
}

#[traced_op]
fn mlp(folder: &Path, x: &[f32]) -> f32 {
    fs::write(folder.join("inside"), "").expect("a file");
    x[0] + matmul(&[[1.0; 32]; 64], &[[1.0; 16]; 32])
}

#[traced_op]
fn block(folder: &Path, x: &[f32]) -> f32 {
    inner(x) + mlp(folder, x)
}

/// Runs ops. The number of ops that have ended is written to a file, because a file survives a crash.
fn work(folder: &Path, thread: usize, ops: u64) {
    let count = File::create(folder.join(format!("ended-{thread}"))).expect("a count");
    let data = [1.0; SHAPES];
    for op in 0..ops {
        outer(&data[..=op as usize % SHAPES]);
        count
            .write_all_at(&(op + 1).to_le_bytes(), 0)
            .expect("counted");
    }
}

fn ended(folder: &Path, thread: usize) -> u64 {
    let bytes = fs::read(folder.join(format!("ended-{thread}"))).unwrap_or_default();
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn start(end: &str, folder: &Path) -> Child {
    fs::create_dir_all(folder).expect("a folder");
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("BLACK_BOX", format!("{end}:{}", folder.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("black-box-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    folder
}

/// Checks that the recording has all ops that ended and at most one more of each thread, each with its shapes.
fn check(folder: &Path, what: &str) -> u64 {
    let trace = read::open(folder.join("run.optrace")).expect(what);
    assert_eq!(trace.metadata()["model"], "tiny");
    assert_eq!(trace.metadata()[keys::DROPPED], "0", "{what}");
    assert!(!trace.metadata().contains_key(keys::READ_DAMAGED), "{what}");
    assert!(
        !trace.metadata().contains_key(keys::READ_TRUNCATED_AT),
        "{what}"
    );
    let mut recorded = Vec::new();
    let mut threads: Vec<Option<u64>> = trace.views().map(|view| view.thread()).collect();
    threads.sort_unstable();
    threads.dedup();
    for thread in threads {
        let mut count = 0;
        for view in trace.views().filter(|view| view.thread() == thread) {
            let shape = [count as usize % SHAPES + 1];
            if view.outcome() == Outcome::Unfinished {
                let input = view.inputs().next().expect("an input");
                assert!((1..=SHAPES).contains(&input.dims[0]), "{what}");
                assert_eq!(view.outputs().count(), 0, "{what}");
                continue;
            }
            if view.operation() == "outer" {
                assert_eq!(
                    view.inputs().next().expect("an input").dims,
                    shape,
                    "{what}"
                );
                assert_eq!(
                    view.outputs().next().expect("an output").dims,
                    shape,
                    "{what}"
                );
                count += 1;
            } else if let Some(parent) = view.parent() {
                assert_eq!(trace.view(parent).operation(), "outer", "{what}");
            }
        }
        recorded.push(count);
    }
    recorded.sort_unstable();
    let mut counted: Vec<u64> = (0..THREADS).map(|thread| ended(folder, thread)).collect();
    counted.sort_unstable();
    // A thread that has not begun has no rows.
    recorded.splice(0..0, vec![0; THREADS.saturating_sub(recorded.len())]);
    for (recorded, counted) in recorded.iter().zip(&counted) {
        assert!(
            (*counted..=counted + 1).contains(recorded),
            "{what}: {counted} ops ended and {recorded} are recorded"
        );
    }
    counted.iter().sum()
}

#[test]
fn every_op_that_ended_is_recorded_after_kill_9_at_any_moment() {
    let kills = std::env::var("BLACK_BOX_KILLS").map_or(25, |kills| kills.parse().unwrap());
    let folder = folder("kill");
    let mut ops = 0;
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    for kill in 0..kills {
        drop(fs::remove_dir_all(&folder));
        let mut child = start("kill", &folder);
        let began = Instant::now();
        while ended(&folder, 0) == 0 && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(11);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 40_000));
        child.kill().expect("killed");
        child.wait().expect("gone");
        let counted = check(&folder, &format!("kill {kill}"));
        assert!(counted > 0);
        ops += counted;
    }
    eprintln!("{kills} kills, {ops} ops ended, all of them recorded");
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn every_op_that_ended_is_recorded_however_the_program_ends() {
    for (end, signal) in [
        ("abort", Some(6)),
        ("exit", None),
        ("overflow", Some(6)),
        ("panic", None),
        ("sigterm", Some(15)),
        ("forget", None),
    ] {
        let folder = folder(end);
        let status = start(end, &folder).wait().expect("gone");
        assert_eq!(status.signal(), signal, "{end}: {status}");
        assert!(check(&folder, end) > 20_000, "{end}");
        fs::remove_dir_all(&folder).expect("removed");
    }
}

#[test]
fn the_report_of_a_killed_program_leads_with_the_ops_it_was_in() {
    let folder = folder("stuck");
    let mut child = start("stuck", &folder);
    let began = Instant::now();
    while !folder.join("inside").exists() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(300));
    child.kill().expect("killed");
    child.wait().expect("gone");
    let trace = read::open(folder.join("run.optrace")).expect("a trace");
    let ops: Vec<(String, Outcome)> = trace
        .views()
        .map(|view| (view.operation().to_owned(), view.outcome()))
        .collect();
    let open = |name: &str| (name.to_owned(), Outcome::Unfinished);
    let inner = ("inner".to_owned(), Outcome::Ok);
    assert_eq!(ops, [open("block"), inner, open("mlp"), open("matmul")]);
    let answer = trace.report().answer;
    assert!(
        answer.contains("was in `matmul [64×32]·[32×16]` for "),
        "{answer}"
    );
    assert!(
        answer.contains(", called by `mlp` in `block`. "),
        "{answer}"
    );
    let open_ms = trace.view(3).duration_ns() / 1_000_000;
    assert!((200..60_000).contains(&open_ms), "{open_ms}");
    fs::remove_dir_all(&folder).expect("removed");
}

/// A small disk. Only a user who may mount file systems can make one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(name: &str, size: &str) -> Option<SmallDisk> {
        let folder = folder(name);
        fs::create_dir_all(&folder).expect("a folder");
        let size = format!("size={size}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&folder)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(SmallDisk(folder));
        }
        eprintln!("skipped: this user cannot mount a small disk");
        fs::remove_dir_all(&folder).expect("removed");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // With `-l`, because the thread of the test has the ring mapped until it ends.
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
        drop(fs::remove_dir(&self.0));
    }
}

#[test]
fn a_full_disk_is_an_error_at_the_start_or_counted_ops_later() {
    const OPS: usize = 400_000;
    let Some(disk) = SmallDisk::new("full", "4m") else {
        return;
    };
    let path = disk.0.join("run.optrace");
    let error = Session::builder()
        .stream_to(&path)
        .start()
        .expect_err("no room");
    assert_eq!(error.kind(), SessionErrorKind::Output);
    assert_eq!(fs::read_dir(&disk.0).expect("a folder").count(), 0);

    let session = Session::builder()
        .stream_to(&path)
        .stream_buffer(1 << 20)
        .start()
        .expect("room for a small ring");
    for op in 0..OPS {
        inner(&[1.0; SHAPES][..=op % SHAPES]);
        if op % 10_000 == 0 {
            // Gives the writer time to fill the disk.
            std::thread::sleep(Duration::from_millis(15));
        }
    }
    let error = session.try_finish().expect_err("the disk is full");
    assert_eq!(error.kind(), SessionErrorKind::Write);
    let recorded = read::open(&path).expect("a trace");
    let dropped: usize = recorded.metadata()[keys::DROPPED]
        .parse()
        .expect("a number");
    assert!(dropped > 0, "the disk was not full");
    assert_eq!(recorded.len() + dropped, OPS);
    eprintln!(
        "{OPS} ops ended, {} recorded, {dropped} counted",
        recorded.len()
    );
}

#[test]
fn a_finished_recording_is_whole_and_small() {
    let folder = folder("finished");
    assert!(start("finish", &folder).wait().expect("gone").success());
    let path = folder.join("run.optrace");
    let ended = check(&folder, "finish");
    let trace = read::open(&path).expect("a trace");
    assert!(!trace.metadata().contains_key(keys::UNFINISHED));
    let bytes = fs::metadata(&path).expect("a file").len();
    let per_op = bytes as f64 / trace.len() as f64;
    eprintln!(
        "{ended} pairs, {} ops, {per_op:.1} bytes per op",
        trace.len()
    );
    assert!(per_op < 16.0, "{per_op}");
    fs::remove_dir_all(&folder).expect("removed");
}

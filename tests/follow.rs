//! A recording that is followed while it is written has the same figures as the trace that is read at its end.

#![cfg(all(unix, feature = "enabled"))]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trace_runtime::analyze::by_op;
use trace_runtime::read::{FollowState, Follower, LiveOp};
use trace_runtime::{
    Outcome, Session, SessionBuilder, TraceErrorKind, TraceStore, TraceView, read, traced_op,
};

#[traced_op]
fn leaf(x: &[f32]) -> f32 {
    std::hint::black_box(x).iter().sum()
}

#[traced_op]
fn recursive(x: &[f32], depth: usize) -> f32 {
    if depth == 0 {
        return leaf(x);
    }
    recursive(x, depth - 1) + leaf(x)
}

#[traced_op(meta(batch = x.len()))]
fn with_meta(x: &[f32]) -> f32 {
    recursive(x, x.len() % 4)
}

#[traced_op(sync = std::thread::sleep(Duration::from_micros(50)))]
fn waits(x: &[f32]) -> f32 {
    leaf(x)
}

fn work(op: usize) {
    let data = [1.0; 9];
    with_meta(&data[..=op % 9]);
    if op.is_multiple_of(100) {
        waits(&data);
    }
}

/// A session that streams to its own file. There is one at a time.
struct Recording {
    folder: PathBuf,
    path: PathBuf,
    session: Option<Session>,
    _turn: MutexGuard<'static, ()>,
}

impl Recording {
    fn start(name: &str, settings: impl FnOnce(SessionBuilder) -> SessionBuilder) -> Recording {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = std::env::temp_dir().join(format!("follow-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("run.optrace");
        let builder = Session::builder().stream_to(&path).stream_buffer(2 << 20);
        let session = settings(builder).start().expect("a session");
        Recording {
            folder,
            path,
            session: Some(session),
            _turn: turn,
        }
    }

    fn finish(&mut self) -> TraceStore {
        self.session.take().expect("running").finish_store()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        drop(self.session.take());
        drop(fs::remove_dir_all(&self.folder));
    }
}

fn update_to_the_end(follower: &mut Follower) -> FollowState {
    loop {
        match follower.update().expect("it is read") {
            FollowState::Behind(bytes) => assert!(bytes > 0),
            state => return state,
        }
    }
}

/// Calls, total, self, and the longest call of each op.
type Figures = BTreeMap<String, [u64; 4]>;

fn figures(ops: &[LiveOp]) -> Figures {
    ops.iter()
        .map(|op| {
            let figures = [op.calls, op.total_ns, op.self_ns, op.max_ns];
            (op.operation.clone(), figures)
        })
        .collect()
}

fn figures_of(trace: &TraceStore) -> Figures {
    by_op(trace)
        .into_iter()
        .map(|row| {
            let figures = [row.count as u64, row.total_ns, row.self_ns, row.max_ns];
            (row.operation, figures)
        })
        .collect()
}

/// Counts to the end when it is dropped.
struct CountAll<'a>(&'a AtomicUsize, usize);

impl Drop for CountAll<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(self.1, Ordering::Relaxed);
    }
}

/// Follows while several threads record, and compares at the end.
fn followed_while_recording(mut recording: Recording, mut look: impl FnMut()) {
    const UPDATES: usize = 10;
    const OPS_PER_UPDATE: usize = 400;
    const OPS: usize = UPDATES * OPS_PER_UPDATE;
    let mut follower = Follower::open(&recording.path).expect("a recording");
    let updates = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for op in 0..OPS {
                    work(op);
                    // The threads wait for the follower: the ring is small, and a reader without optimisation is slow.
                    while op / OPS_PER_UPDATE > updates.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                }
            });
        }
        let mut ended = 0;
        // Counts even after a panic, because the other threads wait for it.
        let _count = CountAll(&updates, UPDATES);
        for _ in 0..UPDATES {
            follower.update().expect("it is read");
            assert!(follower.ended() >= ended);
            ended = follower.ended();
            look();
            updates.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    assert_eq!(update_to_the_end(&mut follower), FollowState::UpToDate);
    let before = (follower.ended(), figures(&follower.ops()));
    let trace = recording.finish();
    assert_eq!(update_to_the_end(&mut follower), FollowState::Finished);
    assert_eq!((follower.ended(), figures(&follower.ops())), before);
    assert_eq!(follower.ended(), trace.len() as u64);
    let dropped = trace.metadata()["dropped"].parse();
    assert_eq!(Ok(follower.dropped()), dropped);
    assert_eq!(figures(&follower.ops()), figures_of(&trace));
    assert!(follower.open_threads().is_empty());
    let waiting = |name: &str| {
        let op = follower.ops().into_iter().find(|op| op.operation == name);
        op.expect("an op").waiting_ns
    };
    assert!(waiting("waits") >= 3 * (OPS as u64 / 100) * 50_000);
    assert_eq!(waiting("leaf"), 0);
}

#[test]
fn figures_are_those_of_the_trace() {
    followed_while_recording(Recording::start("figures", |builder| builder), || ());
}

#[test]
fn a_recording_that_is_split_is_followed_from_file_to_file() {
    let split = Recording::start("split", |builder| builder.rotate(20_000, 1000));
    let folder = split.folder.clone();
    let mut most_files = 0;
    followed_while_recording(split, || {
        most_files = most_files.max(fs::read_dir(&folder).map_or(0, Iterator::count));
    });
    assert!(most_files > 4, "it is in {most_files} files");
}

#[test]
fn a_follower_that_begins_at_the_end_has_only_later_ops() {
    let mut recording = Recording::start("end", |builder| builder);
    for op in 0..20_000 {
        work(op);
        if op % 500 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    let start = Instant::now();
    let mut all = Follower::open(&recording.path).expect("a recording");
    while update_to_the_end(&mut all) != FollowState::UpToDate || all.ended() < 50_000 {
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    let mut late = Follower::open_at_end(&recording.path).expect("a recording");
    update_to_the_end(&mut late);
    let in_ring = late.ended();
    assert!(in_ring < all.ended() / 2, "{in_ring} of {}", all.ended());
    for op in 0..100 {
        work(op);
    }
    let before = all.ended();
    update_to_the_end(&mut all);
    update_to_the_end(&mut late);
    assert_eq!(late.ended() - in_ring, all.ended() - before);
    assert!(late.ended() > in_ring);
    let trace = recording.finish();
    update_to_the_end(&mut late);
    assert_eq!(late.ended() - in_ring, trace.len() as u64 - before);
    assert_eq!(late.lost(), 0);
}

#[traced_op]
fn inside(x: &[[f32; 2]; 3], look: &mut dyn FnMut()) -> f32 {
    std::thread::sleep(Duration::from_millis(30));
    look();
    x[0][0]
}

#[traced_op]
fn around(x: &[f32], look: &mut dyn FnMut()) -> f32 {
    leaf(x) + inside(&[[1.0; 2]; 3], look)
}

#[test]
fn open_ops_have_their_shapes_and_the_time_so_far() {
    let recording = Recording::start("open", |builder| builder);
    let mut follower = Follower::open(&recording.path)
        .expect("a recording")
        .keeping(1000);
    let mut looks = 0;
    around(&[1.0; 4], &mut || {
        // The time of open ops is the latest time that the process wrote.
        let start = Instant::now();
        let stack = loop {
            update_to_the_end(&mut follower);
            let mut threads = follower.open_threads();
            assert_eq!(threads.len(), 1);
            let thread = threads.remove(0);
            if thread.ops[1].duration_ns > 20_000_000 {
                break thread.ops;
            }
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "the process does not write"
            );
        };
        let names: Vec<_> = stack.iter().map(|op| op.operation.as_str()).collect();
        assert_eq!(names, ["around", "inside"]);
        assert_eq!(stack[1].input_shapes, [[3, 2]]);
        assert!(stack[0].duration_ns >= stack[1].duration_ns);
        let ops = follower.ops();
        let op = |name: &str| ops.iter().find(|op| op.operation == name).expect("an op");
        assert_eq!((op("around").open, op("around").calls), (1, 0));
        assert_eq!(op("inside").self_ns, stack[1].duration_ns);
        assert_eq!(op("around").total_ns, stack[0].duration_ns);
        let around_self = stack[0].duration_ns - stack[1].duration_ns - op("leaf").total_ns;
        assert_eq!(op("around").self_ns, around_self);
        let trace = follower.recent().expect("a trace");
        let open: Vec<_> = trace
            .views()
            .filter(|view| view.outcome() == Outcome::Unfinished)
            .map(|view| view.operation().to_owned())
            .collect();
        assert_eq!(open, ["around", "inside"]);
        assert_eq!(trace.len(), 3);
        looks += 1;
    });
    assert_eq!(looks, 1);
    update_to_the_end(&mut follower);
    assert!(follower.open_threads().is_empty());
}

#[test]
fn the_latest_ops_are_returned_as_a_trace() {
    let mut recording = Recording::start("latest", |builder| builder.metadata("model", "tiny"));
    let mut follower = Follower::open(&recording.path)
        .expect("a recording")
        .keeping(20_000);
    for op in 0..1000 {
        work(op);
    }
    update_to_the_end(&mut follower);
    assert!(!follower.has_older());
    let texts = |trace: &TraceStore| -> Vec<String> {
        trace
            .views()
            .map(|view| format!("{:?}", view.to_entry()))
            .collect()
    };
    let recent = follower.recent().expect("a trace");
    assert_eq!(
        texts(&recent),
        texts(&read::open(&recording.path).expect("a trace"))
    );
    assert_eq!(recent.metadata()["model"], "tiny");
    for op in 0..20_000 {
        work(op);
        if op % 500 == 0 {
            std::thread::sleep(Duration::from_millis(2));
            update_to_the_end(&mut follower);
        }
    }
    let trace = recording.finish();
    update_to_the_end(&mut follower);
    assert!(follower.has_older());
    let recent = follower.recent().expect("a trace");
    assert!(
        (15_000..=20_000).contains(&recent.len()),
        "{}",
        recent.len()
    );
    let last = |trace: &TraceStore| trace.view(trace.len() - 1).start_ns();
    assert_eq!(last(&recent), last(&trace));
}

#[test]
fn files_that_cannot_be_followed_are_an_error() {
    let folder = std::env::temp_dir().join(format!("follow-errors-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let json = folder.join("trace.json");
    fs::write(&json, "{}").expect("a file");
    let kind = |path: &PathBuf| Follower::open(path).expect_err("an error").kind();
    assert_eq!(kind(&json), TraceErrorKind::NotATrace);
    assert_eq!(kind(&folder), TraceErrorKind::Directory);
    assert_eq!(kind(&folder.join("missing.optrace")), TraceErrorKind::Read);
    let error = Follower::open(&json).expect_err("an error").to_string();
    assert!(error.contains("OPTRACE=run.optrace"), "{error}");
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn any_damage_is_followed_without_harm() {
    let recording = Recording::start("damage", |builder| builder.stream_buffer(256 << 10));
    for op in 0..3000 {
        work(op);
        if op % 100 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    std::thread::sleep(Duration::from_millis(50));
    let bytes = fs::read(&recording.path).expect("a file");
    let path = recording.folder.join("damaged.optrace");
    let mut seed = 1u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(11);
        (seed >> 33) as usize % below
    };
    for round in 0..60 {
        let mut damaged = bytes.clone();
        for _ in 0..=random(20) {
            let at = random(damaged.len());
            damaged[at] ^= 1 << random(8);
        }
        if round % 2 == 0 {
            damaged.truncate(random(damaged.len()));
        }
        fs::write(&path, &damaged).expect("a file");
        let Ok(follower) = Follower::open(&path) else {
            continue;
        };
        let mut follower = follower.keeping(5000);
        for _ in 0..20 {
            if follower.update().is_err() {
                break;
            }
        }
        let _ = (follower.ops(), follower.open_threads(), follower.recent());
    }
}

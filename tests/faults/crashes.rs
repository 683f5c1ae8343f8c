//! Processes that end by a signal, an abort, `exit` or a lack of memory or disk space.
//!
//! The process that ends keeps two counts in a file: ops that have begun, written before each, and ops that have ended,
//! written after it. The number of recorded ops is between the two.

use crate::row::{Fault, Row, folder, other_process, part, skip};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trace_runtime::{Outcome, Session, TraceStore, TraceView as _, read, traced_op};

pub(crate) const FAULTS: &[Fault] = &[
    ("`exit`", || streamed("exit", None)),
    ("abort", || streamed("abort", Some(libc::SIGABRT))),
    ("stack overflow", || {
        streamed("overflow", Some(libc::SIGABRT))
    }),
    ("SIGINT", || streamed("int", Some(libc::SIGINT))),
    ("SIGTERM", || streamed("term", Some(libc::SIGTERM))),
    ("SIGINT, output on signal", || {
        written("int", Some(libc::SIGINT))
    }),
    ("SIGTERM, output on signal", || {
        written("term", Some(libc::SIGTERM))
    }),
    ("SIGTERM, output on signal, own handler", || {
        written("handled", None)
    }),
    ("kill -9 at 200 moments", killed),
    ("out of memory by `ulimit -v`", out_of_memory),
    ("full disk, streaming", full_disk),
    ("read-only file system", read_only),
    ("a million distinct shapes, streaming", many_shapes),
    ("a hundred thousand names, streaming", many_names),
    ("threads that are gone, streaming", gone),
];

#[traced_op]
fn leaf(x: &[f32]) -> f32 {
    std::hint::black_box(x).iter().sum()
}

/// Counts that outlive the process.
struct Counts(File);

impl Counts {
    fn path() -> PathBuf {
        folder().join("counts")
    }

    fn new() -> Counts {
        Counts(File::create(Counts::path()).expect("a file"))
    }

    fn leaf(&self, op: u64) {
        self.0
            .write_all_at(&(op + 1).to_le_bytes(), 0)
            .expect("counted");
        leaf(&[1.0; 7][..=op as usize % 7]);
        self.0
            .write_all_at(&(op + 1).to_le_bytes(), 8)
            .expect("counted");
    }

    /// Ops that had begun, and ops that had ended.
    fn read() -> (u64, u64) {
        let bytes = fs::read(Counts::path()).unwrap_or_default();
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
        (word(0), word(1))
    }
}

fn stream() -> PathBuf {
    folder().join("run.optrace")
}

fn output() -> PathBuf {
    folder().join("run.json")
}

#[allow(unsafe_code, reason = "the standard library sends no signals")]
fn send(pid: u32, signal: i32) {
    // SAFETY: the call takes no pointers. The process is this one, or a child that has not been waited for.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

#[allow(unconditional_recursion, reason = "it is to overflow the stack")]
fn overflow(depth: u64) -> u64 {
    let page = std::hint::black_box([depth; 512]);
    page[3] + overflow(depth + 1)
}

static IS_ASKED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

extern "C" fn ask(_signal: libc::c_int) {
    IS_ASKED.store(true, std::sync::atomic::Ordering::SeqCst);
}

#[allow(unsafe_code, reason = "the standard library sets no handlers")]
fn set_own_handler() {
    let handler: extern "C" fn(libc::c_int) = ask;
    // SAFETY: the handler only stores to an atomic.
    unsafe { libc::signal(libc::SIGTERM, handler as libc::sighandler_t) };
}

/// A shell makes jobs that it starts in the background ignore SIGINT, and a program inherits that.
#[allow(unsafe_code, reason = "the standard library sets no handlers")]
fn set_default_actions() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the default action is not a function of this program.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// The process that ends.
fn child(how: &str) -> Row {
    set_default_actions();
    let builder = Session::builder();
    let session = match how {
        "int-written" | "term-written" => builder.output(output()).output_on_signal().start(),
        "handled-written" => {
            set_own_handler();
            builder.output(output()).output_on_signal().start()
        }
        _ => builder.stream_to(stream()).start(),
    };
    let session = session.expect("a session");
    let counts = Counts::new();
    let me = std::process::id();
    for op in 0.. {
        counts.leaf(op);
        if op < 20_000 || how == "kill" {
            continue;
        }
        match how {
            "exit" => std::process::exit(3),
            "abort" => std::process::abort(),
            "overflow" => drop(std::hint::black_box(overflow(1))),
            "memory" => {
                // Pages are written, so that the allocator reaches the limit as in a real program.
                let mut held = Vec::new();
                loop {
                    held.push(vec![1u8; 1 << 20]);
                    std::hint::black_box(&held);
                }
            }
            // The program continues until the signal ends it.
            "int" | "int-written" if op == 20_000 => send(me, libc::SIGINT),
            "term" | "term-written" | "handled-written" if op == 20_000 => send(me, libc::SIGTERM),
            "handled-written" if IS_ASKED.load(std::sync::atomic::Ordering::SeqCst) => break,
            _ => {}
        }
    }
    drop(session);
    std::process::exit(0)
}

fn start(how: &str) -> Child {
    other_process(how)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process")
}

/// The row of a trace whose process may have ended inside an op.
fn row_of(trace: &TraceStore) -> Row {
    let open = trace
        .views()
        .filter(|view| view.outcome() == Outcome::Unfinished)
        .count() as u64;
    let (begun, ended) = Counts::read();
    assert!(ended > 0, "nothing has ended");
    let row = Row::of(trace);
    let row = Row {
        recovered: row.recovered - open,
        ..row
    };
    row.with_ended_within(ended, begun)
}

fn ended_by(how: &str, signal: Option<i32>) {
    let status = start(how).wait().expect("it ends");
    assert_eq!(status.signal(), signal, "{status}");
}

fn streamed(how: &'static str, signal: Option<i32>) -> Row {
    if let Some(how) = part() {
        return child(&how);
    }
    ended_by(how, signal);
    row_of(&read::open(stream()).expect("a trace"))
}

/// A session without a mapped file. The file has the trace of a moment after the signal, so ops that ended while it was
/// written may or may not be in it.
fn written(how: &'static str, signal: Option<i32>) -> Row {
    if let Some(how) = part() {
        return child(&how);
    }
    ended_by(&format!("{how}-written"), signal);
    let trace = read::open(output()).expect("a trace");
    let (begun, ended) = Counts::read();
    let row = Row::of(&trace);
    if signal.is_none() {
        // The program ended the session itself.
        return row.with_ended(ended);
    }
    assert!(row.recovered > 20_000, "those before the signal are there");
    row.with_ended_within(20_001, begun)
}

fn killed() -> Row {
    if let Some(how) = part() {
        return child(&how);
    }
    let mut sum = Row::default();
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    for _ in 0..200 {
        for path in [stream(), Counts::path()] {
            drop(fs::remove_file(path));
        }
        let mut process = start("kill");
        let began = Instant::now();
        while Counts::read().1 == 0 && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_micros(200));
        }
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(11);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 20_000));
        process.kill().expect("killed");
        process.wait().expect("gone");
        sum = sum.plus(row_of(&read::open(stream()).expect("a trace")));
    }
    sum
}

fn out_of_memory() -> Row {
    if let Some(how) = part() {
        return child(&how);
    }
    let program = std::env::current_exe().expect("this program");
    let status = Command::new("sh")
        .args(["-c", "ulimit -v 400000 && exec \"$0\""])
        .arg(program)
        .env("FAULT_PART", "memory")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("it ends");
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{status}");
    row_of(&read::open(stream()).expect("a trace"))
}

/// A small disk. Only a user who may mount file systems can make one.
fn small_disk(size: &str) -> PathBuf {
    let disk = folder().join("disk");
    fs::create_dir(&disk).expect("a folder");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"])
        .arg(&disk)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        skip();
    }
    disk
}

fn unmount(disk: &PathBuf) {
    // With `-l`, because this thread has the ring mapped until it ends.
    let status = Command::new("umount").arg("-l").arg(disk).status();
    assert!(status.is_ok_and(|status| status.success()));
}

fn full_disk() -> Row {
    const OPS: u64 = 400_000;
    let disk = small_disk("4m");
    let path = disk.join("run.optrace");
    let session = Session::builder()
        .stream_to(&path)
        .stream_buffer(1 << 20)
        .start()
        .expect("room for a small ring");
    for op in 0..OPS {
        leaf(&[1.0; 7][..=op as usize % 7]);
        if op.is_multiple_of(10_000) {
            // Gives the writer time to fill the disk.
            std::thread::sleep(Duration::from_millis(15));
        }
    }
    assert!(session.try_finish().is_err(), "the disk is full");
    let row = Row::of_file(&path).with_ended(OPS);
    unmount(&disk);
    assert!(row.counted > 0);
    row
}

fn read_only() -> Row {
    const OPS: u64 = 1000;
    let disk = small_disk("1m");
    let session = Session::builder().output(disk.join("run.json")).start();
    let session = session.expect("a session");
    let remounted = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(&disk)
        .status();
    if !remounted.is_ok_and(|status| status.success()) {
        skip();
    }
    for _ in 0..OPS {
        leaf(&[1.0]);
    }
    let error = session.try_finish().expect_err("it cannot be written");
    let row = Row::of(&error.into_trace().expect("the trace is not lost")).with_ended(OPS);
    let refused = Session::builder()
        .stream_to(disk.join("run.optrace"))
        .start();
    assert!(refused.is_err(), "a recording cannot begin there");
    unmount(&disk);
    row
}

fn many_shapes() -> Row {
    let session = Session::builder()
        .stream_to(stream())
        .start()
        .expect("a session");
    let data = vec![0.0; 1_000_000];
    for len in 1..=data.len() {
        // Only its inputs are described: adding up a million elements would take hours.
        of_any_shape(&data[..len]);
    }
    Row::of(&session.finish_store()).with_ended(data.len() as u64)
}

#[traced_op]
fn of_any_shape(x: &[f32]) -> usize {
    x.len()
}

fn many_names() -> Row {
    const NAMES: u64 = 100_000;
    let session = Session::builder()
        .stream_to(stream())
        .start()
        .expect("a session");
    for number in 0..NAMES {
        trace_runtime::with_recorder(|recorder| recorder.begin_op(format!("op number {number}")));
        trace_runtime::with_recorder(trace_runtime::TraceRecorder::end_op);
    }
    Row::of(&session.finish_store()).with_ended(NAMES)
}

fn gone() -> Row {
    const THREADS: u64 = 1000;
    let session = Session::builder()
        .stream_to(stream())
        .start()
        .expect("a session");
    for _ in 0..THREADS {
        let thread = std::thread::spawn(|| {
            for _ in 0..20 {
                leaf(&[1.0]);
            }
        });
        thread.join().expect("no panic");
    }
    Row::of(&session.finish_store()).with_ended(20 * THREADS)
}

//! Measures the cost of recording into a mapped file, compared with memory that is used again and memory that grows.
//! All three take turns in one process. `scripts/stream-cost.sh` runs it.
//!
//!     stream_cost rounds N          medians of N rounds, in ns per op, and their ratios
//!     stream_cost calls HOW N       N calls, for callgrind: HOW is `idle`, `memory` or `stream`
//!     stream_cost long N            N ops through a ring of 64 MiB: memory, bytes on disk and losses

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;
use trace_runtime::{DType, Device, Session, TensorLike, TensorSink, traced_op};

#[derive(Clone, Copy)]
struct Matrix {
    dims: [usize; 2],
}

impl TensorLike for Matrix {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(&self.dims, DType::F32, Device::Cpu);
    }
}

#[traced_op]
#[inline(never)]
fn matmul(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix {
        dims: [a.dims[0], b.dims[1]],
    }
}

/// The loop that is timed, and that callgrind counts by its name.
#[inline(never)]
fn repeat(calls: usize) {
    let (a, b) = (Matrix { dims: [64, 32] }, Matrix { dims: [32, 8] });
    for _ in 0..calls {
        black_box(matmul(black_box(&a), black_box(&b)).dims[0]);
    }
}

/// Nanoseconds per call.
fn timed(calls: usize) -> f64 {
    let start = Instant::now();
    repeat(calls);
    start.elapsed().as_nanos() as f64 / calls as f64
}

fn path() -> PathBuf {
    std::env::temp_dir().join(format!("stream-cost-{}.optrace", std::process::id()))
}

/// A number of ops so small that the memory of the previous recording is used again.
const FEW: usize = 8_192;
const MANY: usize = 500_000;

fn in_memory(calls: usize) -> f64 {
    let session = Session::start().expect("no other session runs");
    repeat(512);
    let taken = timed(calls);
    drop(session);
    taken
}

fn streaming(calls: usize) -> f64 {
    let session = Session::builder().stream_to(path()).start();
    let session = session.expect("no other session runs");
    repeat(512);
    // Meanwhile the writer prepares the pages of its ring.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let taken = timed(calls);
    drop(session);
    taken
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn rounds(count: usize) {
    let mut taken = [const { Vec::new() }; 5];
    // The first round is not counted: it has page faults and initialises lazy statics.
    for round in 0..=count {
        let values = [
            timed(FEW),
            in_memory(FEW),
            streaming(FEW),
            in_memory(MANY),
            streaming(MANY),
        ];
        for (taken, value) in taken.iter_mut().zip(values).filter(|_| round > 0) {
            taken.push(value);
        }
    }
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let idle = (median(taken[0].clone()), least(&taken[0]));
    let over_idle = |values: &[f64]| (median(values.to_vec()) - idle.0, least(values) - idle.1);
    let names = [
        "memory that is used again",
        "streaming",
        "memory that grows",
        "streaming, as many",
    ];
    println!("ns per op over an idle call, {count} rounds: median, minimum");
    let shown: Vec<(f64, f64)> = taken[1..].iter().map(|values| over_idle(values)).collect();
    for (name, (median, least)) in names.into_iter().zip(&shown) {
        println!("{name:<28} {median:8.1} {least:8.1}");
    }
    for (name, a, b, limit) in [
        ("streaming / memory that is used again", 1, 0, 1.1),
        ("streaming / memory that grows", 3, 2, 1.0),
    ] {
        let (median, least) = (shown[a].0 / shown[b].0, shown[a].1 / shown[b].1);
        println!("{name:<40} {median:5.2} {least:5.2}   limit {limit}");
    }
}

fn calls(how: &str, count: usize) -> Option<()> {
    let session = match how {
        "idle" => None,
        "memory" => Some(Session::start().expect("a session")),
        "stream" => {
            let session = Session::builder().stream_to(path()).start();
            Some(session.expect("a session"))
        }
        _ => return None,
    };
    repeat(count);
    drop(session);
    Some(())
}

/// The resident memory of this process in KiB, if the system has it.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn long(count: usize) {
    let session = Session::builder().stream_to(path()).stream_buffer(64 << 20);
    let session = session.start().expect("a session");
    let start = Instant::now();
    let part = (count / 10).max(1);
    let mut done = 0;
    while done < count {
        repeat(part.min(count - done));
        done += part.min(count - done);
        let memory =
            resident_kib().map_or("unknown".to_owned(), |kib| format!("{} MiB", kib / 1024));
        println!(
            "{done:>12} ops, {memory} resident, {:.1} s",
            start.elapsed().as_secs_f64()
        );
    }
    drop(session);
    let bytes = std::fs::metadata(path()).expect("a file").len();
    // Followed instead of read, because a trace would take 28 bytes per op.
    let mut follower = trace_runtime::read::Follower::open(path()).expect("a recording");
    while follower.update().expect("read") != trace_runtime::read::FollowState::Finished {}
    let (ended, dropped) = (follower.ended(), follower.dropped());
    println!(
        "{ended} recorded, {dropped} dropped and counted, {} lost; {:.2} bytes per op on disk",
        count as u64 - ended - dropped,
        bytes as f64 / ended as f64
    );
    assert_eq!(ended + dropped, count as u64, "losses are counted");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["rounds", count] => count.parse().ok().map(rounds),
        ["calls", how, count] => count.parse().ok().and_then(|count| calls(how, count)),
        ["long", count] => count.parse().ok().map(long),
        _ => None,
    };
    drop(std::fs::remove_file(path()));
    if done.is_none() {
        eprintln!("usage: stream_cost rounds N | calls HOW N | long N");
        std::process::exit(2);
    }
}

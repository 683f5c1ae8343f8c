//! Slowdowns on request, so that `scripts/gate-check.sh` can measure how well `optrace diff` finds them.
//!
//! The variable `PLANT` holds `op=change`, or `op[dims]=change` for calls whose first input has these dims:
//!
//! | change | effect on each call of the op |
//! |---|---|
//! | `+10%` | takes 10 % longer |
//! | `x10` | takes ten times as long |
//! | `tail` | one call in forty takes two hundred times as long |
//! | `twice` | is made twice, where the graph calls it through [`calls`] |
//!
//! `PLANT=added` runs an op that the program does not have otherwise. Without the variable nothing changes.
#![allow(dead_code, reason = "no graph has a place for every change")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use trace_runtime::op;

struct Plant {
    op: String,
    first_input: Option<Vec<usize>>,
    change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    /// Extra time, as a multiple of the time that the call took.
    Longer(f64),
    Tail,
    Twice,
    Added,
}

/// Runs the body of `op`, and makes it longer if `PLANT` requests that.
pub(crate) fn planted<T>(op: &str, first_input: &[usize], body: impl FnOnce() -> T) -> T {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let Some(change) = change_of(op, Some(first_input)) else {
        return body();
    };
    let start = Instant::now();
    let value = body();
    let took = start.elapsed();
    match change {
        Change::Longer(share) => wait(took.mul_f64(share)),
        Change::Tail if CALLS.fetch_add(1, Ordering::Relaxed) % 40 == 39 => wait(took * 199),
        _ => {}
    }
    value
}

/// Calls an op once, or twice if `PLANT` requests that, and returns the last result.
pub(crate) fn calls<T>(op: &str, call: impl Fn() -> T) -> T {
    if change_of(op, None) == Some(Change::Twice) {
        call();
    }
    call()
}

/// Runs an op of about `length` that the program does not have otherwise, if `PLANT` requests that.
pub(crate) fn added(length: Duration) {
    if change_of("", None) == Some(Change::Added) {
        op!("planted_op", { wait(length) });
    }
}

fn change_of(op: &str, first_input: Option<&[usize]>) -> Option<Change> {
    static PLANT: OnceLock<Option<Plant>> = OnceLock::new();
    let plant = PLANT.get_or_init(|| std::env::var("PLANT").ok().map(|text| parse(&text)));
    let plant = plant.as_ref().filter(|plant| plant.op == op)?;
    let fits = match (&plant.first_input, first_input) {
        (Some(wanted), Some(dims)) => wanted == dims,
        _ => true,
    };
    fits.then_some(plant.change)
}

fn parse(text: &str) -> Plant {
    let wrong = || -> ! { panic!("`PLANT` is `{text}`; expected `op=+10%`, `op=x10`, …") };
    if text == "added" {
        return Plant {
            op: String::new(),
            first_input: None,
            change: Change::Added,
        };
    }
    let Some((target, change)) = text.split_once('=') else {
        wrong()
    };
    let (op, dims) = match target.split_once('[') {
        Some((op, dims)) => (op, Some(dims.trim_end_matches(']'))),
        None => (target, None),
    };
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| wrong());
    let dims = dims.map(|dims| dims.split('x').map(|dim| number(dim) as usize).collect());
    let change = match change {
        "tail" => Change::Tail,
        "twice" => Change::Twice,
        _ => match (change.strip_prefix('+'), change.strip_prefix('x')) {
            (Some(percent), _) => Change::Longer(number(percent.trim_end_matches('%')) / 100.0),
            (_, Some(times)) => Change::Longer(number(times) - 1.0),
            _ => wrong(),
        },
    };
    Plant {
        op: op.to_owned(),
        first_input: dims,
        change,
    }
}

/// Keeps the thread busy for this much processor time, as real work does. On a busy machine this takes longer.
fn wait(length: Duration) {
    // The system counts processor time in ticks of some milliseconds. Short waits are rarely interrupted.
    let worked = if length > Duration::from_millis(10) {
        processor_time()
    } else {
        None
    };
    let start = Instant::now();
    let done = || match worked {
        Some(before) => processor_time().is_none_or(|now| now.saturating_sub(before) >= length),
        None => start.elapsed() >= length,
    };
    while !done() {
        std::hint::spin_loop();
    }
}

/// The processor time of this thread, if the system has a file with it.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns = text.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(ns))
}

//! The same graph with tracing and with tracing compiled out.
//!
//! ```text
//! cargo run --release --example opt_out
//! cargo run --release --example opt_out --no-default-features
//! ```

mod graph;

use std::hint::black_box;
use std::time::Instant;
use trace_runtime::{Session, SessionError};

fn main() -> Result<(), SessionError> {
    let session = Session::start()?;
    let sum = graph::sum_of_squares(&[1.0, 2.0, 3.0]);
    let trace = session.finish();
    assert!((sum - 14.0).abs() < 1e-6);
    println!("{}", trace.report());

    let (plain, annotated) = fastest_ns(
        || graph::plain_square(black_box(&[3.0])),
        || graph::square(black_box(&[3.0])),
    );
    println!(
        "A call while nothing records, loop included: plain {plain:.2} ns, annotated {annotated:.2} ns."
    );
    if cfg!(feature = "enabled") {
        println!(
            "With `--no-default-features` the annotated function is compiled like the plain one."
        );
    } else {
        println!("`#[traced_op]` returned the functions unchanged, and syn was not built.");
    }
    Ok(())
}

/// Nanoseconds per call of each function, in the fastest of several rounds. The rounds alternate, so that noise on the
/// machine affects both functions alike.
fn fastest_ns(mut one: impl FnMut() -> f32, mut other: impl FnMut() -> f32) -> (f64, f64) {
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..200 {
        best.0 = best.0.min(round_ns(&mut one));
        best.1 = best.1.min(round_ns(&mut other));
    }
    best
}

fn round_ns(call: &mut impl FnMut() -> f32) -> f64 {
    const CALLS: u32 = 20_000;
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(call());
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

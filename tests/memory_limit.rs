//! The memory limit of a session covers everything that is recorded: rows, shapes, names and extras.
#![cfg(feature = "enabled")]

mod counting;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use trace_runtime::{Session, TraceView, current_op, in_op, traced_op, with_recorder};

const LIMIT: usize = 1 << 20;
const OPS: usize = 100_000;
/// For the memory that a session needs before its first op, and for a table that grows once beyond the estimate of the
/// limit.
const SLACK: usize = 128 << 10;

/// Records `OPS` ops with a limit, and checks how much memory was held, and that every op is recorded or counted.
fn check(name: &str, ops: impl FnOnce()) {
    let session = Session::builder()
        .memory_limit(LIMIT)
        .this_thread_only()
        .start()
        .unwrap();
    let ((), held) = counting::most_held_during(ops);
    let store = session.finish_store();
    let dropped: usize = store.metadata()["dropped"].parse().unwrap();
    assert!(dropped > 0, "{name}: the limit was not reached");
    assert_eq!(store.len() + dropped, OPS, "{name}: recorded or counted");
    assert!(
        held <= LIMIT + SLACK,
        "{name}: {held} bytes were held with a limit of {LIMIT}"
    );
    assert!(
        held >= LIMIT / 3,
        "{name}: only {held} bytes were used of a limit of {LIMIT}"
    );
}

#[traced_op]
fn plain(x: &[f32]) -> f32 {
    x[0]
}

#[traced_op(meta(layer = layer))]
fn with_meta(layer: usize) {
    let _ = layer;
}

#[traced_op]
async fn task(x: &[f32]) -> f32 {
    x[0]
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the tasks here never wait"),
    }
}

// One test: sessions do not nest, and the bytes of all threads are counted.
#[test]
fn everything_that_ops_store_is_limited_and_ops_that_do_not_fit_are_counted() {
    check("rows", || {
        for _ in 0..OPS {
            plain(&[1.0]);
        }
    });
    check("meta", || (0..OPS).for_each(with_meta));
    check("async", || {
        for _ in 0..OPS {
            block_on(task(&[1.0]));
        }
    });
    let data = vec![0.0; OPS];
    check("shapes", || {
        for len in 1..=OPS {
            plain(&data[..len]);
        }
    });
    check("names", || {
        for number in 0..OPS {
            with_recorder(|recorder| recorder.begin_op(format!("an op with the number {number}")));
            with_recorder(trace_runtime::TraceRecorder::end_op);
        }
    });
    check("handed over", || {
        with_recorder(|recorder| recorder.begin_nested("outer"));
        let here = current_op();
        with_recorder(trace_runtime::TraceRecorder::end_nested);
        for _ in 0..OPS - 1 {
            // An op without a parent on its own thread has an extra with its parent.
            in_op(&here, || plain(&[1.0]));
        }
    });
}

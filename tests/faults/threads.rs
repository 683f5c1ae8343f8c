//! Threads that are running, parked, ending or have ended when the recording ends, and ops that are open then.

use crate::row::{Fault, Row, ended};
use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::{Barrier, mpsc};
use std::task::{Context, Poll, Waker};
use trace_runtime::{Session, current_op, in_op, traced_op};

pub(crate) const FAULTS: &[Fault] = &[
    ("threads that run", running),
    ("threads that are parked", parked),
    ("threads that are gone", gone),
    ("ops in thread-local destructors", in_destructors),
    ("finish inside of an op", finish_inside),
    ("async ops that are open", open_tasks),
    ("ops handed to other threads", handed_over),
    ("sessions that race", racing_sessions),
    ("sessions in a loop", many_sessions),
];

const TIMES: u64 = 1000;
const THREADS: u64 = 8;

#[traced_op]
fn leaf(x: &[f32]) -> f32 {
    x[0]
}

fn leaves(times: u64) {
    for _ in 0..times {
        leaf(&[1.0]);
        ended();
    }
}

/// Waits inside an op until the session has finished.
#[traced_op]
fn waits(all: &Barrier) {
    all.wait();
    all.wait();
}

fn running() -> Row {
    let all = &Barrier::new(THREADS as usize + 1);
    let session = Session::start().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                leaves(TIMES);
                waits(all);
            });
        }
        all.wait();
        let trace = session.finish();
        all.wait();
        Row::of(&trace)
    })
}

fn parked() -> Row {
    let (done, finished) = mpsc::channel();
    let session = Session::start().unwrap();
    for _ in 0..THREADS {
        let done = done.clone();
        std::thread::spawn(move || {
            leaves(TIMES);
            done.send(()).unwrap();
            loop {
                std::thread::park();
            }
        });
    }
    for _ in 0..THREADS {
        finished.recv().unwrap();
    }
    Row::of(&session.finish())
}

fn gone() -> Row {
    let session = Session::start().unwrap();
    for _ in 0..THREADS {
        std::thread::spawn(|| leaves(TIMES)).join().unwrap();
    }
    Row::of(&session.finish())
}

/// Runs ops when its thread ends, twice: the second time after the thread's recorder was freed.
struct AtTheEnd(u32);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        leaves(10);
        if self.0 > 0 {
            let next = AtTheEnd(self.0 - 1);
            LATER.with(|later| later.replace(Some(next)));
        }
    }
}

thread_local! {
    static FIRST: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
    static LATER: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
}

fn in_destructors() -> Row {
    let session = Session::start().unwrap();
    for _ in 0..THREADS {
        let thread = std::thread::spawn(|| {
            // Its destructor is registered before that of the recorder. Which one runs first depends on the system; the
            // second value's destructor always runs later.
            FIRST.with(|first| first.replace(Some(AtTheEnd(1))));
            leaves(TIMES);
        });
        thread.join().unwrap();
    }
    Row::of(&session.finish())
}

#[traced_op]
fn outer(session: Session, depth: u32) -> Row {
    leaves(TIMES);
    if depth > 0 {
        return outer(session, depth - 1);
    }
    let row = Row::of(&session.finish());
    // The five calls of `outer` are still open. They are not recorded later, so they count as lost.
    row.with_ended(row.ended + 5)
}

fn finish_inside() -> Row {
    outer(Session::start().unwrap(), 4)
}

#[traced_op]
async fn later(turns: u32) {
    for _ in 0..turns {
        let mut is_second = false;
        std::future::poll_fn(|_| {
            let ready = is_second;
            is_second = true;
            if ready {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

fn open_tasks() -> Row {
    let session = Session::start().unwrap();
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..TIMES {
        let mut done = pin!(later(1));
        while done.as_mut().poll(&mut context).is_pending() {}
        ended();
        // Dropped before it is ready.
        assert!(pin!(later(3)).poll(&mut context).is_pending());
        ended();
    }
    let mut open: Vec<_> = (0..50).map(|_| Box::pin(later(3))).collect();
    for task in &mut open {
        assert!(task.as_mut().poll(&mut context).is_pending());
        ended();
    }
    // Never polled, so they have not begun.
    let unpolled: Vec<_> = (0..50).map(|_| Box::pin(later(3))).collect();
    let row = Row::of(&session.finish());
    drop((open, unpolled));
    row
}

#[traced_op]
fn hands_over() {
    let here = current_op();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| in_op(&here, || leaves(TIMES)));
        }
    });
}

fn handed_over() -> Row {
    let session = Session::start().unwrap();
    hands_over();
    ended();
    Row::of(&session.finish())
}

/// Threads that all try to record at the same time. An op is in the trace of the session that its thread has.
fn racing_sessions() -> Row {
    let rows = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut sum = Row::default();
                    for _ in 0..TIMES {
                        let session = Session::builder().this_thread_only().start();
                        let Ok(session) = session else {
                            std::thread::yield_now();
                            continue;
                        };
                        for _ in 0..10 {
                            leaf(&[1.0]);
                        }
                        sum = sum.plus(Row::of(&session.finish()).with_ended(10));
                    }
                    sum
                })
            })
            .collect();
        let rows = threads.into_iter().map(|thread| thread.join().unwrap());
        rows.fold(Row::default(), Row::plus)
    });
    assert!(rows.ended >= 10);
    rows
}

fn many_sessions() -> Row {
    let mut sum = Row::default();
    // A start takes milliseconds without optimisation.
    let times = if cfg!(debug_assertions) {
        5_000
    } else {
        100_000
    };
    for _ in 0..times {
        let session = Session::start().unwrap();
        leaf(&[1.0]);
        sum = sum.plus(Row::of(&session.finish_store()).with_ended(1));
    }
    sum
}

//! A process ends or forks.

use crate::row::{Fault, Row, ended, folder, skip};
use std::sync::atomic::{AtomicBool, Ordering};
use trace_runtime::{Session, TraceView, read, traced_op};

pub(crate) const FAULTS: &[Fault] = &[
    ("fork", fork),
    ("fork while threads record", fork_while_recording),
];

const TIMES: u64 = 1000;

#[traced_op]
fn leaf(x: &[f32]) -> f32 {
    x[0]
}

fn leaves() {
    for _ in 0..TIMES {
        leaf(&[1.0]);
        ended();
    }
}

/// Forks. Returns 0 in the child, and the child's number in the parent.
#[allow(unsafe_code, reason = "the standard library has no `fork`")]
fn fork_now() -> libc::pid_t {
    // SAFETY: the child has one thread. It runs ops, allocates, which the C library allows after a fork, and exits.
    let child = unsafe { libc::fork() };
    if child < 0 {
        skip();
    }
    child
}

/// The exit code of a child; `None` if it is still running after a minute, when it is killed.
#[allow(unsafe_code, reason = "the standard library has no `waitpid`")]
fn exit_code(child: libc::pid_t) -> Option<i32> {
    for _ in 0..6000 {
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // SAFETY: the child has not been waited for, so the number still belongs to it.
    unsafe { libc::kill(child, libc::SIGKILL) };
    None
}

/// Ends this child without running the destructors of the parent's threads.
#[allow(unsafe_code, reason = "the standard library runs exit handlers")]
fn exit_child(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// A forked child does not record for its parent. It makes its own recording, with the same file name.
fn fork() -> Row {
    let file = folder().join("run.json");
    let session = Session::builder().output(&file).start().unwrap();
    leaves();
    let child = fork_now();
    if child == 0 {
        assert_eq!(session.try_finish().unwrap().len(), 0);
        let own = Session::builder().output(&file).start().unwrap();
        leaves();
        exit_child(i32::from(own.try_finish().is_err()));
    }
    leaves();
    assert_eq!(exit_code(child), Some(0), "the child records");
    let trace = session.try_finish().unwrap();
    // The child has ended before this.
    let parent = std::process::id().to_string();
    let own = folder().join(format!("run.pid-{parent}.json"));
    assert_eq!(trace.metadata()["written_to"], own.display().to_string());
    assert_eq!(read::open(&own).unwrap().metadata()["pid"], parent);
    let child_trace = read::open(&file).unwrap();
    assert_eq!(child_trace.metadata()["pid"], child.to_string());
    assert_eq!(child_trace.metadata()["forked_from"], parent);
    Row::of_file(&own).plus(Row::of(&child_trace).with_ended(TIMES))
}

#[traced_op]
fn of_many_shapes(x: &[u8]) -> usize {
    x.len()
}

/// Children of a process whose other threads hold the recorder's locks all the time.
fn fork_while_recording() -> Row {
    const CHILDREN: u64 = 100;
    let mut session = Some(Session::start().unwrap());
    let is_over = &AtomicBool::new(false);
    let row = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let data = vec![0; 1 << 16];
                for len in (0..data.len()).cycle() {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    of_many_shapes(&data[..len]);
                    ended();
                }
            });
        }
        let mut row = Row::default();
        for number in 0..CHILDREN {
            let child = fork_now();
            if child == 0 {
                drop(session.take());
                let session = Session::start().unwrap();
                let own = 10 + number % 3;
                for _ in 0..own {
                    leaf(&[1.0]);
                }
                let snapshot = session.snapshot().len() as u64;
                let recorded = session.finish_store().len() as u64;
                exit_child(i32::from(recorded != own || snapshot != own));
            }
            match exit_code(child) {
                Some(0) => row.recovered += 10 + number % 3,
                other => eprintln!("child {number} ended with {other:?}"),
            }
            row.ended += 10 + number % 3;
        }
        is_over.store(true, Ordering::Relaxed);
        row
    });
    Row::of(&session.unwrap().finish_store()).plus(row)
}

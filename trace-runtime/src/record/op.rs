//! What expanded code holds while an op runs.

use super::log::Shared;
use super::recorder::{EndedTask, GuardedOp, Linked};
use super::sink::TensorSink;
use super::site::Site;
use super::state;
use crate::model::Outcome;
use crate::model::assemble::{OpRef, RawExtra};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

/// An op that is running. Dropped without [`end`](Self::end), it was left through `?` or a panic.
#[derive(Debug)]
#[must_use]
pub struct Op(Option<GuardedOp>);

/// Begins an op. `inputs` runs only while recording, and the clock is read after it.
#[inline]
pub fn begin(site: &'static Site, inputs: impl FnOnce(&mut TensorSink)) -> Op {
    if !state::is_anyone_recording() {
        return Op(None);
    }
    begin_recorded(site, inputs)
}

/// Out of line, as is [`end_recorded`]: a function that is not recorded pays for a load and a branch,
/// not for the registers that recording needs.
#[inline(never)]
fn begin_recorded(site: &'static Site, inputs: impl FnOnce(&mut TensorSink)) -> Op {
    Op(state::with_active(|recorder| recorder.begin_guarded(site, inputs)).flatten())
}

#[inline(never)]
fn end_recorded(guarded: &GuardedOp, outputs: impl FnOnce(&mut TensorSink)) {
    // A description that panics leaves the op to its drop.
    state::with_any(|recorder| recorder.end_guarded(guarded, Outcome::Ok, outputs));
}

impl Op {
    /// Whether this execution is being recorded.
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// Ends the op: the clock is read first, then `outputs` runs if it is being recorded.
    #[inline]
    pub fn end(self, outputs: impl FnOnce(&mut TensorSink)) {
        if let Some(guarded) = &self.0 {
            end_recorded(guarded, outputs);
        }
        std::mem::forget(self);
    }
}

impl Drop for Op {
    #[inline]
    fn drop(&mut self) {
        if let Some(guarded) = &self.0 {
            abandon(guarded);
        }
    }
}

#[cold]
#[inline(never)]
fn abandon(guarded: &GuardedOp) {
    let outcome = if std::thread::panicking() {
        Outcome::Panicked
    } else {
        Outcome::Error
    };
    state::with_any(|recorder| recorder.end_guarded(guarded, outcome, |_| {}));
}

/// An async op that is running. Its nesting and its busy time follow the task, not the thread.
#[derive(Debug)]
#[must_use]
pub struct AsyncOp(Option<Box<Task>>);

#[derive(Debug)]
struct Task {
    number: u32,
    /// The session it began in; it is recorded only if it ends there.
    session: Weak<Shared>,
    words: Vec<usize>,
    meta: Vec<(&'static str, String)>,
    parent: Option<OpRef>,
    start: u64,
    suspended: u64,
    paused_at: u64,
    has_returned: bool,
    /// Described, but not polled yet; nothing is recorded of it then.
    is_deferred: bool,
}

/// Describes an async op whose function returned a future; it begins with [`AsyncOp::start`].
pub fn begin_deferred(site: &'static Site, inputs: impl FnOnce(&mut TensorSink)) -> AsyncOp {
    let mut op = begin_async(site, inputs);
    if let Some(task) = &mut op.0 {
        task.is_deferred = true;
    }
    op
}

/// Begins an async op; called at its first poll.
pub fn begin_async(site: &'static Site, inputs: impl FnOnce(&mut TensorSink)) -> AsyncOp {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if !state::is_anyone_recording() {
        return AsyncOp(None);
    }
    AsyncOp(state::with_active(|recorder| {
        let parent = recorder.current();
        let (words, meta) = recorder.describe_task(site, inputs);
        let session = recorder.session().map(Arc::downgrade).unwrap_or_default();
        let start = recorder.now();
        Box::new(Task {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            session,
            words,
            meta,
            parent,
            start,
            suspended: 0,
            paused_at: start,
            has_returned: false,
            is_deferred: false,
        })
    }))
}

impl AsyncOp {
    /// Whether this execution is being recorded.
    pub fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// The first poll of a deferred op: it begins now, inside of what runs now.
    pub fn start(&mut self) {
        if let Some(task) = self.0.as_deref_mut() {
            task.is_deferred = false;
            state::with_active(|recorder| {
                if task.is_of(recorder.session()) {
                    task.parent = recorder.current();
                    task.start = recorder.now();
                    task.paused_at = task.start;
                }
            });
        }
    }

    /// Drives `body`. What begins while it is polled is inside of this op, on whichever thread.
    pub async fn run<F: Future>(&mut self, body: F) -> F::Output {
        let mut body = pin!(body);
        std::future::poll_fn(|context| {
            let Some(task) = self.0.as_deref_mut() else {
                return body.as_mut().poll(context);
            };
            let around = task.resume();
            let poll = body.as_mut().poll(context);
            drop(around);
            task.pause(poll.is_ready());
            poll
        })
        .await
    }

    /// Ends the op: the clock is read first, then `outputs` runs if it is being recorded.
    pub fn end(mut self, outputs: impl FnOnce(&mut TensorSink)) {
        if let Some(task) = self.0.take() {
            (*task).end(Outcome::Ok, outputs);
        }
    }
}

impl Drop for AsyncOp {
    fn drop(&mut self) {
        if let Some(task) = self.0.take().filter(|task| !task.is_deferred) {
            let outcome = if std::thread::panicking() {
                Outcome::Panicked
            } else if task.has_returned {
                Outcome::Error
            } else {
                Outcome::Cancelled
            };
            (*task).end(outcome, |_| {});
        }
    }
}

impl Task {
    fn is_of(&self, session: Option<&Arc<Shared>>) -> bool {
        session.is_some_and(|session| std::ptr::eq(Arc::as_ptr(session), self.session.as_ptr()))
    }

    /// Counts the time since the last poll as suspended, and puts the task around what begins now.
    fn resume(&mut self) -> Option<Around> {
        state::with_active(|recorder| {
            self.is_of(recorder.session()).then(|| {
                self.suspended += recorder.now().saturating_sub(self.paused_at);
                Around::new(recorder.link(Some(OpRef::Task(self.number))))
            })
        })
        .flatten()
    }

    fn pause(&mut self, has_returned: bool) {
        self.has_returned = has_returned;
        if !has_returned {
            state::with_any(|recorder| self.paused_at = recorder.now());
        }
    }

    fn end(mut self, outcome: Outcome, outputs: impl FnOnce(&mut TensorSink)) {
        state::with_active(|recorder| {
            if !self.is_of(recorder.session()) {
                return;
            }
            if outcome == Outcome::Cancelled {
                self.suspended += recorder.now().saturating_sub(self.paused_at);
            }
            let extra = RawExtra {
                suspended: self.suspended,
                parent: self.parent,
                task: Some(self.number),
                meta: std::mem::take(&mut self.meta),
                ..RawExtra::default()
            };
            let task = EndedTask {
                words: &self.words,
                start: self.start,
                outcome,
                extra,
            };
            recorder.end_task(task, outputs);
        });
    }
}

/// Stands around what begins while a task is polled, or while [`in_op`](super::in_op) runs; gone even
/// when that panics.
pub(super) struct Around(Linked);

impl Around {
    pub(super) fn new(linked: Linked) -> Around {
        Around(linked)
    }
}

impl Drop for Around {
    fn drop(&mut self) {
        state::with_any(|recorder| recorder.unlink(self.0));
    }
}

//! [`AsyncOp`]: an async op while it runs.

use super::log::Shared;
use super::recorder::{EndedTask, Linked};
use super::site::{NO_KIND, Site, kind_code};
use super::state;
use crate::describe::Describe;
use crate::engine::rows::{OpRef, RawExtra};
use crate::{OpKind, Outcome};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;

/// An async op that is running. Its nesting and its busy time follow the task, not the thread.
#[derive(Debug)]
#[must_use]
pub struct AsyncOp(Option<Box<Task>>);

#[derive(Debug)]
struct Task {
    number: u32,
    /// The session in which it began. It is recorded only if it ends in the same one.
    session: Weak<Shared>,
    /// The signature words of its inputs.
    words: Vec<usize>,
    meta: Vec<(&'static str, String)>,
    parent: Option<OpRef>,
    /// Times in ticks of the recorder's clock.
    start: u64,
    suspended: u64,
    paused_at: u64,
    has_returned: bool,
    /// Described, but not polled yet. If it is dropped now, it is not recorded.
    is_deferred: bool,
}

/// Describes the inputs of an op whose function returns a future. The op begins with [`AsyncOp::start`].
pub fn begin_deferred(name: &'static str, kind: Option<OpKind>, inputs: impl Describe) -> AsyncOp {
    let mut op = begin_async(name, kind, inputs);
    if let Some(task) = &mut op.0 {
        task.is_deferred = true;
    }
    op
}

/// Begins an async op. Called at the first poll of its future.
pub fn begin_async(name: &'static str, kind: Option<OpKind>, inputs: impl Describe) -> AsyncOp {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if !state::is_anyone_recording() {
        return AsyncOp(None);
    }
    let kind = kind.map_or(NO_KIND, kind_code);
    let site = Site { name, kind };
    let task = state::with_active(|recorder| {
        let parent = recorder.current();
        let (words, meta) = recorder.describe_task(site, inputs)?;
        let session = recorder.session().map(Arc::downgrade).unwrap_or_default();
        let start = recorder.now();
        Some(Box::new(Task {
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
        }))
    });
    AsyncOp(task.flatten())
}

impl AsyncOp {
    /// Whether this execution is being recorded.
    pub fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// Called before every poll of a deferred op's future. At the first one the op begins, inside the op that runs now.
    #[inline]
    pub fn start(&mut self) {
        if let Some(task) = self.0.as_deref_mut().filter(|task| task.is_deferred) {
            task.start();
        }
    }

    /// Polls the op's future. Ops that begin during the poll are inside this op, on whichever thread that is.
    #[inline]
    pub fn poll<R>(&mut self, poll: impl FnOnce() -> Poll<R>) -> Poll<R> {
        let Some(task) = self.0.as_deref_mut() else {
            return poll();
        };
        let around = task.resume();
        let polled = poll();
        drop(around);
        task.pause(polled.is_ready());
        polled
    }

    /// Moves the op out and leaves one that is not recorded.
    #[inline]
    pub fn take(&mut self) -> AsyncOp {
        AsyncOp(self.0.take())
    }

    /// Ends the op. The clock is read first; then, if it is being recorded, its outputs are described.
    pub fn end(mut self, outputs: impl Describe) {
        // Set to `None` after the description: if that panics, dropping the op records the panic.
        if let Some(task) = &mut self.0 {
            task.end(Outcome::Ok, outputs);
        }
        self.0 = None;
    }
}

impl Drop for AsyncOp {
    fn drop(&mut self) {
        if let Some(mut task) = self.0.take().filter(|task| !task.is_deferred) {
            let outcome = if std::thread::panicking() {
                Outcome::Panicked
            } else if task.has_returned {
                Outcome::Error
            } else {
                Outcome::Cancelled
            };
            task.end(outcome, ());
        }
    }
}

impl Task {
    fn is_of(&self, session: Option<&Arc<Shared>>) -> bool {
        session.is_some_and(|session| std::ptr::eq(Arc::as_ptr(session), self.session.as_ptr()))
    }

    /// Begins a deferred op.
    fn start(&mut self) {
        self.is_deferred = false;
        state::with_active(|recorder| {
            if self.is_of(recorder.session()) {
                self.parent = recorder.current();
                self.start = recorder.now();
                self.paused_at = self.start;
            }
        });
    }

    /// Counts the time since the last poll as suspended, and makes the task the parent of ops that begin now.
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

    fn end(&mut self, outcome: Outcome, outputs: impl Describe) {
        state::with_active(|recorder| {
            if !self.is_of(recorder.session()) {
                return;
            }
            let end = recorder.now();
            let base = recorder.describe_outputs(&self.words, outputs);
            if outcome == Outcome::Cancelled {
                self.suspended += end.saturating_sub(self.paused_at);
            }
            let extra = RawExtra {
                suspended: self.suspended,
                parent: self.parent,
                task: Some(self.number),
                meta: std::mem::take(&mut self.meta),
                ..RawExtra::default()
            };
            recorder.end_task(EndedTask {
                base,
                start: self.start,
                end,
                outcome,
                extra,
            });
        });
    }
}

/// Makes an op the parent of ops that begin on this thread, until it is dropped: while a task is polled, or while
/// [`in_op`](crate::in_op) runs.
pub(crate) struct Around(Linked);

impl Around {
    pub(crate) fn new(linked: Linked) -> Around {
        Around(linked)
    }
}

impl Drop for Around {
    fn drop(&mut self) {
        state::with_any(|recorder| recorder.unlink(self.0));
    }
}

//! [`AsyncOp`]: an async op while it runs.

use super::log::Shared;
use super::recorder::{EndedTask, Linked};
use super::site::{NO_KIND, Site, kind_code};
use super::state;
use crate::describe::Describe;
use crate::engine::rows::{Meta, OpRef, Pauses, RawExtra, RawPause};
use crate::site_name::SiteName;
use crate::{OpKind, Outcome, PauseKind};
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
    meta: Meta,
    parent: Option<OpRef>,
    /// The context that memory is charged to.
    heap_context: u16,
    /// Times in ticks of the recorder's clock.
    start: u64,
    suspended: u64,
    /// The end of the latest poll; [`RUNNING`] before the first one.
    paused_at: u64,
    /// The longest suspensions, at most [`MOST_PAUSES`], and the wait for a device.
    pauses: Option<Box<Pauses>>,
    has_returned: bool,
    /// True if the inputs are described and the op was not polled yet. If it is dropped now, it is not recorded.
    is_deferred: bool,
}

/// The value of [`Task::paused_at`] before the first poll.
const RUNNING: u64 = u64::MAX;
/// A task may be polled any number of times, so only the longest suspensions are kept.
const MOST_PAUSES: usize = 32;

/// Describes the inputs of an op whose function returns a future. The op begins with [`AsyncOp::start`].
pub fn begin_deferred(name: impl SiteName, kind: Option<OpKind>, inputs: impl Describe) -> AsyncOp {
    let mut op = begin_async(name, kind, inputs);
    if let Some(task) = &mut op.0 {
        // It counts as open from its first poll on.
        count_open(&task.session, -1);
        task.is_deferred = true;
    }
    op
}

/// Begins an async op. Called at the first poll of its future.
pub fn begin_async(name: impl SiteName, kind: Option<OpKind>, inputs: impl Describe) -> AsyncOp {
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
        let heap_context = recorder.heap_context_of(&words);
        let start = recorder.now();
        count_open(&session, 1);
        Some(Box::new(Task {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            session,
            words,
            meta,
            parent,
            heap_context,
            start,
            suspended: 0,
            paused_at: RUNNING,
            pauses: None,
            has_returned: false,
            is_deferred: false,
        }))
    });
    AsyncOp(task.flatten())
}

impl AsyncOp {
    /// True if this execution is being recorded.
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

    /// Polls the op's future. Ops that begin during the poll are inside this op, on any thread.
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

    /// Marks the time from now to the end as waiting for a device, and returns whether this execution is being
    /// recorded.
    pub fn begin_sync(&mut self) -> bool {
        if let Some(task) = &mut self.0 {
            task.begin_sync();
        }
        self.is_recording()
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
        count_open(&self.session, 1);
        state::with_active(|recorder| {
            if self.is_of(recorder.session()) {
                self.parent = recorder.current();
                self.start = recorder.now();
            }
        });
    }

    /// Ends the suspension since the last poll, and makes the task the parent of ops that begin now.
    fn resume(&mut self) -> Option<Around> {
        state::with_active(|recorder| {
            self.is_of(recorder.session()).then(|| {
                self.count_pause(recorder.now());
                Around::new(recorder.link(Some(OpRef::Task(self.number)), self.heap_context))
            })
        })
        .flatten()
    }

    /// Counts the time since the last poll as suspended.
    fn count_pause(&mut self, now: u64) {
        let length = now.saturating_sub(self.paused_at);
        if length == 0 {
            return;
        }
        self.suspended += length;
        let Pauses(pauses) = &mut **self.pauses.get_or_insert_default();
        if pauses.len() == MOST_PAUSES {
            let lengths = pauses.iter().map(|pause| pause.until - pause.from);
            match lengths.enumerate().min_by_key(|&(_, length)| length) {
                Some((index, shortest)) if shortest < length => pauses.remove(index),
                _ => return,
            };
        }
        pauses.push(RawPause {
            kind: PauseKind::Suspended,
            from: self.paused_at.saturating_sub(self.start),
            until: now.saturating_sub(self.start),
        });
    }

    fn begin_sync(&mut self) {
        state::with_any(|recorder| {
            let from = recorder.now().saturating_sub(self.start);
            self.pauses.get_or_insert_default().0.push(RawPause {
                kind: PauseKind::Sync,
                from,
                until: u64::MAX,
            });
        });
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
            count_open(&self.session, -1);
            let end = recorder.now();
            recorder.end_heap_task(self.heap_context);
            recorder.describe_outputs(&self.words, outputs);
            if outcome == Outcome::Cancelled {
                self.count_pause(end);
            }
            let extra = RawExtra {
                suspended: self.suspended,
                pauses: self.pauses.take(),
                parent: self.parent,
                task: Some(self.number),
                meta: std::mem::take(&mut self.meta),
                ..RawExtra::default()
            };
            recorder.end_task(EndedTask {
                start: self.start,
                end,
                outcome,
                extra,
            });
        });
    }
}

/// Counts the async ops of a session that have begun and not ended: at its end they are unfinished.
fn count_open(session: &Weak<Shared>, change: i64) {
    if let Some(session) = session.upgrade() {
        session
            .open_tasks
            .fetch_add(change as u64, Ordering::Relaxed);
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

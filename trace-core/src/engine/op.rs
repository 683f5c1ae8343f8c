//! The guard that expanded code holds while an op runs.

use super::recorder::{self, OpId};
use super::site::{KindCode, NO_KIND, Site, kind_code};
use super::state::{self, ThisThread};
use crate::describe::Describe;
use crate::site_name::SiteName;
use crate::{OpKind, Outcome};

/// An op that is running. Dropped without [`end`](Self::end), it was left through `?` or a panic.
///
/// One number, 0 if the op is not recorded. Everything else is in the thread's recorder, so that a function that is not
/// recorded needs at most one register for it.
#[derive(Debug)]
#[must_use]
pub struct Op(OpId);

/// Begins an op. Its inputs describe themselves only while recording, and the clock is read after that.
#[inline]
pub fn begin(name: impl SiteName, inputs: impl Describe) -> Op {
    let state = state::now();
    if state == 0 {
        return Op(0);
    }
    Op(begin_recorded::<NO_KIND, _, _>(name, state, inputs))
}

const COMPUTE: KindCode = kind_code(OpKind::Compute);
const COMMUNICATION: KindCode = kind_code(OpKind::Communication);
const MEMORY: KindCode = kind_code(OpKind::Memory);
const IO: KindCode = kind_code(OpKind::Io);
const OTHER: KindCode = kind_code(OpKind::Other);

/// Begins an op of a stated kind.
#[inline]
pub fn begin_kind(name: impl SiteName, kind: OpKind, inputs: impl Describe) -> Op {
    let state = state::now();
    if state == 0 {
        return Op(0);
    }
    // The kind is a constant where this is inlined, so it is part of the length that sites are compared by.
    Op(match kind {
        OpKind::Compute => begin_recorded::<COMPUTE, _, _>(name, state, inputs),
        OpKind::Communication => begin_recorded::<COMMUNICATION, _, _>(name, state, inputs),
        OpKind::Memory => begin_recorded::<MEMORY, _, _>(name, state, inputs),
        OpKind::Io => begin_recorded::<IO, _, _>(name, state, inputs),
        OpKind::Other => begin_recorded::<OTHER, _, _>(name, state, inputs),
    })
}

/// Not inlined, like [`end_recorded`]: a function that is not recorded then costs a load and a branch, and need not
/// save the registers that recording uses.
#[cold]
#[inline(never)]
fn begin_recorded<const KIND: KindCode, N: SiteName, D: Describe>(
    name: N,
    state: u32,
    inputs: D,
) -> OpId {
    let site = Site { name, kind: KIND };
    recorder::begin(ThisThread::new().local(), site, state, inputs)
}

#[cold]
#[inline(never)]
fn begin_sync(op: OpId) {
    recorder::begin_sync(ThisThread::new().local(), op);
}

#[cold]
#[inline(never)]
fn end_recorded(op: OpId, outputs: impl Describe) {
    recorder::end(ThisThread::new().local(), op, outputs);
}

impl Op {
    /// True if this execution is being recorded.
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.0 != 0
    }

    /// Marks the time from now to the end as waiting for a device, and returns whether this execution is being
    /// recorded.
    #[inline]
    pub fn begin_sync(&mut self) -> bool {
        if self.0 != 0 {
            begin_sync(self.0);
        }
        self.0 != 0
    }

    /// Ends the op: the clock is read first, then its outputs describe themselves if it is being recorded.
    ///
    /// Takes a reference, because a guard that is moved is copied in every function that can panic. Call it by its
    /// path: a method of a user's trait that takes `&self` would be chosen before it.
    #[inline]
    pub fn end(&mut self, outputs: impl Describe) {
        // Cleared before the end. If it were kept for the case that ending panics, every function that is not recorded
        // would need a register for it. Panics in the user's code that runs here are caught.
        let op = std::mem::take(&mut self.0);
        if op != 0 {
            end_recorded(op, outputs);
        }
    }
}

impl Drop for Op {
    #[inline]
    fn drop(&mut self) {
        if self.0 != 0 {
            abandon(self.0);
        }
    }
}

#[cold]
#[inline(never)]
fn abandon(op: OpId) {
    let outcome = if std::thread::panicking() {
        Outcome::Panicked
    } else {
        Outcome::Error
    };
    recorder::abandon(ThisThread::new().local(), op, outcome);
}

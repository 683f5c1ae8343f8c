//! The guard that expanded code holds while an op runs.

use super::recorder::GuardedOp;
use super::site::{KindCode, NO_KIND, Site, kind_code};
use super::state;
use crate::describe::Describe;
use crate::{OpKind, Outcome};

/// An op that is running. Dropped without [`end`](Self::end), it was left through `?` or a panic.
#[derive(Debug)]
#[must_use]
pub struct Op(Option<GuardedOp>);

/// Begins an op. Its inputs describe themselves only while recording, and the clock is read after that.
#[inline]
pub fn begin(name: &'static str, inputs: impl Describe) -> Op {
    if !state::is_anyone_recording() {
        return Op(None);
    }
    begin_recorded(name, NO_KIND, inputs)
}

/// Begins an op of a stated kind.
#[inline]
pub fn begin_kind(name: &'static str, kind: OpKind, inputs: impl Describe) -> Op {
    if !state::is_anyone_recording() {
        return Op(None);
    }
    begin_recorded(name, kind_code(kind), inputs)
}

/// Out of line, as is [`end_recorded`]: a function that is not recorded pays for a load and a branch,
/// not for the registers that recording needs.
#[cold]
#[inline(never)]
fn begin_recorded(name: &'static str, kind: KindCode, inputs: impl Describe) -> Op {
    // Made here: three words are passed in memory, and would be read in other widths than they were stored in.
    let site = Site { name, kind };
    Op(state::with_joined(|recorder| {
        recorder.begin_guarded(site, inputs)
    }))
}

#[cold]
#[inline(never)]
fn end_recorded(guarded: &GuardedOp, outputs: impl Describe) {
    // A description that panics leaves the op to its drop.
    state::with_any(|recorder| recorder.end_guarded(guarded, outputs));
}

impl Op {
    /// Whether this execution is being recorded.
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// Ends the op: the clock is read first, then its outputs describe themselves if it is being recorded.
    ///
    /// By reference: a guard that is moved is copied, tag and all, in every function that can panic. To be
    /// called by its path: a method that takes `&self` of a trait of the user's would come before it.
    #[inline]
    pub fn end(&mut self, outputs: impl Describe) {
        if let Some(guarded) = &self.0 {
            end_recorded(guarded, outputs);
            self.0 = None;
        }
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
    state::with_any(|recorder| recorder.abandon_guarded(guarded, outcome));
}

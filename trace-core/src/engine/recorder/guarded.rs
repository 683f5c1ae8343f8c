//! Ops that a guard keeps open, as `#[traced_op]` does: the hot path.
//!
//! An op takes the *short path* if it is like the one before it: its site is known, its tensors are those of its latest
//! signature, and it has nothing but a row. The short path has no lock, and no flag that must be reset: except while
//! tensors describe themselves, it calls no other function and only changes cells. Everything else is on the long path.
//! It is a tail call, so that the short path has no registers to save.

use super::open_ops::OpId;
use super::{OpenedBy, Recorder, Unusual, take_extra};
use crate::describe::Describe;
use crate::engine::chunk::{LONG_DURATION, Steps};
use crate::engine::local::Local;
use crate::engine::rows::RawPause;
use crate::engine::signatures::{Expected, FILTERED, Latest};
use crate::engine::sink::NOWHERE;
use crate::engine::site::{KindCode, Site, SiteKey, Sites};
use crate::engine::state;
use crate::site_name::SiteName;
use crate::{Outcome, PauseKind};

/// The result of looking up a site on the short path.
enum Look {
    Known(Latest),
    /// The session's filter leaves the op out.
    LeftOut,
    Unknown,
}

/// Begins an op that a guard will end; 0 if it is not recorded. `state` is the value of `STATE`.
#[allow(
    clippy::inline_always,
    reason = "into the one function per list of types"
)]
#[inline(always)]
#[allow(unsafe_code, reason = "see `Local`")]
pub(crate) fn begin<N: SiteName, D: Describe>(
    local: &Local,
    site: Site<N>,
    state: u32,
    inputs: D,
) -> OpId {
    if !local.is_open_for(state) {
        return begin_long(local, site.name, site.kind, inputs);
    }
    if D::HAS_LABEL {
        let begin = |recorder: &mut Recorder| recorder.begin_labelled(site, inputs);
        return local.with(begin).flatten().unwrap_or(0);
    }
    // SAFETY: the recorder is open, so it is not busy. `look` runs nothing but its own code.
    let latest = match unsafe { local.peek() }.look(site.key()) {
        Look::Known(latest) => latest,
        Look::LeftOut => return 0,
        Look::Unknown => return begin_long(local, site.name, site.kind, inputs),
    };
    let (mut at, mut expected) = (latest.at, latest.expected);
    if !D::IS_NOTHING {
        // SAFETY: the recorder is not busy, and the reference above is not used any more.
        at = unsafe { local.sink() }
            .sink
            .describe_inputs(latest.at, inputs);
        if at == NOWHERE {
            return open_described(local);
        }
        expected = expected.after(at - latest.at);
    }
    // SAFETY: the recorder is no longer busy. `open_known` runs nothing but its own code.
    match unsafe { local.peek() }.open_known(at, expected) {
        Some(id) => id,
        None => open_known_long(local, at, expected),
    }
}

/// Ends an op that a guard kept open, and the ops that were left open inside it.
#[allow(
    clippy::inline_always,
    reason = "into the one function per list of types"
)]
#[inline(always)]
#[allow(unsafe_code, reason = "see `Local`")]
pub(crate) fn end<D: Describe>(local: &Local, id: OpId, outputs: D) {
    if local.is_busy() {
        return;
    }
    // SAFETY: the recorder is not busy. Nothing but its own code runs up to the last use of `recorder` and `op`.
    let recorder = unsafe { local.peek() };
    let Some((op, around)) = recorder.open.innermost_with(id) else {
        return end_long(local, id, outputs);
    };
    let end = recorder.clock.now_shared();
    let (start, steps) = (op.start.get(), Steps::new(op.step(), around.step()));
    let (from, mut expected) = (op.at.get(), op.expected.get());
    let mut at = from;
    if !D::IS_NOTHING {
        // SAFETY: the recorder is not busy, and the references above are not used any more.
        at = unsafe { local.sink() }.sink.describe_outputs(from, outputs);
        expected = expected.after(at.wrapping_sub(from));
    }
    // SAFETY: the recorder is no longer busy. `close_known` runs nothing but its own code. The op is still the
    // innermost: ops do not begin and end while the recorder is busy.
    if !unsafe { local.peek() }.close_known(start, steps, expected, end) {
        close_described(local, id, at, end);
    }
}

#[cold]
#[inline(never)]
fn begin_long<N: SiteName, D: Describe>(local: &Local, name: N, kind: KindCode, inputs: D) -> OpId {
    let site = Site { name, kind };
    state::with_joined(local, |recorder| recorder.begin_guarded(site, inputs)).unwrap_or(0)
}

#[cold]
#[inline(never)]
fn open_described(local: &Local) -> OpId {
    local.with(Recorder::open_guarded).unwrap_or(0)
}

#[cold]
#[inline(never)]
fn open_known_long(local: &Local, at: usize, expected: Expected) -> OpId {
    let open = |recorder: &mut Recorder| {
        recorder.open.grow();
        recorder.open_known(at, expected).unwrap_or(0)
    };
    local.with(open).unwrap_or(0)
}

#[cold]
#[inline(never)]
fn end_long<D: Describe>(local: &Local, id: OpId, outputs: D) {
    local.with(|recorder| recorder.end_guarded(id, outputs));
}

/// Ends an op whose outputs have been described up to `at`.
#[cold]
#[inline(never)]
fn close_described(local: &Local, id: OpId, at: usize, end: u64) {
    local.with(|recorder| recorder.close_described(id, at, end));
}

/// Marks the time from now to the end of an op as waiting for a device.
pub(crate) fn begin_sync(local: &Local, id: OpId) {
    local.with(|recorder| recorder.begin_sync(id));
}

/// Ends an op that was left through `?` or a panic.
pub(crate) fn abandon(local: &Local, id: OpId, outcome: Outcome) {
    local.with(|recorder| recorder.abandon_guarded(id, outcome));
}

/// The short path: nothing here runs code of the user, and only cells change.
impl Recorder {
    #[inline]
    fn look(&self, key: SiteKey) -> Look {
        self.look_among(&self.sites, key)
    }

    #[inline]
    fn look_among(&self, sites: &Sites, key: SiteKey) -> Look {
        let Some(op) = sites.at_first_look(key) else {
            return Look::Unknown;
        };
        match self.sink.latest_of(op) {
            Some(latest) => Look::Known(latest),
            None if op == FILTERED => Look::LeftOut,
            None => Look::Unknown,
        }
    }

    /// Opens an op whose inputs are as expected, if there is a place for it. The start is stamped last: describing a
    /// large tensor is our cost, not the op's.
    #[inline]
    fn open_known(&self, at: usize, expected: Expected) -> Option<OpId> {
        let (op, index) = self.open.next()?;
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        op.at.set(at);
        op.expected.set(expected);
        self.open.open((op, index), id);
        op.start.set(self.clock.now_shared());
        self.open.publish(expected.signature());
        Some(id)
    }

    /// Appends the row of the innermost op if its outputs are as expected and there is room for it.
    #[inline]
    fn close_known(&self, start: u64, steps: Steps, expected: Expected, end: u64) -> bool {
        // If the clock went back, the op also takes the long path.
        let duration = end.wrapping_sub(start);
        let (Some(facts), Some(target)) = (expected.facts(duration), &self.target) else {
            return false;
        };
        if duration >= LONG_DURATION || !target.push_here([start, facts, steps.0]) {
            return false;
        }
        self.open.pop();
        true
    }
}

/// The long path.
impl Recorder {
    fn begin_guarded(
        &mut self,
        site: Site<impl SiteName>,
        mut inputs: impl Describe,
    ) -> Option<OpId> {
        let label = self.label_of(&mut inputs)?;
        self.begin_words(site, label, inputs)?;
        Some(self.open_guarded())
    }

    /// Begins an op that has the option `label`, on a recorder whose ops may take the short path.
    #[inline]
    fn begin_labelled(
        &mut self,
        site: Site<impl SiteName>,
        mut inputs: impl Describe,
    ) -> Option<OpId> {
        let label = self.label_of(&mut inputs)?;
        let sites = if label == self.label {
            Some(&self.sites)
        } else {
            self.labels.known_sites(label)
        };
        let latest = match sites.map(|sites| self.look_among(sites, site.key())) {
            Some(Look::Known(latest)) => latest,
            Some(Look::LeftOut) => return None,
            Some(Look::Unknown) | None => {
                self.begin_words(site, label, inputs)?;
                return Some(self.open_guarded());
            }
        };
        let at = self.sink.describe_inputs(latest.at, inputs);
        if at == NOWHERE {
            return Some(self.open_guarded());
        }
        let expected = latest.expected.after(at - latest.at);
        if self.open.next().is_none() {
            self.open.grow();
        }
        self.open_known(at, expected)
    }

    /// Opens an op whose inputs have been described.
    fn open_guarded(&mut self) -> OpId {
        self.open_op(OpenedBy::Guard)
    }

    fn end_guarded(&mut self, id: OpId, outputs: impl Describe) {
        let end = self.now();
        if let Some(index) = self.return_to(id) {
            self.resume(index);
            self.sink.begin_outputs();
            outputs.describe(&mut self.sink);
            self.close(index, end, Outcome::Ok);
        } else {
            self.end_suspended(id, end, Outcome::Ok, outputs);
        }
    }

    fn abandon_guarded(&mut self, id: OpId, outcome: Outcome) {
        let end = self.now();
        if let Some(index) = self.return_to(id) {
            self.resume(index);
            self.sink.begin_outputs();
            self.close(index, end, outcome);
        } else {
            self.end_suspended(id, end, outcome, ());
        }
    }

    /// Marks the time from now to the end of an op as waiting for a device.
    fn begin_sync(&mut self, id: OpId) {
        let now = self.now();
        let Some(index) = self.open.find(id) else {
            return;
        };
        let words = self.words_of(index);
        let Some(op) = self.open.get(index) else {
            return;
        };
        let mut extra = take_extra(&mut self.extras, op.step());
        extra.pauses.get_or_insert_default().0.push(RawPause {
            kind: PauseKind::Sync,
            from: now.saturating_sub(op.start.get()),
            until: u64::MAX,
        });
        self.extras.push(extra);
        op.make_unusual();
        match self.unusual.iter_mut().rfind(|unusual| unusual.id == id) {
            Some(unusual) => unusual.has_extra = true,
            None => self.unusual.push(Unusual {
                id,
                words,
                has_extra: true,
                opened_by: OpenedBy::Guard,
                has_ended: false,
            }),
        }
    }

    fn close_described(&mut self, id: OpId, at: usize, end: u64) {
        if let Some(index) = self.open.find(id) {
            if at != NOWHERE {
                self.sink.at_known(at);
            }
            self.close(index, end, Outcome::Ok);
        }
    }

    /// Ends the ops that code began by hand inside an op, and returns the place of the op.
    fn return_to(&mut self, id: OpId) -> Option<usize> {
        let index = self.open.find(id)?;
        self.end_frames_inside(index, Outcome::Ok);
        Some(index)
    }
}

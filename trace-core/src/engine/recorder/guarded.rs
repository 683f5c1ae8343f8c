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
use crate::engine::expected_words::At;
use crate::engine::labels::LabelNumber;
use crate::engine::local::Local;
use crate::engine::rows::RawPause;
use crate::engine::site::{KindCode, Site, SiteKey, SiteOp};
use crate::engine::state;
use crate::site_name::SiteName;
use crate::{Outcome, PauseKind};

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
    mut inputs: D,
) -> OpId {
    if !local.is_open_for(state) {
        return begin_long(local, site.name, site.kind, inputs);
    }
    let op = if D::HAS_LABEL {
        // SAFETY: the recorder is open, so it is not busy. No phase depends on the labels that are known.
        let label = unsafe { local.describing(false) }
            .recorder
            .label_of(&mut inputs);
        let Some(label) = label else {
            return 0;
        };
        // SAFETY: the recorder is no longer busy. `look_labelled` runs nothing but its own code.
        match unsafe { local.peek() }.look_labelled(label, site.key()) {
            Some(op) => op,
            None => return begin_labelled(local, site.name, site.kind, label, inputs),
        }
    } else {
        // SAFETY: the recorder is open, so it is not busy. `look` runs nothing but its own code.
        match unsafe { local.peek() }.look(site.key()) {
            Some(op) => op,
            None => return begin_long(local, site.name, site.kind, inputs),
        }
    };
    let SiteOp::Recorded(latest) = op else {
        return 0;
    };
    let mut at = latest.at();
    if !D::IS_NOTHING {
        // SAFETY: the recorder is not busy, and the references above are not used any more. No phase depends on the sink.
        at = unsafe { local.describing(inputs.can_panic()) }
            .recorder
            .sink
            .describe_inputs(at, inputs);
        if at.is_nowhere() {
            return open_described(local);
        }
    }
    // SAFETY: the recorder is no longer busy. The methods run nothing but their own code.
    let recorder = unsafe { local.peek() };
    match recorder.open_known(at) {
        // A call at the end of the function, so that no register is saved for it.
        Some(id) if recorder.open.is_published() => recorder.publish_known(id, at),
        Some(id) => id,
        None => open_known_long(local, at),
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
    let op = recorder.open.innermost();
    if !op.is_usual_with(id) {
        return end_long(local, id, outputs);
    }
    let mut end = recorder.clock.now_shared();
    let mut at = op.at();
    if !D::IS_NOTHING {
        recorder.end.set(end);
        // SAFETY: the recorder is not busy, and the references above are not used any more. No phase depends on the sink.
        at = unsafe { local.describing(outputs.can_panic()) }
            .recorder
            .sink
            .describe_outputs(at, outputs);
        // SAFETY: the recorder is no longer busy, and nothing else runs before the end of the statement.
        end = unsafe { local.peek() }.end.get();
    }
    // SAFETY: the recorder is no longer busy. `close_known` runs nothing but its own code. The op is still the innermost:
    // ops do not begin and end while the recorder is busy. Its place is in the signatures of this recorder.
    if !unsafe { local.peek().close_known(at, end) } {
        close_described(local, at, end);
    }
}

#[cold]
#[inline(never)]
fn begin_long<N: SiteName, D: Describe>(local: &Local, name: N, kind: KindCode, inputs: D) -> OpId {
    let site = Site { name, kind };
    state::with_joined(local, |recorder| recorder.begin_guarded(site, inputs)).unwrap_or(0)
}

/// Begins an op whose label is known, and which has no latest signature with it.
#[cold]
#[inline(never)]
fn begin_labelled<N: SiteName, D: Describe>(
    local: &Local,
    name: N,
    kind: KindCode,
    label: LabelNumber,
    inputs: D,
) -> OpId {
    let site = Site { name, kind };
    let begin = |recorder: &mut Recorder| {
        recorder.begin_words(site, label, inputs)?;
        Some(recorder.open_guarded())
    };
    local.with(begin).flatten().unwrap_or(0)
}

#[cold]
#[inline(never)]
fn open_described(local: &Local) -> OpId {
    local.with(Recorder::open_guarded).unwrap_or(0)
}

#[cold]
#[inline(never)]
fn open_known_long(local: &Local, at: At) -> OpId {
    let open = |recorder: &mut Recorder| {
        recorder.open.grow();
        let id = recorder.open_known(at)?;
        Some(recorder.publish_known(id, at))
    };
    local.with(open).flatten().unwrap_or(0)
}

#[cold]
#[inline(never)]
fn end_long<D: Describe>(local: &Local, id: OpId, outputs: D) {
    local.with(|recorder| recorder.end_guarded(id, outputs));
}

/// Ends the innermost op, whose outputs have been described up to `at`.
#[cold]
#[inline(never)]
fn close_described(local: &Local, at: At, end: u64) {
    local.with(|recorder| recorder.close_described(at, end));
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
    /// The op of a site, if it is known.
    #[inline]
    fn look(&self, key: SiteKey) -> Option<SiteOp<'_>> {
        self.sites.at_first_look(key)
    }

    /// The same with a label.
    #[inline]
    fn look_labelled(&self, label: LabelNumber, key: SiteKey) -> Option<SiteOp<'_>> {
        if label == self.label {
            return self.look(key);
        }
        self.labels.known_sites(label)?.at_first_look(key)
    }

    /// Opens an op whose inputs are as expected, if there is a place for it. The start is stamped last: describing a
    /// large tensor is our cost, not the op's.
    #[inline]
    #[allow(unsafe_code, reason = "see `At`")]
    fn open_known(&self, at: At) -> Option<OpId> {
        let id = self.next_id.get();
        let op = self.open.open(id, at)?;
        self.next_id.set(id + 1);
        op.set_start(self.clock.now_shared());
        Some(id)
    }

    /// Publishes the innermost op, which [`open_known`](Self::open_known) opened, and returns its id.
    #[inline(never)]
    #[allow(unsafe_code, reason = "see `At`")]
    fn publish_known(&self, id: OpId, at: At) -> OpId {
        // SAFETY: the place is in the signatures of this recorder.
        self.open.publish(unsafe { at.signature() });
        id
    }

    /// Appends the row of the innermost op if its outputs are as expected and there is room for it.
    ///
    /// # Safety
    ///
    /// An op is open, and the place is in the signatures of this recorder.
    #[inline]
    #[allow(unsafe_code, reason = "see above")]
    unsafe fn close_known(&self, at: At, end: u64) -> bool {
        // SAFETY: the caller's.
        let (op, around) = unsafe { self.open.innermost_two() };
        let start = op.start();
        let duration = end.wrapping_sub(start);
        // If the clock went back, the op also takes the long path.
        if duration >= LONG_DURATION {
            return false;
        }
        // SAFETY: the caller's.
        let Some(facts) = (unsafe { at.facts(duration) }) else {
            return false;
        };
        let steps = Steps::new(op.step(), around.step());
        if !self.chunk.push([start, facts, steps.0]) {
            return false;
        }
        // SAFETY: the caller's.
        unsafe { self.open.pop_known() };
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
            from: now.saturating_sub(op.start()),
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

    fn close_described(&mut self, at: At, end: u64) {
        if !at.is_nowhere() {
            self.sink.at_known(at);
        }
        self.close(self.open.len(), end, Outcome::Ok);
    }

    /// Ends the ops that code began by hand inside an op, and returns the place of the op.
    fn return_to(&mut self, id: OpId) -> Option<usize> {
        let index = self.open.find(id)?;
        self.end_frames_inside(index, Outcome::Ok);
        Some(index)
    }
}

//! Ops that a guard keeps open, as `#[traced_op]` does: the hot path.

use super::{OpenOp, Place, Recorder, labelled};
use crate::Outcome;
use crate::describe::Describe;
use crate::engine::labels::NO_LABEL;
use crate::engine::site::Site;

/// An op that a guard keeps open, and where it was opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GuardedOp {
    op: OpenOp,
    place: Place,
}

impl Recorder {
    /// Begins an op that a guard will end; none when it is not recorded.
    #[inline]
    pub(crate) fn begin_guarded(
        &mut self,
        site: Site,
        mut inputs: impl Describe,
    ) -> Option<GuardedOp> {
        let target = self.target.as_mut()?;
        let mut op = match self.sites.at_first_look(site) {
            Some(op) => op,
            None => target.number_of_site(&mut self.sites, site.name, site.kind),
        };
        let (labels, scope) = (&mut self.labels, self.label);
        let label = inputs
            .label(|text| labels.number(scope, text, &target.shared().room))
            .unwrap_or(scope);
        if label != NO_LABEL {
            op = labelled(labels, target, op, label);
        }
        if target.is_careful() && target.leaves_out(op, self.next_step) {
            return None;
        }
        let base = self.sink.begin(op);
        self.sink.describe(base, inputs);
        Some(GuardedOp {
            op: self.open(base),
            place: self.place,
        })
    }

    /// Ends an op that a guard kept open, and the ops that were left open inside of it.
    #[inline]
    pub(crate) fn end_guarded(&mut self, guarded: &GuardedOp, outputs: impl Describe) {
        let end = self.now();
        if guarded.place != self.place && !self.return_to(guarded.place) {
            return;
        }
        self.sink.resume(guarded.op.words);
        self.sink.begin_outputs();
        outputs.describe(&mut self.sink);
        self.close_inline(&guarded.op, end, Outcome::Ok);
    }

    /// Ends an op that was left through `?` or a panic, also one while its outputs were described.
    #[cold]
    #[inline(never)]
    pub(crate) fn abandon_guarded(&mut self, guarded: &GuardedOp, outcome: Outcome) {
        let end = self.now();
        if guarded.place != self.place && !self.return_to(guarded.place) {
            return;
        }
        self.sink.rewind(guarded.op.words);
        self.sink.begin_outputs();
        self.close(&guarded.op, end, outcome);
    }

    /// Ends the ops that were left open inside of an op; false if the op belongs to another recording.
    #[cold]
    #[inline(never)]
    fn return_to(&mut self, place: Place) -> bool {
        self.end_frames_above(place.depth(), Outcome::Ok);
        self.place == place
    }
}

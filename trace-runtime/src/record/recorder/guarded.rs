//! Ops that a guard keeps open: the way of `#[traced_op]`, and the hot path.

use super::{OpenOp, Place, TraceRecorder};
use crate::model::Outcome;
use crate::record::sink::TensorSink;
use crate::record::site::Site;

/// An op that a guard keeps open, and where it was opened.
#[derive(Debug, Clone, Copy)]
pub(in crate::record) struct GuardedOp {
    op: OpenOp,
    place: Place,
}

impl TraceRecorder {
    /// Begins an op that a guard will end; none when it is not recorded.
    #[inline]
    pub(in crate::record) fn begin_guarded(
        &mut self,
        site: &'static Site,
        inputs: impl FnOnce(&mut TensorSink),
    ) -> Option<GuardedOp> {
        let target = self.target.as_mut()?;
        let number = site.number();
        if target.is_careful() && target.leaves_out(number, self.next_step) {
            return None;
        }
        let base = self.sink.begin(number);
        self.sink.inputs(base, inputs);
        Some(GuardedOp {
            op: self.open(base),
            place: self.place,
        })
    }

    /// Ends an op that a guard kept open, with whatever was left open inside of it.
    #[inline]
    pub(in crate::record) fn end_guarded(
        &mut self,
        guarded: &GuardedOp,
        outcome: Outcome,
        outputs: impl FnOnce(&mut TensorSink),
    ) {
        let end = self.now();
        if guarded.place != self.place && !self.return_to(guarded.place) {
            return;
        }
        self.sink.resume(guarded.op.said);
        self.sink.begin_outputs();
        outputs(&mut self.sink);
        let outcome = self.outcome(outcome);
        self.close(guarded.op, end, outcome);
    }

    /// Ends what was left open inside of an op; false if the op belongs to another recording.
    #[cold]
    #[inline(never)]
    fn return_to(&mut self, place: Place) -> bool {
        self.end_frames_above(place.depth as usize, Outcome::Ok);
        self.place == place
    }
}

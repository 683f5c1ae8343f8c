//! Ops that code begins and ends by hand.

use super::{OpenedBy, Recorder};
use crate::engine::labels::NO_LABEL;
use crate::engine::sink::TensorSink;
use crate::engine::target::is_exhausted;
use crate::{DType, Device, Outcome};

impl Recorder {
    /// Begins an op. Ends the previous one if `begin_op` opened it and it is still open.
    pub fn begin_op(&mut self, operation: impl Into<String>) {
        if self.innermost() == Some(OpenedBy::BeginOp) {
            self.end_op();
        }
        self.open_frame(operation.into(), OpenedBy::BeginOp);
    }

    /// Ends the innermost op with the shapes of its inputs and its output. Does nothing when no op is
    /// open that `begin_op` or [`begin_nested`](Self::begin_nested) opened, or when a function with
    /// `#[traced_op]` runs inside it.
    pub fn end_op_with_shapes(&mut self, input_shapes: &[Vec<usize>], output_shape: &[usize]) {
        self.end_frame(Outcome::Ok, |sink| {
            sink.begin_inputs();
            for dims in input_shapes {
                sink.tensor(dims, DType::Unknown, Device::Unknown);
            }
            sink.begin_outputs();
            sink.tensor(output_shape, DType::Unknown, Device::Unknown);
        });
    }

    /// Ends the innermost op without shapes. Its output then has no dims, like a scalar.
    pub fn end_op(&mut self) {
        self.end_op_with_shapes(&[], &[]);
    }

    /// Begins an op inside the innermost open one, which stays open.
    pub fn begin_nested(&mut self, operation: impl Into<String>) {
        self.open_frame(operation.into(), OpenedBy::BeginNested);
    }

    /// Ends the innermost op that [`begin_nested`](Self::begin_nested) opened, and the ops inside it that `begin_op`
    /// opened. Does nothing when there is none.
    pub fn end_nested(&mut self) {
        let below = self.opened_by(self.open.len().wrapping_sub(1));
        if self.innermost() == Some(OpenedBy::BeginOp) && below == Some(OpenedBy::BeginNested) {
            self.end_op();
        }
        if self.innermost() == Some(OpenedBy::BeginNested) {
            self.end_frame(Outcome::Ok, |_| {});
        }
    }

    /// Number of open ops that `begin_op` and `begin_nested` began.
    pub fn depth(&self) -> usize {
        let is_frame = |index: &usize| self.opened_by(*index).is_some();
        (1..=self.open.len()).filter(is_frame).count()
    }

    /// Ends the ops that `begin_op` and `begin_nested` opened and that are still open, as [`Outcome::Unfinished`].
    pub fn end_unfinished(&mut self) {
        self.end_frames_above(0, Outcome::Unfinished);
    }

    /// Ends the ops that `begin_op` and `begin_nested` opened, except for the outermost `depth`.
    pub fn end_frames_above(&mut self, depth: usize, outcome: Outcome) {
        while self.depth() > depth {
            self.end_innermost_frame(outcome);
        }
    }

    /// Ends the ops inside an open op that `begin_op` and `begin_nested` opened.
    pub(super) fn end_frames_inside(&mut self, index: usize, outcome: Outcome) {
        while self.innermost_frame().is_some_and(|frame| frame > index) {
            self.end_innermost_frame(outcome);
        }
    }

    fn end_innermost_frame(&mut self, outcome: Outcome) {
        let Some(index) = self.innermost_frame() else {
            return;
        };
        // Ops inside it that a guard keeps open end later, or never.
        self.suspend_inside(index);
        match self.innermost() {
            Some(OpenedBy::BeginOp) if outcome == Outcome::Ok => self.end_op(),
            _ => self.end_frame(outcome, |_| {}),
        }
    }

    fn innermost_frame(&self) -> Option<usize> {
        let mut indices = (1..=self.open.len()).rev();
        indices.find(|index| self.opened_by(*index).is_some())
    }

    /// The method that opened the innermost op, if the recorder itself keeps it open.
    fn innermost(&self) -> Option<OpenedBy> {
        self.opened_by(self.open.len())
    }

    /// The method that opened an op, if it was not a guard.
    fn opened_by(&self, index: usize) -> Option<OpenedBy> {
        let op = self.open.get(index).filter(|op| op.is_unusual())?;
        let unusual = self.unusual.iter().rfind(|unusual| unusual.id == op.id())?;
        (unusual.opened_by != OpenedBy::Guard).then_some(unusual.opened_by)
    }

    fn open_frame(&mut self, operation: String, opened_by: OpenedBy) {
        let next_step = self.next_step();
        let Some(target) = &mut self.target else {
            return;
        };
        if target.is_careful() && is_exhausted(next_step) {
            return target.drop_row();
        }
        let op = target.number_of(operation);
        let number = if self.label == NO_LABEL {
            op
        } else {
            self.labels.labelled(target.shared(), op, self.label)
        };
        self.sink.begin(number);
        self.open_op(opened_by);
    }

    fn end_frame(&mut self, outcome: Outcome, describe: impl FnOnce(&mut TensorSink)) {
        if self.innermost().is_none() {
            return;
        }
        let end = self.now();
        let index = self.open.len();
        self.resume(index);
        self.sink.begin_outputs();
        describe(&mut self.sink);
        self.close(index, end, outcome);
    }
}

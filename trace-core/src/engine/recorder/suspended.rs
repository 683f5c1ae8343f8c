//! Open ops that are not parents of the ops that begin now: for example a block that waits inside a future.

use super::{Ending, OpId, Recorder};
use crate::Outcome;
use crate::describe::Describe;
use crate::engine::chunk::Steps;

/// Suspended ops that are kept: they may never end. If there are more, the oldest are dropped and counted.
const MOST: usize = 1024;

/// An op that is still open although the op around it has ended or was left.
#[derive(Debug)]
pub(super) struct Suspended {
    id: OpId,
    start: u64,
    steps: Steps,
    words: Vec<usize>,
    has_extra: bool,
}

impl Recorder {
    /// Suspends the ops that are inside an open op.
    pub(super) fn suspend_inside(&mut self, index: usize) {
        self.leave_heap(index + 1);
        while self.open.len() > index {
            let inner = self.open.len();
            let words = self.words_of(inner);
            if let Some(op) = self.open.get(inner) {
                let (id, start) = (op.id(), op.start());
                let steps = Steps::new(op.step(), self.open.step(inner - 1));
                let at = self.unusual.iter().rposition(|unusual| unusual.id == id);
                let unusual = at.map(|at| self.unusual.remove(at));
                let has_ended = unusual.as_ref().is_some_and(|unusual| unusual.has_ended);
                self.sink.resume(words);
                let words = self.sink.take_words();
                if !has_ended && op.is_op() {
                    let has_extra = unusual.is_some_and(|unusual| unusual.has_extra);
                    self.suspended.push(Suspended {
                        id,
                        start,
                        steps,
                        words,
                        has_extra,
                    });
                }
            }
            self.open.pop();
        }
        self.sink.set_top(self.words_below(u32::MAX));
        while self.suspended.len() > MOST {
            let oldest = self.suspended.remove(0);
            self.drop_op(Ending {
                start: oldest.start,
                end: oldest.start,
                steps: oldest.steps,
                has_extra: oldest.has_extra,
                outcome: Outcome::Unfinished,
            });
        }
    }

    /// Ends an op that was suspended. Does nothing if it belongs to another recording.
    pub(super) fn end_suspended(
        &mut self,
        id: OpId,
        end: u64,
        outcome: Outcome,
        outputs: impl Describe,
    ) {
        let Some(at) = self.suspended.iter().rposition(|op| op.id == id) else {
            return;
        };
        let op = self.suspended.remove(at);
        self.sink.restore(&op.words);
        self.sink.begin_outputs();
        outputs.describe(&mut self.sink);
        self.append(Ending {
            start: op.start,
            end,
            steps: op.steps,
            has_extra: op.has_extra,
            outcome,
        });
    }
}

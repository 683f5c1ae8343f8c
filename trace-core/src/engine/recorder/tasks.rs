//! Ops whose parent is on another thread, and ops that continue across `.await`.

use super::{OpenOp, Recorder, labelled};
use crate::Outcome;
use crate::describe::Describe;
use crate::engine::chunk::{NO_PARENT, Steps};
use crate::engine::labels::{LabelNumber, NO_LABEL};
use crate::engine::rows::{OpRef, RawExtra};
use crate::engine::site::Site;

impl Recorder {
    /// The innermost open op, as other threads may refer to it.
    pub(crate) fn current(&self) -> Option<OpRef> {
        let target = self.target.as_ref()?;
        if self.parent == NO_PARENT {
            return self.link;
        }
        Some(OpRef::OnThread {
            uid: target.uid(),
            step: self.parent,
        })
    }

    /// Puts `op` around what begins next; give the result to [`unlink`](Self::unlink).
    pub(crate) fn link(&mut self, op: Option<OpRef>) -> Linked {
        let linked = Linked {
            parent: self.parent,
            link: self.link,
            generation: self.place.generation(),
        };
        self.parent = NO_PARENT;
        self.link = op;
        linked
    }

    pub(crate) fn unlink(&mut self, linked: Linked) {
        if linked.generation == self.place.generation() {
            self.parent = linked.parent;
            self.link = linked.link;
        }
    }

    /// Enters the scope of a label; give the result to [`leave_label`](Self::leave_label).
    pub(crate) fn enter_label(&mut self, text: &str) -> Option<LabelScope> {
        let target = self.target.as_ref()?;
        let label = self.labels.number(self.label, text, &target.shared().room);
        Some(LabelScope {
            outer: std::mem::replace(&mut self.label, label),
            generation: self.place.generation(),
        })
    }

    pub(crate) fn leave_label(&mut self, scope: LabelScope) {
        if scope.generation == self.place.generation() {
            self.label = scope.outer;
        }
    }

    /// Describes the inputs of a task that is not on this thread's stack; none when it is not recorded.
    pub(crate) fn describe_task(
        &mut self,
        site: Site,
        mut inputs: impl Describe,
    ) -> Option<(Vec<usize>, Meta)> {
        let target = self.target.as_mut()?;
        let mut op = target.number_of_site(&mut self.sites, site.name, site.kind);
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
        Some((self.sink.take_words(base), self.sink.take_meta()))
    }

    /// Describes the outputs of a task after the words of its inputs. Returns where its words begin.
    pub(crate) fn describe_outputs(&mut self, words: &[usize], outputs: impl Describe) -> u32 {
        let base = self.sink.restore(words);
        self.sink.begin_outputs();
        self.sink.describe(base, outputs);
        base
    }

    /// Appends a task that has ended on this thread, and whose outputs have been described.
    pub(crate) fn end_task(&mut self, task: EndedTask) {
        let around = self.parent;
        let step = self.next_step as u32;
        self.next_step += 1;
        self.extras.push(RawExtra { step, ..task.extra });
        let op = OpenOp {
            start: task.start,
            steps: Steps::new(step, NO_PARENT),
            words: self.sink.op_words(task.base),
            has_extra: true,
        };
        self.close(&op, task.end, task.outcome);
        self.parent = around;
    }
}

/// Keys and values of `meta(…)`.
type Meta = Vec<(&'static str, String)>;

/// Parent and link before [`Recorder::link`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Linked {
    parent: u32,
    link: Option<OpRef>,
    generation: u32,
}

/// The label before [`Recorder::enter_label`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelScope {
    outer: LabelNumber,
    generation: u32,
}

/// A task that has run to its end, or been dropped before.
pub(crate) struct EndedTask {
    /// Where its words begin.
    pub(crate) base: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) outcome: Outcome,
    pub(crate) extra: RawExtra,
}

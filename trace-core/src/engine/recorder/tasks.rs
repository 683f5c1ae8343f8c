//! Ops whose parent is on another thread, and ops that continue across `.await`.

use super::{Ending, Recorder};
use crate::Outcome;
use crate::describe::Describe;
use crate::engine::chunk::{NO_PARENT, Steps};
use crate::engine::labels::LabelNumber;
use crate::engine::rows::{Meta, OpRef, RawExtra};
use crate::engine::site::Site;
use crate::site_name::SiteName;

impl Recorder {
    /// The innermost open op, as other threads may refer to it.
    pub(crate) fn current(&self) -> Option<OpRef> {
        let target = self.target.as_ref()?;
        match self.open.innermost_step() {
            NO_PARENT => self.link,
            step => Some(OpRef::OnThread {
                uid: target.uid(),
                step,
            }),
        }
    }

    /// Makes `op` the parent of the ops that begin next. Pass the result to [`unlink`](Self::unlink).
    pub(crate) fn link(&mut self, op: Option<OpRef>, heap_context: u16) -> Linked {
        let id = u64::from(self.generation()) << 32 | u64::from(NO_PARENT);
        self.put_open(id, |around| {
            around.make_unusual();
            // A link has no words, so their field is free for the context.
            around.at.set(usize::from(heap_context));
        });
        Linked {
            index: self.open.len(),
            link: std::mem::replace(&mut self.link, op),
            generation: self.generation(),
        }
    }

    pub(crate) fn unlink(&mut self, linked: Linked) {
        if linked.generation == self.generation() && linked.index <= self.open.len() {
            self.suspend_inside(linked.index - 1);
            self.pop_ended();
            self.link = linked.link;
        }
    }

    /// The label of the scope that the thread is in; empty outside all.
    pub(crate) fn label_path(&self) -> &str {
        self.labels.path(self.label)
    }

    /// Enters the scope of a label. Pass the result to [`leave_label`](Self::leave_label).
    pub(crate) fn enter_label(&mut self, text: &str) -> Option<LabelScope> {
        let target = self.target.as_ref()?;
        let label = self.labels.number(self.label, text, &target.shared().room);
        let outer = self.label;
        self.change_label(label);
        Some(LabelScope {
            outer,
            generation: self.generation(),
        })
    }

    pub(crate) fn leave_label(&mut self, scope: LabelScope) {
        if scope.generation == self.generation() {
            self.change_label(scope.outer);
        }
    }

    fn change_label(&mut self, label: LabelNumber) {
        let outer = std::mem::replace(&mut self.label, label);
        self.labels.exchange_sites(&mut self.sites, outer, label);
    }

    /// Describes the inputs of a task that is not on this thread's stack; `None` if it is not recorded.
    pub(crate) fn describe_task(
        &mut self,
        site: Site<impl SiteName>,
        mut inputs: impl Describe,
    ) -> Option<(Vec<usize>, Meta)> {
        let label = self.label_of(&mut inputs)?;
        self.begin_words(site, label, inputs)?;
        Some((self.sink.take_words(), self.sink.take_meta()))
    }

    /// Describes the outputs of a task after the words of its inputs.
    pub(crate) fn describe_outputs(&mut self, words: &[usize], outputs: impl Describe) {
        self.sink.restore(words);
        self.sink.begin_outputs();
        outputs.describe(&mut self.sink);
    }

    /// Appends a task that has ended on this thread, and whose outputs have been described.
    pub(crate) fn end_task(&mut self, task: EndedTask) {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        let step = id as u32;
        self.extras.push(RawExtra { step, ..task.extra });
        self.append(Ending {
            start: task.start,
            end: task.end,
            steps: Steps::new(step, NO_PARENT),
            has_extra: true,
            outcome: task.outcome,
        });
    }
}

/// The link before [`Recorder::link`], and the index of the new one among the open ops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Linked {
    index: usize,
    link: Option<OpRef>,
    generation: u32,
}

/// The label before [`Recorder::enter_label`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelScope {
    outer: LabelNumber,
    generation: u32,
}

/// A task that has run to its end, or was dropped before.
pub(crate) struct EndedTask {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) outcome: Outcome,
    pub(crate) extra: RawExtra,
}

//! The arrows of a Perfetto trace, from an op to the ops that it handed to another thread.

use crate::export::timeline::{ThreadKey, Timeline};
use crate::model::{EntryView, TraceView};
use std::collections::HashMap;

/// For each op its children on other threads. A slice must list its arrows at its start, when its children are not
/// written yet, so the arrows are collected from the whole trace first.
#[derive(Debug)]
pub(super) struct Handoffs {
    children: HashMap<usize, Vec<usize>>,
}

/// The arrows of one op; the number of an arrow is the step of the op that it points to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrows<'a> {
    pub(super) to: &'a [usize],
    /// True if an arrow points to this op.
    pub(super) arrives: bool,
}

impl Handoffs {
    pub(super) fn of_trace(trace: &dyn TraceView, timeline: &Timeline<'_>) -> Self {
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        let handed_off = |view: &EntryView<'_>| {
            let parent = view
                .parent()
                .filter(|&parent| timeline.handed_off(parent))?;
            let above = trace.view(trace.index_of_step(parent)?);
            let elsewhere = ThreadKey::of(&above) != ThreadKey::of(view);
            (elsewhere && above.start_ns()? <= view.start_ns()?).then_some(parent)
        };
        for view in trace.views() {
            if let Some(parent) = handed_off(&view) {
                children.entry(parent).or_default().push(view.step());
            }
        }
        for steps in children.values_mut() {
            steps.sort_unstable();
        }
        Handoffs { children }
    }

    pub(super) fn of(&self, view: &EntryView<'_>) -> Arrows<'_> {
        if self.children.is_empty() {
            return Arrows {
                to: &[],
                arrives: false,
            };
        }
        let siblings = view.parent().and_then(|parent| self.children.get(&parent));
        Arrows {
            to: self.children.get(&view.step()).map_or(&[], Vec::as_slice),
            arrives: siblings.is_some_and(|steps| steps.binary_search(&view.step()).is_ok()),
        }
    }
}

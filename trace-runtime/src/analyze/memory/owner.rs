//! The op that memory is charged to, and the ops around it.

use crate::model::{EntryView, MemoryContext, MemoryEvent, TraceView, memory_contexts};
use std::collections::HashMap;

/// The owner that the memory of an event is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A context of a rank: its index in [`Owners`].
    Context(u32, u32),
    /// The entry with this step.
    Step(usize),
    Unknown,
}

/// An op with its inputs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct OwnerOp {
    /// None for memory outside ops, or from before the trace.
    pub(crate) operation: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) input_shapes: Vec<Vec<usize>>,
}

/// The owners of a trace's memory.
pub(crate) struct Owners<'a, T: ?Sized> {
    trace: &'a T,
    ranks: HashMap<Option<u32>, u32>,
    contexts: Vec<Vec<MemoryContext>>,
}

impl<'a, T: TraceView + ?Sized> Owners<'a, T> {
    pub(crate) fn new(trace: &'a T) -> Owners<'a, T> {
        Owners {
            trace,
            ranks: HashMap::new(),
            contexts: Vec::new(),
        }
    }

    pub(crate) fn of(&mut self, event: &MemoryEvent<'_>) -> Owner {
        let Some(context) = event.context else {
            return event.during.map_or(Owner::Unknown, Owner::Step);
        };
        let rank = *self.ranks.entry(event.rank).or_insert_with(|| {
            self.contexts.push(memory_contexts(self.trace, event.rank));
            self.contexts.len() as u32 - 1
        });
        Owner::Context(rank, context)
    }

    /// The op, without the ops around it.
    pub(crate) fn op(&self, owner: Owner) -> OwnerOp {
        match owner {
            Owner::Unknown => OwnerOp::default(),
            Owner::Context(rank, context) => self
                .context(rank, context as usize)
                .map_or_else(OwnerOp::default, op_of_context),
            Owner::Step(step) => self
                .trace
                .index_of_step(step)
                .map_or_else(OwnerOp::default, |index| {
                    op_of_entry(&self.trace.view(index))
                }),
        }
    }

    /// The names of the ops around it and its own, outermost first.
    pub(crate) fn stack(&self, owner: Owner) -> Vec<String> {
        let mut stack = Vec::new();
        match owner {
            Owner::Unknown => stack.push("(outside ops)".to_owned()),
            Owner::Context(rank, context) => {
                let mut next = Some(context as usize);
                while let Some(context) = next.and_then(|next| self.context(rank, next)) {
                    stack.push(context.operation.clone());
                    // A damaged file may have a cycle.
                    next = context.parent.filter(|_| stack.len() <= MAX_DEPTH);
                }
            }
            Owner::Step(step) => {
                let mut next = Some(step);
                while let Some(index) = next.and_then(|step| self.trace.index_of_step(step)) {
                    let view = self.trace.view(index);
                    stack.push(view.operation().to_owned());
                    next = view.parent().filter(|_| stack.len() <= MAX_DEPTH);
                }
            }
        }
        stack.reverse();
        stack
    }

    fn context(&self, rank: u32, context: usize) -> Option<&MemoryContext> {
        self.contexts.get(rank as usize)?.get(context)
    }
}

const MAX_DEPTH: usize = 4096;

pub(super) fn op_of_context(context: &MemoryContext) -> OwnerOp {
    OwnerOp {
        operation: context.is_op.then(|| context.operation.clone()),
        label: context.label.clone(),
        input_shapes: context.input_shapes.clone(),
    }
}

fn op_of_entry(view: &EntryView<'_>) -> OwnerOp {
    OwnerOp {
        operation: Some(view.operation().to_owned()),
        label: view.label().map(str::to_owned),
        input_shapes: view.inputs().map(|tensor| tensor.dims.to_vec()).collect(),
    }
}

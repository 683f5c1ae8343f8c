//! The contexts whose blocks a thread has freed lately, with its counters for each: most frees outside the op that
//! allocated find their counters here.

use super::counters::ContextCounters;
use super::owner::{ContextTag, Owner};
use std::cell::Cell;

const KNOWN: usize = 16;

/// A table by the last bits of the context. A context in it is also in the list of those that have changed.
pub(super) struct FreedContexts([Cell<(ContextTag, &'static ContextCounters)>; KNOWN]);

static NO_COUNTERS: ContextCounters = ContextCounters::new();

impl FreedContexts {
    pub(super) const fn new() -> FreedContexts {
        FreedContexts([const { Cell::new((ContextTag::NONE, &NO_COUNTERS)) }; KNOWN])
    }

    pub(super) fn clear(&self) {
        for known in &self.0 {
            known.set((ContextTag::NONE, &NO_COUNTERS));
        }
    }

    /// The counters for a block of this owner, if its context is of this recording and in the table.
    #[inline]
    pub(super) fn get(&self, owner: Owner) -> Option<&'static ContextCounters> {
        let (known, counters) = self.0[usize::from(owner.context()) % KNOWN].get();
        (known == owner.context_tag()).then_some(counters)
    }

    pub(super) fn add(&self, owner: Owner, counters: &'static ContextCounters) {
        self.0[usize::from(owner.context()) % KNOWN].set((owner.context_tag(), counters));
    }
}

//! Counts blocks of a thread, and logs changes once they are large enough.

use super::changes::Change;
use super::counters::ContextCounters;
use super::sampling::Weight;
use super::session::Slot;
use super::thread::ThreadHeap;
use std::cell::Cell;

const MAX_LISTED: usize = 32;

/// Contexts of a thread that have changed since it last logged its changes.
pub(super) struct Listed {
    contexts: [Cell<u16>; MAX_LISTED],
    len: Cell<usize>,
}

impl Listed {
    pub(super) const fn new() -> Listed {
        Listed {
            contexts: [const { Cell::new(0) }; MAX_LISTED],
            len: Cell::new(0),
        }
    }

    pub(super) fn clear(&self) {
        self.len.set(0);
    }

    /// False if the list is full now.
    fn push(&self, context: u16) -> bool {
        let len = self.len.get();
        if let Some(listed) = self.contexts.get(len) {
            listed.set(context);
            self.len.set(len + 1);
        }
        len + 1 < MAX_LISTED
    }

    /// Empties the list.
    fn take(&self) -> impl Iterator<Item = u16> {
        let len = self.len.replace(0);
        self.contexts.iter().take(len).map(Cell::get)
    }
}

impl ThreadHeap {
    #[inline]
    pub(super) fn count_allocation(&self, block: Weight) {
        self.counters.get().count_allocation(block);
        let net = self.net.get().wrapping_add(block.bytes as i64);
        self.net.set(net);
        if net > self.highest.get() {
            self.highest.set(net);
        }
        if net > self.log_above.get() {
            self.log_changes_now();
        }
    }

    #[inline]
    pub(super) fn count_free_of_innermost(&self, block: Weight) {
        self.counters.get().count_free(block);
        self.count_temporary(block);
    }

    /// Counts a block that was allocated inside the innermost op.
    #[inline]
    pub(super) fn count_temporary(&self, block: Weight) {
        let temporary = self.temporary.get().wrapping_add(block.bytes);
        self.temporary.set(temporary);
    }

    /// Counts a block less. True if the changes must be logged.
    #[inline]
    pub(super) fn count_less(&self, block: Weight) -> bool {
        let net = self.net.get().wrapping_sub(block.bytes as i64);
        self.net.set(net);
        net < self.log_below.get()
    }

    /// Remembers that a context has changed.
    #[inline]
    pub(super) fn list(&self, counters: &ContextCounters, context: u16) {
        if counters.list() && !self.listed.push(context) {
            self.log_changes_now();
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn log_changes_now(&self) {
        if let Some(slot) = self.slot.get() {
            self.log_changes(slot);
        }
    }

    pub(super) fn log_changes(&self, slot: &Slot) {
        let _busy = self.busy();
        let listed = self.listed.take();
        // Its contexts are in the list.
        self.freed_contexts.clear();
        let net = self.net.get();
        let Some(session) = slot
            .session()
            .filter(|session| session.number == self.seen.get())
        else {
            // The recording is over.
            self.log_above.set(i64::MAX);
            self.log_below.set(i64::MIN);
            return;
        };
        let at = session.clock.clone().now();
        session.changes.log(listed.filter_map(|context| {
            let bytes = slot.counters.get(context)?.change_to_log();
            Some(Change { at, context, bytes })
        }));
        let threshold = session.changes.threshold() as i64;
        self.log_above.set(net.saturating_add(threshold));
        self.log_below.set(net.saturating_sub(threshold));
        let innermost = self.innermost.get().context;
        self.list(self.counters.get(), innermost);
    }
}

//! One interface to every storage of a trace: [`TraceView`] and its entries.

use super::TraceStore;
use super::entry::RecordedTraceEntry;
use super::entry_view::EntryView;
use super::memory::{MemoryEvent, events_in};
use super::runtime_call::{Launch, RuntimeCall, calls_in, launches_in};
use super::thread_names::name_in;
use super::trace::RecordedExecutionTrace;
use super::trace_step::TraceStep;
use std::collections::HashMap;
use std::ops::Range;

/// Anything that holds a trace: [`RecordedExecutionTrace`], [`TraceStore`].
///
/// Every analysis and every exporter takes one of these, so a trace from a file works like a trace
/// of this process. `&dyn TraceView` works too. The trait is sealed: methods may be added.
///
/// ```
/// use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry, TraceView};
///
/// let mut trace = RecordedExecutionTrace::new();
/// trace.add_entry(RecordedTraceEntry::new(0, "matmul"));
/// let view: &dyn TraceView = &trace;
/// assert_eq!(view.view(0).operation(), "matmul");
/// assert_eq!(view.views().count(), 1);
/// ```
pub trait TraceView: sealed::Sealed {
    /// The number of entries.
    fn entry_count(&self) -> usize;

    /// The entry at `index`, in the order in which ops began.
    ///
    /// # Panics
    /// If `index` is not below [`entry_count`](Self::entry_count).
    fn view(&self, index: usize) -> EntryView<'_>;

    /// All entries, in the order in which ops began.
    fn views(&self) -> Views<'_>;

    /// The index of the entry with this step; `None` if there is no such entry.
    fn index_of_step(&self, step: usize) -> Option<usize>;

    /// Time spent in ops, in microseconds. No moment of one thread is counted twice.
    fn total_duration_us(&self) -> f64;

    /// Facts about the run: the recorder, the machine, counts of dropped ops.
    fn metadata(&self) -> &HashMap<String, String>;

    /// The name of a thread of a rank, if it has one. Each rank numbers its own threads.
    fn thread_name(&self, rank: Option<u32>, thread: u64) -> Option<&str>;

    /// Allocations and frees during the run, in order of time. Empty if the allocator was not traced.
    fn memory_events(&self) -> Box<dyn Iterator<Item = MemoryEvent<'_>> + '_>;

    /// Calls into a device's runtime, in the order in which they began; empty if none were traced.
    fn runtime_calls(&self) -> Box<dyn Iterator<Item = RuntimeCall<'_>> + '_>;

    /// The runtime call that launched each entry on a device, in any order. A call is numbered by its
    /// position in [`runtime_calls`](Self::runtime_calls).
    fn launches(&self) -> Box<dyn Iterator<Item = Launch> + '_>;

    /// The steps of the program's loop, earliest first; empty if it marked none.
    fn steps(&self) -> &[TraceStep];
}

/// A [`TraceView`] that also returns its entries as its own type: `&RecordedTraceEntry` from a
/// [`RecordedExecutionTrace`], [`StoredEntry`](super::StoredEntry) from a [`TraceStore`].
///
/// Only functions that return entries of the caller's trace need it, such as
/// [`TraceAnalyzer::memory_hotspots`](crate::TraceAnalyzer::memory_hotspots). Everything else takes a
/// [`TraceView`].
pub trait EntryStorage: TraceView {
    /// A borrowed entry.
    type Entry<'a>: Copy + Into<EntryView<'a>>
    where
        Self: 'a;

    /// The entry at `index`, in the order in which ops began.
    ///
    /// # Panics
    /// If `index` is not below [`entry_count`](TraceView::entry_count).
    fn entry(&self, index: usize) -> Self::Entry<'_>;
}

pub(crate) mod sealed {
    /// Keeps [`TraceView`](super::TraceView) from being implemented in other crates.
    pub trait Sealed {}
}

/// The entries of a trace, in the order in which ops began. Made by [`TraceView::views`].
pub struct Views<'a>(Entries<'a>);

enum Entries<'a> {
    Owned(std::slice::Iter<'a, RecordedTraceEntry>),
    Stored(&'a TraceStore, Range<usize>),
    Other(Box<dyn Iterator<Item = EntryView<'a>> + 'a>),
}

impl<'a> Views<'a> {
    /// All entries of a store.
    pub(super) fn stored(store: &'a TraceStore) -> Views<'a> {
        Views(Entries::Stored(store, 0..store.len()))
    }

    /// The entries of a view that consists of other views.
    pub(crate) fn other(views: impl Iterator<Item = EntryView<'a>> + 'a) -> Views<'a> {
        Views(Entries::Other(Box::new(views)))
    }
}

impl<'a> Iterator for Views<'a> {
    type Item = EntryView<'a>;

    #[inline]
    fn next(&mut self) -> Option<EntryView<'a>> {
        match &mut self.0 {
            Entries::Owned(entries) => entries.next().map(EntryView::from),
            Entries::Stored(store, range) => range.next().map(|index| store.view(index)),
            Entries::Other(views) => views.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Entries::Owned(entries) => entries.size_hint(),
            Entries::Stored(_, range) => range.size_hint(),
            Entries::Other(views) => views.size_hint(),
        }
    }

    fn nth(&mut self, n: usize) -> Option<EntryView<'a>> {
        match &mut self.0 {
            Entries::Owned(entries) => entries.nth(n).map(EntryView::from),
            Entries::Stored(store, range) => range.nth(n).map(|index| store.view(index)),
            Entries::Other(views) => views.nth(n),
        }
    }
}

impl std::fmt::Debug for Views<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Views").finish_non_exhaustive()
    }
}

impl sealed::Sealed for RecordedExecutionTrace {}

impl TraceView for RecordedExecutionTrace {
    fn entry_count(&self) -> usize {
        self.entries.len()
    }

    fn view(&self, index: usize) -> EntryView<'_> {
        EntryView::from(&self.entries[index])
    }

    fn views(&self) -> Views<'_> {
        Views(Entries::Owned(self.entries.iter()))
    }

    fn index_of_step(&self, step: usize) -> Option<usize> {
        match self.entries.get(step) {
            Some(entry) if entry.step == step => Some(step),
            _ => self
                .entries
                .binary_search_by_key(&step, |entry| entry.step)
                .ok(),
        }
    }

    fn total_duration_us(&self) -> f64 {
        self.total_duration_us
    }

    fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    fn thread_name(&self, rank: Option<u32>, thread: u64) -> Option<&str> {
        name_in(&self.metadata, rank, thread)
    }

    fn memory_events(&self) -> Box<dyn Iterator<Item = MemoryEvent<'_>> + '_> {
        Box::new(events_in(&self.metadata))
    }

    fn runtime_calls(&self) -> Box<dyn Iterator<Item = RuntimeCall<'_>> + '_> {
        Box::new(calls_in(&self.metadata))
    }

    fn launches(&self) -> Box<dyn Iterator<Item = Launch> + '_> {
        Box::new(launches_in(&self.metadata))
    }

    fn steps(&self) -> &[TraceStep] {
        &self.steps
    }
}

impl EntryStorage for RecordedExecutionTrace {
    type Entry<'a> = &'a RecordedTraceEntry;

    fn entry(&self, index: usize) -> &RecordedTraceEntry {
        &self.entries[index]
    }
}

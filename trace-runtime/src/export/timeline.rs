//! The entries of a trace in order of their starts, on a clock that starts at zero.

use crate::analyze::thread_labels;
use crate::model::{EntryView, TraceView};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// The facts about a whole trace that are needed before its first entry is written.
///
/// Only unusual cases need memory: entries that are not in the order of their starts, and parents that handed work to
/// another thread.
pub(super) struct Timeline<'a> {
    trace: &'a dyn TraceView,
    order: Option<Vec<u32>>,
    origin_ns: i64,
    ranks: BTreeSet<Option<u32>>,
    handed_off: HashSet<usize>,
    labels: BTreeMap<(Option<u32>, Option<u64>), String>,
}

/// An entry and its times, in nanoseconds since the origin of the trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) view: EntryView<'a>,
    /// `None` if it was not recorded: the entry is then shown after the one before it.
    pub(super) start_ns: Option<u64>,
    pub(super) duration_ns: u64,
}

impl<'a> Timeline<'a> {
    pub(super) fn of(trace: &'a dyn TraceView) -> Self {
        let mut timeline = Timeline {
            trace,
            order: None,
            origin_ns: 0,
            ranks: BTreeSet::new(),
            handed_off: HashSet::new(),
            labels: thread_labels(trace),
        };
        let (mut last, mut sorted) = (i64::MIN, true);
        for view in trace.views() {
            if let Some(start) = view.start_ns().map(on_the_clock) {
                timeline.origin_ns = timeline.origin_ns.min(start);
                sorted &= last <= start;
                last = start;
            }
            timeline.ranks.insert(view.rank());
            timeline.note_handoff(&view);
        }
        for event in trace.memory_events() {
            timeline.origin_ns = timeline.origin_ns.min(on_the_clock(event.at_ns));
        }
        for step in trace.steps() {
            timeline.origin_ns = timeline.origin_ns.min(on_the_clock(step.start_ns));
        }
        if !sorted {
            timeline.sort();
        }
        timeline
    }

    /// The name of a row of a thread. Further rows have the entries that overlap.
    pub(super) fn row_name(&self, view: &EntryView<'_>, lane: u32) -> String {
        let label = self.labels.get(&(view.rank(), view.thread()));
        let mut label = label.cloned().unwrap_or_default();
        if lane > 0 {
            let _ = write!(label, " (overlapping {lane})");
        }
        label
    }

    /// All entries, earliest first; a parent comes before children that begin with it.
    pub(super) fn spans(&self) -> impl Iterator<Item = Span<'a>> + '_ {
        (0..self.trace.entry_count()).map(|position| self.span(position))
    }

    /// The entry at this position in the order of starts.
    pub(super) fn span(&self, position: usize) -> Span<'a> {
        let view = self.trace.view(self.index(position));
        Span {
            view,
            start_ns: view.start_ns().map(|start| self.since_origin(start)),
            duration_ns: view.duration_ns(),
        }
    }

    /// The index in the trace of the entry at this position in the order of starts.
    pub(super) fn index(&self, position: usize) -> usize {
        match &self.order {
            Some(order) => order[position] as usize,
            None => position,
        }
    }

    /// The positions of the entries of each thread; threads are in order of their first entry. Needs four
    /// bytes per entry.
    pub(super) fn by_thread(&self) -> Vec<Vec<u32>> {
        let mut numbers: HashMap<ThreadKey, usize> = HashMap::new();
        let mut threads: Vec<Vec<u32>> = Vec::new();
        for (position, span) in self.spans().enumerate() {
            let next = numbers.len();
            let number = *numbers.entry(ThreadKey::of(&span.view)).or_insert(next);
            if number == threads.len() {
                threads.push(Vec::new());
            }
            threads[number].push(position as u32);
        }
        threads
    }

    /// The ranks of its entries; `None`, for entries without one, comes first.
    pub(super) fn ranks(&self) -> &BTreeSet<Option<u32>> {
        &self.ranks
    }

    /// The time that is written as zero: the beginning of the trace, or an earlier event.
    pub(super) fn origin_ns(&self) -> i64 {
        self.origin_ns
    }

    /// The time from the origin to this time.
    pub(super) fn since_origin(&self, at_ns: i64) -> u64 {
        on_the_clock(at_ns).abs_diff(self.origin_ns)
    }

    /// True if the entry of this step is the parent of one on another thread.
    pub(super) fn handed_off(&self, step: usize) -> bool {
        !self.handed_off.is_empty() && self.handed_off.contains(&step)
    }

    fn note_handoff(&mut self, view: &EntryView<'a>) {
        let Some(parent) = view.parent() else { return };
        let Some(index) = self.trace.index_of_step(parent) else {
            return;
        };
        let above = self.trace.view(index);
        if ThreadKey::of(&above) != ThreadKey::of(view) {
            self.handed_off.insert(parent);
        }
    }

    fn sort(&mut self) {
        // An entry without a start is placed after the one before it.
        let mut last = i64::MIN;
        let starts: Vec<i64> = self
            .trace
            .views()
            .map(|view| {
                last = view.start_ns().unwrap_or(last);
                last
            })
            .collect();
        let mut order: Vec<u32> = (0..starts.len() as u32).collect();
        order.sort_by_key(|&index| starts[index as usize]);
        self.order = Some(order);
    }
}

/// Limits a time to 73 years from the beginning of the trace. A start beyond that is an error of the recorder, and
/// would overflow in readers that count nanoseconds in 64 bits.
fn on_the_clock(at_ns: i64) -> i64 {
    const FURTHEST_NS: i64 = 1 << 61;
    at_ns.clamp(-FURTHEST_NS, FURTHEST_NS)
}

/// Identifies a thread: each rank has its own thread numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ThreadKey {
    /// 0 for an entry without a rank.
    pub(super) rank: u32,
    pub(super) thread: Option<u64>,
}

impl ThreadKey {
    pub(super) fn of(view: &EntryView<'_>) -> ThreadKey {
        ThreadKey {
            rank: view.rank().unwrap_or(0),
            thread: view.thread(),
        }
    }
}

/// True if an entry ran on a device other than the host.
pub(super) fn off_host(view: &EntryView<'_>) -> bool {
    view.device_id().is_some_and(|device| device != "cpu")
}

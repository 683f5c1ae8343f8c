//! The longest chain of ops that had to happen one after the other.

use super::collective_calls::collective_calls;
use super::grouping::Grouping;
use super::nesting::parent_index;
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::{BTreeMap, HashMap};

/// The longest chain through the entries of a trace.
///
/// A chain follows a thread from op to op; it may pass to another thread where an op handed work there,
/// and back when the work was done before that op ended; at a collective it may pass between ranks when
/// the last one has arrived. It is as long as the time its ops ran; waiting for late ranks does not
/// count, nor do gaps between ops. Of equally long chains, the one through the work wins over the one
/// through the op that waits for it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CriticalPath {
    /// How long it is.
    pub length_ns: u64,
    /// From the first start to the last end of the trace.
    pub span_ns: u64,
    /// The ops on it, longest first.
    pub ops: Vec<CriticalOp>,
    /// The entries on it in order: step, and the time for which the path runs through it.
    pub steps: Vec<(usize, u64)>,
}

json_struct!(CriticalPath {
    required: [length_ns, span_ns, ops],
    optional: [steps],
});

/// An op on the critical path.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CriticalOp {
    /// Its name.
    pub operation: String,
    /// The time for which the path runs through it.
    pub path_ns: u64,
    /// That time as a share of the path.
    pub share: f64,
}

json_struct!(CriticalOp {
    required: [operation, path_ns, share],
    optional: [],
});

/// The critical path; empty where no entry has a start.
pub fn critical_path<T: TraceView + ?Sized>(trace: &T) -> CriticalPath {
    let mut sweep = Sweep::of(trace);
    let events = sweep.events();
    for event in events {
        sweep.pass(event);
    }
    let last = sweep
        .threads
        .iter()
        .fold(None, |best: Option<&Thread>, thread| match best {
            Some(best) if best.chain.weight() >= thread.chain.weight() => Some(best),
            _ => Some(thread),
        });
    let mut path = CriticalPath {
        length_ns: last.map_or(0, |thread| thread.chain.ns),
        span_ns: sweep.last_end.abs_diff(sweep.first_start),
        ..CriticalPath::default()
    };
    let mut grouping = Grouping::new();
    let mut by_op: Vec<u64> = Vec::new();
    let mut at = last.and_then(|thread| thread.chain.end);
    while let Some(link) = at {
        let Link { entry, ns, before } = sweep.links[link as usize];
        let view = trace.view(entry as usize);
        match path.steps.last_mut() {
            Some((step, sum)) if *step == view.step() => *sum += ns,
            _ => path.steps.push((view.step(), ns)),
        }
        let group = grouping.group(&view, |view| Some(view.operation())) as usize;
        by_op.resize(by_op.len().max(group + 1), 0);
        by_op[group] += ns;
        at = before;
    }
    path.steps.reverse();
    path.ops = grouping
        .keys()
        .iter()
        .zip(by_op)
        .map(|(name, ns)| CriticalOp {
            operation: (*name).to_owned(),
            path_ns: ns,
            share: ns as f64 / path.length_ns.max(1) as f64,
        })
        .collect();
    path.ops.sort_by(|a, b| {
        let longest = b.path_ns.cmp(&a.path_ns);
        longest.then_with(|| a.operation.cmp(&b.operation))
    });
    path
}

/// The longest chain that reaches a thread at the moment.
#[derive(Debug, Clone, Copy, Default)]
struct Chain {
    ns: u64,
    /// The part of it that is not an op waiting for what it handed off.
    working_ns: u64,
    end: Option<u32>,
}

impl Chain {
    fn weight(&self) -> (u64, u64) {
        (self.ns, self.working_ns)
    }

    fn join(&mut self, other: Chain) {
        if other.weight() > self.weight() {
            *self = other;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Link {
    entry: u32,
    ns: u64,
    before: Option<u32>,
}

#[derive(Debug)]
struct Thread {
    chain: Chain,
    /// Up to where the chain has been extended.
    at: i64,
    /// Until then the thread waits in a collective.
    waits_until: i64,
    /// Entries that began and may have ended since.
    open: Vec<u32>,
}

impl Thread {
    fn new() -> Thread {
        Thread {
            chain: Chain::default(),
            at: i64::MIN,
            waits_until: i64::MIN,
            open: Vec::new(),
        }
    }
}

/// In the order in which they count at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    End,
    Start,
    /// The last rank has arrived at a collective.
    Arrival,
    /// The end of an entry that took no time.
    InstantEnd,
}

type Event = (i64, Moment, i64);

struct Sweep<'a, T: ?Sized> {
    trace: &'a T,
    threads: Vec<Thread>,
    thread_of: Vec<u32>,
    ended: Vec<bool>,
    /// The parent of an entry on another thread, and whether it waits for the entry.
    handed: HashMap<u32, (u32, bool)>,
    /// How much handed-off work an entry is waiting for.
    waiting_for: HashMap<u32, u32>,
    calls: Vec<Vec<usize>>,
    /// When the last rank arrives at the collective that an entry is.
    arrival: HashMap<u32, i64>,
    links: Vec<Link>,
    first_start: i64,
    last_end: i64,
}

impl<'a, T: TraceView + ?Sized> Sweep<'a, T> {
    fn of(trace: &'a T) -> Self {
        let mut sweep = Sweep {
            trace,
            threads: Vec::new(),
            thread_of: Vec::with_capacity(trace.entry_count()),
            ended: vec![false; trace.entry_count()],
            handed: HashMap::new(),
            waiting_for: HashMap::new(),
            calls: collective_calls(trace)
                .into_iter()
                .map(|call| call.entries)
                .collect(),
            arrival: HashMap::new(),
            links: Vec::new(),
            first_start: i64::MAX,
            last_end: i64::MIN,
        };
        let mut ids: BTreeMap<(Option<u32>, Option<u64>), u32> = BTreeMap::new();
        for (index, view) in trace.views().enumerate() {
            let next = ids.len() as u32;
            let thread = *ids.entry((view.rank(), view.thread())).or_insert(next);
            sweep.thread_of.push(thread);
            let Some(end) = view.end_ns() else { continue };
            sweep.first_start = sweep.first_start.min(view.start_ns().unwrap_or(end));
            sweep.last_end = sweep.last_end.max(end);
            if let Some(parent) = parent_index(trace, index, &view)
                && sweep.thread_of[parent] != thread
            {
                let above = trace.view(parent);
                let waits = above.end_ns().is_some_and(|parent_end| end <= parent_end);
                sweep.handed.insert(index as u32, (parent as u32, waits));
            }
        }
        sweep.threads.resize_with(ids.len(), Thread::new);
        if sweep.first_start > sweep.last_end {
            (sweep.first_start, sweep.last_end) = (0, 0);
        }
        for call in &sweep.calls {
            let starts = call.iter().filter_map(|&index| start_of(trace, index));
            let arrival = starts.max().unwrap_or(0);
            for &index in call {
                sweep.arrival.insert(index as u32, arrival);
            }
        }
        sweep
    }

    fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::with_capacity(2 * self.trace.entry_count());
        for (index, view) in self.trace.views().enumerate() {
            if let Some((start, end)) = view.start_ns().zip(view.end_ns()) {
                let index = index as i64;
                events.push((start, Moment::Start, index));
                // Of those that end together the inner one ends first: it began later.
                let kind = if start < end {
                    Moment::End
                } else {
                    Moment::InstantEnd
                };
                events.push((end, kind, -index));
            }
        }
        for (call, entries) in self.calls.iter().enumerate() {
            if let Some(&arrival) = entries
                .first()
                .and_then(|&index| self.arrival.get(&(index as u32)))
            {
                events.push((arrival, Moment::Arrival, call as i64));
            }
        }
        events.sort_unstable();
        events
    }

    fn pass(&mut self, (at, moment, number): Event) {
        let index = number.unsigned_abs() as u32;
        match moment {
            Moment::Start => self.start(index, at),
            Moment::End | Moment::InstantEnd => self.end(index, at),
            Moment::Arrival => {
                let call = std::mem::take(&mut self.calls[index as usize]);
                let threads: Vec<usize> = call
                    .iter()
                    .map(|&entry| self.thread_of[entry] as usize)
                    .collect();
                let mut longest = Chain::default();
                for &thread in &threads {
                    self.extend(thread, at);
                    longest.join(self.threads[thread].chain);
                }
                for thread in threads {
                    self.threads[thread].chain.join(longest);
                }
            }
        }
    }

    fn start(&mut self, entry: u32, at: i64) {
        let thread = self.thread_of[entry as usize] as usize;
        self.extend(thread, at);
        if let Some(&(parent, waits)) = self.handed.get(&entry) {
            let from = self.thread_of[parent as usize] as usize;
            self.extend(from, at);
            let chain = self.threads[from].chain;
            self.threads[thread].chain.join(chain);
            if waits {
                *self.waiting_for.entry(parent).or_default() += 1;
            }
        }
        if let Some(&arrival) = self.arrival.get(&entry) {
            let view = self.trace.view(entry as usize);
            // Clocks that differ may show a rank that left before the last one came.
            let until = view.end_ns().map_or(arrival, |end| arrival.min(end));
            let known = &mut self.threads[thread].waits_until;
            *known = (*known).max(until);
        }
        self.threads[thread].open.push(entry);
    }

    fn end(&mut self, entry: u32, at: i64) {
        let thread = self.thread_of[entry as usize] as usize;
        self.extend(thread, at);
        self.ended[entry as usize] = true;
        if let Some(&(parent, true)) = self.handed.get(&entry) {
            let to = self.thread_of[parent as usize] as usize;
            self.extend(to, at);
            let chain = self.threads[thread].chain;
            self.threads[to].chain.join(chain);
            if let Some(waiting) = self.waiting_for.get_mut(&parent) {
                *waiting = waiting.saturating_sub(1);
            }
        }
    }

    /// Gives the time since a thread was last looked at to its innermost open entry.
    fn extend(&mut self, thread: usize, at: i64) {
        let thread = &mut self.threads[thread];
        while thread
            .open
            .last()
            .is_some_and(|&entry| self.ended[entry as usize])
        {
            thread.open.pop();
        }
        if let Some(&entry) = thread.open.last() {
            let from = thread.at.max(thread.waits_until);
            if from < at {
                let ns = at.abs_diff(from);
                let chain = &mut thread.chain;
                chain.ns = chain.ns.saturating_add(ns);
                if self
                    .waiting_for
                    .get(&entry)
                    .is_none_or(|&waiting| waiting == 0)
                {
                    chain.working_ns = chain.working_ns.saturating_add(ns);
                }
                self.links.push(Link {
                    entry,
                    ns,
                    before: chain.end,
                });
                chain.end = Some(self.links.len() as u32 - 1);
            }
        }
        thread.at = at;
    }
}

fn start_of<T: TraceView + ?Sized>(trace: &T, index: usize) -> Option<i64> {
    let view = trace.view(index);
    view.start_ns()
}

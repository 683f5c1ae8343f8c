//! Finds the entries of different ranks that are one call of a collective.
//!
//! Ranks call the collectives of one process group in the same order. So the entries of a call agree in process group,
//! collective and sequence number. If the trace has no sequence numbers, the calls of each rank are counted instead.

use super::communication::CommunicationRule;
use super::device_time::is_accelerator;
use super::nesting::parent_index;
use crate::model::collective_keys::{
    COLLECTIVE, COMPLETES, PEER, PROCESS_GROUP, PROCESS_GROUP_RANKS, REQUEST, SEQUENCE,
};
use crate::model::hash::FastMap;
use crate::model::{EntryView, TraceView};
use std::collections::BTreeMap;

/// Keys of the metadata under which traces have the rank at the other end of a message.
const PEER_KEYS: [&str; 5] = [PEER, "dst", "src", "dst_rank", "src_rank"];

/// One call of a collective, recorded by at least two ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CollectiveCall<'a> {
    /// The op of the first entry.
    pub(crate) operation: &'a str,
    /// The facts that the trace has about the collective.
    pub(crate) facts: CollectiveFacts<'a>,
    /// The indices of the entries, one or more for each rank that took part, in ascending order.
    pub(crate) entries: Vec<usize>,
}

/// The facts by which the entries of one collective are found. Unknown facts are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct CollectiveFacts<'a> {
    /// The kind of collective, as the library calls it: `allreduce`, `_allgather_base`.
    pub(crate) collective: Option<&'a str>,
    /// The name of the process group.
    pub(crate) group: Option<&'a str>,
    /// The ranks of the process group as text: `[0, 1]`.
    pub(crate) ranks: Option<&'a str>,
    /// The number of the call within its process group.
    pub(crate) sequence: Option<u64>,
    /// For a send or receive: the rank on the other side.
    pub(crate) peer: Option<u32>,
    /// For a call that another op waits for: the number of its request.
    pub(crate) request: Option<u64>,
    /// True for an op that waits for requests. It is not a call itself.
    completes: bool,
}

impl<'a> CollectiveFacts<'a> {
    fn of(view: &EntryView<'a>) -> Option<CollectiveFacts<'a>> {
        let mut facts = CollectiveFacts::default();
        // If there are several keys, the first in this list is used.
        let mut peers = [None; PEER_KEYS.len()];
        for (key, value) in view.meta()? {
            match key {
                COLLECTIVE => facts.collective = Some(value),
                PROCESS_GROUP => facts.group = Some(value),
                PROCESS_GROUP_RANKS => facts.ranks = Some(value),
                SEQUENCE => facts.sequence = value.parse().ok(),
                REQUEST => facts.request = value.parse().ok(),
                COMPLETES => facts.completes = true,
                _ => {
                    if let Some(place) = PEER_KEYS.iter().position(|known| *known == key) {
                        peers[place] = value.trim().parse().ok();
                    }
                }
            }
        }
        facts.peer = peers.into_iter().flatten().next();
        (facts != CollectiveFacts::default()).then_some(facts)
    }

    /// The ranks of the group, if the trace lists them all.
    pub(crate) fn members(&self) -> Option<Vec<u32>> {
        let list = self.ranks?.trim().strip_prefix('[')?.strip_suffix(']')?;
        let ranks = list.split(',').map(|rank| rank.trim().parse().ok());
        ranks.collect()
    }

    /// Number of ranks of the group, if the trace lists them all.
    pub(crate) fn group_size(&self) -> Option<usize> {
        self.members().map(|ranks| ranks.len())
    }
}

/// The calls of collectives that at least two ranks took part in, in the order of their first entries.
///
/// If communication is recorded on accelerators, the host ops that started it are left out. If communication is inside
/// communication, the outer entry is the call. An entry without facts uses those of the nearest op around it, or of an
/// op inside it. Sends and receives are not collectives.
///
/// If process groups have no names and the times show that not all ranks can be in one, the times divide the ranks.
pub(crate) fn collective_calls<'a, T: TraceView + ?Sized>(
    trace: &'a T,
    parts: &[Participant<'a>],
) -> Vec<CollectiveCall<'a>> {
    calls_by(parts, |found| by_times(trace, found))
}

/// The calls matched without using times, for ranks whose clocks are not aligned yet.
pub(crate) fn collective_calls_by_order<'a>(parts: &[Participant<'a>]) -> Vec<CollectiveCall<'a>> {
    calls_by(parts, |found| found)
}

/// Calls by process group, collective and number; `divide` gets those of an unnamed process group.
fn calls_by<'a>(
    parts: &[Participant<'a>],
    divide: impl Fn(Vec<CollectiveCall<'a>>) -> Vec<CollectiveCall<'a>>,
) -> Vec<CollectiveCall<'a>> {
    let mut by_kind: FastMap<_, Vec<Participant<'a>>> = FastMap::default();
    let mut names = Names::default();
    for one in parts {
        let CollectiveFacts { group, ranks, .. } = one.facts;
        let name = one.name();
        if !names.is_point_to_point(name) {
            let kind = (group, ranks, name);
            by_kind.entry(kind).or_default().push(*one);
        }
    }
    let mut by_kind: Vec<_> = by_kind.into_iter().collect();
    by_kind.sort_unstable_by_key(|(kind, _)| *kind);
    let mut calls: Vec<CollectiveCall<'_>> = Vec::new();
    for (kind, entries) in by_kind {
        let found = match_up(entries);
        if kind.0.is_none() && kind.1.is_none() {
            calls.extend(divide(found));
        } else {
            calls.extend(found);
        }
    }
    calls.sort_by(|a, b| a.entries.cmp(&b.entries));
    calls
}

/// The sends and receives of all ranks, in the order of the trace. As for collectives, host ops that started them are
/// left out if they are recorded on accelerators.
pub(crate) fn sends_and_receives<'p, 'a>(
    parts: &'p [Participant<'a>],
) -> impl Iterator<Item = &'p Participant<'a>> {
    let mut names = Names::default();
    parts
        .iter()
        .filter(move |one| names.is_point_to_point(one.name()))
}

/// Maps a name to true if it is that of a send or receive, so that each name is examined once.
#[derive(Debug, Default)]
struct Names<'a>(FastMap<&'a str, bool>);

impl<'a> Names<'a> {
    fn is_point_to_point(&mut self, name: &'a str) -> bool {
        *self
            .0
            .entry(name)
            .or_insert_with(|| is_point_to_point(name))
    }
}

/// An entry that is one rank's part of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Participant<'a> {
    pub(crate) index: usize,
    pub(crate) rank: u32,
    operation: &'a str,
    pub(crate) facts: CollectiveFacts<'a>,
}

impl<'a> Participant<'a> {
    /// The name of the collective if the trace has it: kernels of different collectives can have one name.
    pub(crate) fn name(&self) -> &'a str {
        self.facts.collective.unwrap_or(self.operation)
    }
}

/// The parts of calls with other ranks; empty if the trace has fewer than two ranks.
pub(crate) fn participants<T: TraceView + ?Sized>(trace: &T) -> Vec<Participant<'_>> {
    let mut rule = CommunicationRule::default();
    let found: Vec<(usize, EntryView<'_>)> = trace
        .views()
        .enumerate()
        .filter(|(_, view)| view.rank().is_some() && view.start_ns().is_some() && rule.holds(view))
        .collect();
    // Most traces are of one rank, which has no calls with others.
    let ranks = || found.iter().map(|(_, view)| view.rank());
    if ranks().min() == ranks().max() {
        return Vec::new();
    }
    outermost_calls(trace, found)
}

/// The calls of communication, even if there is only one rank. Entries without a rank count as rank 0.
pub(crate) fn communication<T: TraceView + ?Sized>(trace: &T) -> Vec<Participant<'_>> {
    let mut rule = CommunicationRule::default();
    let found = trace
        .views()
        .enumerate()
        .filter(|(_, view)| view.start_ns().is_some() && rule.holds(view));
    let found = found.collect();
    outermost_calls(trace, found)
}

/// Leaves out the host ops that started work on an accelerator, and communication inside communication.
fn outermost_calls<'a, T: TraceView + ?Sized>(
    trace: &'a T,
    mut found: Vec<(usize, EntryView<'a>)>,
) -> Vec<Participant<'a>> {
    if found.iter().any(|(_, view)| is_accelerator(view)) {
        found.retain(|(_, view)| is_accelerator(view));
    }
    let mut is_call = vec![false; trace.entry_count()];
    for (index, _) in &found {
        is_call[*index] = true;
    }
    let mut from_inside = FastMap::default();
    found.retain(|(index, view)| {
        let outer = outermost(trace, &is_call, *index);
        if outer == *index {
            return true;
        }
        if let Some(facts) = CollectiveFacts::of(view) {
            from_inside.entry(outer).or_insert(facts);
        }
        // Two rows with exactly the same times ran together, such as a send and a receive in one batch.
        let outer = trace.view(outer);
        let times = |view: &EntryView<'_>| (view.start_ns(), view.end_ns());
        outer.operation() != view.operation() && times(&outer) == times(view)
    });
    found
        .into_iter()
        .map(|(index, view)| Participant {
            index,
            rank: view.rank().unwrap_or(0),
            operation: view.operation(),
            facts: CollectiveFacts::of(&view)
                .or_else(|| facts_around(trace, index))
                .or_else(|| from_inside.get(&index).copied())
                .unwrap_or_default(),
        })
        .filter(|one| !one.facts.completes)
        .collect()
}

/// The ops that wait for requests. Empty if every call blocks.
#[derive(Debug, Default)]
pub(crate) struct Completions {
    /// By the entry of the call.
    waits: FastMap<u32, u32>,
}

impl Completions {
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &T, parts: &[Participant<'_>]) -> Completions {
        let requests: FastMap<(u32, u64), u32> = parts
            .iter()
            .filter_map(|part| Some(((part.rank, part.facts.request?), part.index as u32)))
            .collect();
        let mut found = Completions::default();
        if requests.is_empty() {
            return found;
        }
        for (index, view) in (0..).zip(trace.views()) {
            let Some((rank, list)) = view
                .rank()
                .zip(view.meta().and_then(|meta| meta.get(COMPLETES)))
            else {
                continue;
            };
            for request in list.split(',').filter_map(|one| one.trim().parse().ok()) {
                if let Some(&call) = requests.get(&(rank, request)) {
                    // If a request was tested several times, the last test succeeded.
                    found.waits.insert(call, index);
                }
            }
        }
        found
    }

    /// The entry in which the rank waits for a call: the call itself if that blocks.
    pub(crate) fn wait_of(&self, call: u32) -> u32 {
        self.waits.get(&call).copied().unwrap_or(call)
    }

    /// From the start of a call to the end of the op that waits for it.
    pub(crate) fn span<T: TraceView + ?Sized>(&self, trace: &T, call: u32) -> Option<(i64, i64)> {
        let start = trace.view(call as usize).start_ns()?;
        let end = trace.view(self.wait_of(call) as usize).end_ns()?;
        Some((start, end.max(start)))
    }
}

/// The outermost call around `index` on its thread.
fn outermost<T: TraceView + ?Sized>(trace: &T, is_call: &[bool], index: usize) -> usize {
    let (mut at, mut found) = (index, index);
    let mut view = trace.view(at);
    while let Some(above) = parent_index(trace, at, &view) {
        let around = trace.view(above);
        if (around.rank(), around.thread()) != (view.rank(), view.thread()) {
            break;
        }
        (at, view) = (above, around);
        if is_call[at] {
            found = at;
        }
    }
    found
}

/// The facts of the nearest op around the entry that has some. The parent of a kernel is the op that launched it.
fn facts_around<T: TraceView + ?Sized>(trace: &T, index: usize) -> Option<CollectiveFacts<'_>> {
    let mut at = index;
    loop {
        at = parent_index(trace, at, &trace.view(at))?;
        let facts = CollectiveFacts::of(&trace.view(at));
        if facts.is_some() {
            return facts;
        }
    }
}

/// The calls among entries of one process group and collective.
fn match_up(entries: Vec<Participant<'_>>) -> Vec<CollectiveCall<'_>> {
    let numbered = entries.iter().all(|one| one.facts.sequence.is_some());
    let mut so_far: FastMap<(u32, Option<u64>), usize> = FastMap::default();
    let mut numbers: FastMap<(Option<u64>, usize), usize> = FastMap::default();
    let mut calls: Vec<Vec<Participant<'_>>> = Vec::new();
    for one in entries {
        // Coalesced collectives share a sequence number, so the entries with one number are counted too.
        let sequence = one.facts.sequence.filter(|_| numbered);
        let count = so_far.entry((one.rank, sequence)).or_default();
        let number = *numbers.entry((sequence, *count)).or_insert(calls.len());
        if number == calls.len() {
            calls.push(Vec::new());
        }
        calls[number].push(one);
        *count += 1;
    }
    calls
        .into_iter()
        .filter(|call| call.len() > 1)
        .map(|call| CollectiveCall {
            operation: call[0].operation,
            facts: call[0].facts,
            entries: call.iter().map(|one| one.index).collect(),
        })
        .collect()
}

/// Entries of different ranks that begin or end within this time of each other belong together.
const TOGETHER_NS: u64 = 20_000;

/// Divides the calls of unnamed process groups into groups if, in most of the calls, a rank left before another
/// arrived. Then the ranks cannot all be in one group.
///
/// Two ranks are in one group if their parts begin or end together in most of the calls.
fn by_times<'a, T: TraceView + ?Sized>(
    trace: &T,
    calls: Vec<CollectiveCall<'a>>,
) -> Vec<CollectiveCall<'a>> {
    let times = |index: usize| {
        let view = trace.view(index);
        (view.start_ns().unwrap_or(0), view.end_ns().unwrap_or(0))
    };
    let cannot_be = |call: &&CollectiveCall<'_>| {
        let last = call.entries.iter().map(|&index| times(index).0).max();
        let first = call.entries.iter().map(|&index| times(index).1).min();
        last > first
    };
    if 2 * calls.iter().filter(cannot_be).count() <= calls.len() {
        return calls;
    }
    let rank = |index: usize| {
        let view = trace.view(index);
        view.rank().unwrap_or(0)
    };
    let mut votes: BTreeMap<(u32, u32), (usize, usize)> = BTreeMap::new();
    for call in &calls {
        for (place, &one) in call.entries.iter().enumerate() {
            for &other in &call.entries[place + 1..] {
                let (a, b) = (times(one), times(other));
                let apart = a.0.abs_diff(b.0).min(a.1.abs_diff(b.1));
                let pair = (rank(one).min(rank(other)), rank(one).max(rank(other)));
                let vote = votes.entry(pair).or_default();
                vote.0 += usize::from(apart <= TOGETHER_NS);
                vote.1 += 1;
            }
        }
    }
    // The number of a group is that of its lowest rank.
    let mut group: BTreeMap<u32, u32> = BTreeMap::new();
    for ((low, high), (together, all)) in votes {
        let of_low = *group.entry(low).or_insert(low);
        let of_high = *group.entry(high).or_insert(high);
        if 2 * together > all {
            let (from, to) = (of_low.max(of_high), of_low.min(of_high));
            group
                .values_mut()
                .filter(|one| **one == from)
                .for_each(|one| *one = to);
        }
    }
    let mut divided = Vec::new();
    for call in calls {
        let mut parts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for &index in &call.entries {
            let rank = rank(index);
            parts
                .entry(group.get(&rank).copied().unwrap_or(rank))
                .or_default()
                .push(index);
        }
        let parts = parts.into_values().filter(|entries| entries.len() > 1);
        divided.extend(parts.map(|entries| CollectiveCall {
            entries,
            ..call.clone()
        }));
    }
    divided
}

fn is_point_to_point(name: &str) -> bool {
    let name = name.to_lowercase();
    // Libraries run an all-to-all as kernels named `SendRecv`.
    let receives = name.contains("recv") || name.contains("receive");
    name.contains("send") != receives
}

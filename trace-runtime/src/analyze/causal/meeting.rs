//! Meetings: finds the entries of different ranks that are one collective or one message.
//!
//! Process groups, peers, tags and sequence numbers decide, if the trace has them. Otherwise the order of the calls
//! decides. If that order is impossible (a rank left a collective before another arrived), the times decide.

use crate::analyze::collective_calls::{
    CollectiveCall, Completions, Participant, collective_calls, collective_calls_by_order,
    participants, sends_and_receives,
};
use crate::model::TraceView;
use crate::model::collective_keys::{ROOT, TAG};
use crate::model::hash::{FastMap, FastSet};
use std::collections::{BTreeMap, BTreeSet};

/// Sends or receives, each with its sequence number and entry.
type Halves = Vec<(Option<u64>, u32)>;

/// The class of a meeting: which ranks wait for which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analyze) enum MeetingClass {
    /// All ranks wait for the last one to arrive: a barrier.
    Barrier,
    /// All ranks wait for the last one, and exchange data: all-reduce, all-gather, all-to-all, reduce-scatter.
    AllToAll,
    /// Everyone waits for the root: broadcast, scatter.
    FromRoot,
    /// The root waits for the last one: reduce, gather.
    ToRoot,
    /// A send and its receive.
    Message,
}

/// One collective or one message.
#[derive(Debug, Clone)]
pub(in crate::analyze) struct Meeting {
    pub(in crate::analyze) class: MeetingClass,
    /// The entry of the root, if the class has one.
    pub(super) root: Option<u32>,
    /// The entries, one or more for each rank; for a message, the send and then the receive.
    pub(in crate::analyze) entries: Box<[u32]>,
}

/// Whether the times of different ranks can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    Aligned,
    NotAligned,
}

/// All meetings of a trace, and counts of messages and collectives that could not be matched.
#[derive(Debug, Default)]
pub(in crate::analyze) struct Meetings {
    pub(in crate::analyze) all: Vec<Meeting>,
    /// Sends and receives whose other side is not in the trace.
    pub(super) unmatched: usize,
    /// Collectives with a root that the trace does not name.
    pub(super) without_root: usize,
    /// Messages whose other side was found by its times.
    pub(super) by_time: usize,
    /// The ops in which ranks wait for calls that do not block.
    pub(in crate::analyze) completions: Completions,
}

impl Meetings {
    pub(in crate::analyze) fn of<T: TraceView + ?Sized>(trace: &T) -> Meetings {
        let mut found = Meetings::default();
        let parts = participants(trace);
        for call in collective_calls(trace, &parts) {
            found.collective(trace, &call);
        }
        found.messages(trace, &parts, Times::Aligned);
        found.completions = Completions::of(trace, &parts);
        found
    }

    /// The meetings found without using times, for ranks whose clocks are not aligned yet.
    pub(in crate::analyze) fn by_order<T: TraceView + ?Sized>(trace: &T) -> Meetings {
        let mut found = Meetings::default();
        let parts = participants(trace);
        for call in collective_calls_by_order(&parts) {
            found.collective(trace, &call);
        }
        found.messages(trace, &parts, Times::NotAligned);
        found.completions = Completions::of(trace, &parts);
        found
    }

    /// The facts that the trace lacks for a complete matching, one sentence each.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        [
            (
                self.unmatched,
                "sends and receives have no other side in the trace",
            ),
            (
                self.without_root,
                "broadcasts, scatters, reduces and gathers do not name their root: every rank counts as waiting for the last",
            ),
            (
                self.by_time,
                "messages do not name the other rank: it is found by their times",
            ),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, text)| format!("{count} {text}"))
    }

    fn collective<T: TraceView + ?Sized>(&mut self, trace: &T, call: &CollectiveCall<'_>) {
        let mut class = class_of(call.facts.collective.unwrap_or(call.operation));
        let mut root = None;
        if matches!(class, MeetingClass::FromRoot | MeetingClass::ToRoot) {
            root = root_entry(trace, &call.entries);
            if root.is_none() {
                self.without_root += 1;
                class = MeetingClass::AllToAll;
            }
        }
        self.all.push(Meeting {
            class,
            root,
            entries: call.entries.iter().map(|&index| index as u32).collect(),
        });
    }

    fn messages<'a, T: TraceView + ?Sized>(
        &mut self,
        trace: &'a T,
        parts: &[Participant<'a>],
        times: Times,
    ) {
        let mut sides: FastMap<&str, Option<Side>> = FastMap::default();
        let halves: Vec<Half<'_>> = sends_and_receives(parts)
            .filter_map(|part| {
                let name = part.name();
                let side = *sides.entry(name).or_insert_with(|| side_of(name));
                Some(Half::of(trace, part, side?))
            })
            .collect();
        if halves.is_empty() {
            return;
        }
        let ranks = ranks_in(trace);
        if ranks.len() < 2 {
            return;
        }
        // By sender, receiver, group and tag: the sends and the receives, in order.
        let mut pairs: FastMap<(u32, u32, &str, &str), [Halves; 2]> = FastMap::default();
        let mut unnamed: BTreeMap<String, BTreeMap<u32, [Vec<u32>; 2]>> = BTreeMap::new();
        for one in &halves {
            let mut others = ranks.iter().copied().filter(|&rank| rank != one.rank);
            let only = others.next().filter(|_| ranks.len() == 2);
            let Some(peer) = one.peer.or(only) else {
                let names = unnamed.entry(one.channel.clone()).or_default();
                names.entry(one.rank).or_default()[one.side as usize].push(one.entry);
                continue;
            };
            let (sender, receiver) = match one.side {
                Side::Send => (one.rank, peer),
                Side::Receive => (peer, one.rank),
            };
            let key = (sender, receiver, one.group, one.tag);
            pairs.entry(key).or_default()[one.side as usize].push((one.sequence, one.entry));
        }
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_unstable_by_key(|pair| pair.0);
        for (_, [mut sends, mut receives]) in pairs {
            let numbered = |list: &[(Option<u64>, u32)]| {
                // Most messages have a tag that no other message has.
                if let [(number, _)] = list {
                    return number.is_some();
                }
                let numbers: BTreeSet<u64> = list.iter().filter_map(|one| one.0).collect();
                numbers.len() == list.len()
            };
            if numbered(&sends) && numbered(&receives) {
                self.by_number(&mut sends, &mut receives);
            } else {
                let pairs = sends.iter().zip(&receives);
                self.all
                    .extend(pairs.map(|(send, receive)| message(send.1, receive.1)));
                self.unmatched += sends.len().abs_diff(receives.len());
            }
        }
        if times == Times::NotAligned {
            return;
        }
        for ranks in unnamed.into_values() {
            self.by_times(trace, &ranks);
        }
    }

    /// Matches messages of one sender and receiver by their sequence numbers.
    fn by_number(&mut self, sends: &mut [(Option<u64>, u32)], receives: &mut [(Option<u64>, u32)]) {
        sends.sort_unstable();
        let receives: FastMap<Option<u64>, u32> = receives.iter().copied().collect();
        let mut matched = 0;
        for (number, send) in sends.iter() {
            if let Some(&receive) = receives.get(number) {
                self.all.push(message(*send, receive));
                matched += 1;
            }
        }
        self.unmatched += sends.len() + receives.len() - 2 * matched;
    }

    /// Matches messages whose trace does not name the other rank: the ranks of a pair begin or end their parts of a
    /// message together, over all of their messages.
    fn by_times<T: TraceView + ?Sized>(&mut self, trace: &T, ranks: &BTreeMap<u32, [Vec<u32>; 2]>) {
        let mut offers: Vec<(u64, u32, u32)> = Vec::new();
        for (&from, [sends, _]) in ranks {
            for (&to, [_, receives]) in ranks {
                if from != to && !sends.is_empty() && sends.len() == receives.len() {
                    offers.push((distance(trace, sends, receives), from, to));
                }
            }
        }
        offers.sort_unstable();
        let (mut senders, mut receivers) = (BTreeSet::new(), BTreeSet::new());
        for (_, from, to) in offers {
            if senders.contains(&from) || receivers.contains(&to) {
                continue;
            }
            senders.insert(from);
            receivers.insert(to);
            for (&send, &receive) in ranks[&from][0].iter().zip(&ranks[&to][1]) {
                self.all.push(message(send, receive));
                self.by_time += 1;
            }
        }
        for (rank, [sends, receives]) in ranks {
            let sent = if senders.contains(rank) {
                0
            } else {
                sends.len()
            };
            let received = if receivers.contains(rank) {
                0
            } else {
                receives.len()
            };
            self.unmatched += sent + received;
        }
    }
}

fn message(send: u32, receive: u32) -> Meeting {
    Meeting {
        class: MeetingClass::Message,
        root: None,
        entries: [send, receive].into(),
    }
}

/// The ranks of a trace.
fn ranks_in<T: TraceView + ?Sized>(trace: &T) -> BTreeSet<u32> {
    let ranks = trace.views().filter_map(|view| view.rank());
    let ranks: FastSet<u32> = ranks.collect();
    ranks.into_iter().collect()
}

/// The median distance between both sides of a call: at their starts or at their ends, whichever is smaller.
fn distance<T: TraceView + ?Sized>(trace: &T, sends: &[u32], receives: &[u32]) -> u64 {
    let mut apart: Vec<u64> = sends
        .iter()
        .zip(receives)
        .map(|(&send, &receive)| {
            let (a, b) = (trace.view(send as usize), trace.view(receive as usize));
            let between =
                |a: Option<i64>, b: Option<i64>| a.zip(b).map_or(u64::MAX, |(a, b)| a.abs_diff(b));
            between(a.start_ns(), b.start_ns()).min(between(a.end_ns(), b.end_ns()))
        })
        .collect();
    let middle = apart.len() / 2;
    *apart.select_nth_unstable(middle).1
}

/// The class of a collective, by its name.
fn class_of(name: &str) -> MeetingClass {
    let name = name.to_lowercase().replace(['_', '-'], "");
    let has = |part: &str| name.contains(part);
    if has("barrier") {
        MeetingClass::Barrier
    } else if ["allreduce", "allgather", "alltoall", "reducescatter"]
        .iter()
        .any(|part| has(part))
    {
        MeetingClass::AllToAll
    } else if has("broadcast") || has("bcast") || has("scatter") {
        MeetingClass::FromRoot
    } else if has("reduce") || has("gather") {
        MeetingClass::ToRoot
    } else {
        MeetingClass::AllToAll
    }
}

/// The entry of the rank that the metadata names as root.
fn root_entry<T: TraceView + ?Sized>(trace: &T, entries: &[usize]) -> Option<u32> {
    let named = entries.iter().find_map(|&index| {
        let view = trace.view(index);
        view.meta()?.get(ROOT)?.trim().parse::<u32>().ok()
    })?;
    let mut entries = entries.iter();
    let root = entries.find(|&&index| {
        let view = trace.view(index);
        view.rank() == Some(named)
    })?;
    Some(*root as u32)
}

/// A side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Send = 0,
    Receive = 1,
}

/// One side of a message.
#[derive(Debug)]
struct Half<'a> {
    entry: u32,
    rank: u32,
    side: Side,
    peer: Option<u32>,
    group: &'a str,
    tag: &'a str,
    sequence: Option<u64>,
    /// The name of the op without the part that names the side. Only used if the peer is not known.
    channel: String,
}

impl<'a> Half<'a> {
    fn of<T: TraceView + ?Sized>(trace: &'a T, part: &Participant<'a>, side: Side) -> Half<'a> {
        let name = part.name();
        let view = trace.view(part.index);
        let tag = view.meta().and_then(|meta| meta.get(TAG));
        Half {
            entry: part.index as u32,
            rank: part.rank,
            side,
            peer: part.facts.peer,
            group: part.facts.group.unwrap_or(""),
            tag: tag.map_or("", str::trim),
            sequence: part.facts.sequence,
            channel: match part.facts.peer {
                Some(_) => String::new(),
                None => channel(name),
            },
        }
    }
}

/// The name of an op without the part that names its side: `forward-send` and `forward-recv` are one channel.
fn channel(name: &str) -> String {
    let mut name = name.to_lowercase();
    for side in ["receive", "recv", "send"] {
        name = name.replace(side, "");
    }
    name
}

/// The side that an op's name contains.
pub(super) fn side_of(name: &str) -> Option<Side> {
    let name = name.to_lowercase();
    let receives = name.contains("recv") || name.contains("receive");
    match (name.contains("send"), receives) {
        (true, false) => Some(Side::Send),
        (false, true) => Some(Side::Receive),
        _ => None,
    }
}

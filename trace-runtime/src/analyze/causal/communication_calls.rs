//! Finds the entries that are calls of communication, and their partners. Exports need them if their readers replay
//! communication.

use super::CausalModel;
use super::meeting::{MeetingClass, Side, side_of};
use crate::analyze::collective_calls::{Participant, communication};
use crate::model::TraceView;
use crate::model::collective_keys::TAG;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The kind of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    AllReduce,
    Reduce,
    AllGather,
    Gather,
    Scatter,
    Broadcast,
    AllToAll,
    ReduceScatter,
    Barrier,
}

impl CollectiveKind {
    /// Finds the kind in the name of the collective or op; `None` if the name has none.
    fn of(name: &str) -> Option<CollectiveKind> {
        use CollectiveKind::{
            AllGather, AllReduce, AllToAll, Barrier, Broadcast, Gather, Reduce, ReduceScatter,
            Scatter,
        };
        let name = name.to_lowercase().replace(['_', '-'], "");
        // A longer name comes before one that it contains.
        [
            ("barrier", Barrier),
            ("allreduce", AllReduce),
            ("allgather", AllGather),
            ("alltoall", AllToAll),
            // Libraries run an all-to-all as kernels named `SendRecv`.
            ("sendrecv", AllToAll),
            ("reducescatter", ReduceScatter),
            ("broadcast", Broadcast),
            ("bcast", Broadcast),
            ("scatter", Scatter),
            ("gather", Gather),
            ("reduce", Reduce),
        ]
        .into_iter()
        .find_map(|(part, kind)| name.contains(part).then_some(kind))
    }
}

/// The kind of a call of communication, and its partners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// The kind, and the number of the process group if its ranks are known.
    Collective(CollectiveKind, Option<u32>),
    /// To the other rank, with a tag.
    Send(u32, Option<u32>),
    Receive(u32, Option<u32>),
}

/// A process group of the job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessGroup {
    /// Empty if the trace does not name it.
    pub(crate) name: String,
    pub(crate) ranks: Vec<u32>,
}

/// All calls of communication.
#[derive(Debug, Default)]
pub(crate) struct CommunicationCalls {
    pub(crate) of_entry: HashMap<u32, CallKind>,
    /// Numbered in the order of their names and ranks.
    pub(crate) groups: Vec<ProcessGroup>,
}

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// The calls of communication of all ranks. Entries whose kind or partner is not known are left out.
    pub(crate) fn communication_calls(&self) -> CommunicationCalls {
        let mut meeting_of: HashMap<u32, u32> = HashMap::new();
        for (number, meeting) in (0..).zip(&self.meetings.all) {
            meeting_of.extend(meeting.entries.iter().map(|&entry| (entry, number)));
        }
        let met = |entry: u32| {
            let number = *meeting_of.get(&entry)?;
            Some(&self.meetings.all[number as usize])
        };
        let mut groups: BTreeMap<ProcessGroup, u32> = BTreeMap::new();
        let mut found: Vec<(u32, CallKind, Option<ProcessGroup>)> = Vec::new();
        for part in communication(self.trace) {
            let entry = part.index as u32;
            if let Some(side) = side_of(part.name()) {
                let other = part.facts.peer.or_else(|| {
                    let meeting =
                        met(entry).filter(|meeting| meeting.class == MeetingClass::Message)?;
                    let mut others = meeting.entries.iter().filter(|&&one| one != entry);
                    others.next().map(|&other| self.rank_of(other))
                });
                let tag = self.tag(&part);
                found.extend(other.map(|other| match side {
                    Side::Send => (entry, CallKind::Send(other, tag), None),
                    Side::Receive => (entry, CallKind::Receive(other, tag), None),
                }));
                continue;
            }
            let Some(kind) = CollectiveKind::of(part.name()) else {
                continue;
            };
            let members = part.facts.members().or_else(|| {
                let entries = met(entry)?.entries.iter();
                let ranks: BTreeSet<u32> = entries.map(|&entry| self.rank_of(entry)).collect();
                Some(ranks.into_iter().collect())
            });
            let group = members.map(|ranks| ProcessGroup {
                name: part.facts.group.unwrap_or("").to_owned(),
                ranks,
            });
            if let Some(group) = &group
                && !groups.contains_key(group)
            {
                groups.insert(group.clone(), 0);
            }
            found.push((entry, CallKind::Collective(kind, None), group));
        }
        for (number, group) in (0..).zip(groups.values_mut()) {
            *group = number;
        }
        let of_entry = found
            .into_iter()
            .map(|(entry, call, group)| {
                let number = group.and_then(|group| groups.get(&group).copied());
                match call {
                    CallKind::Collective(kind, _) => (entry, CallKind::Collective(kind, number)),
                    message => (entry, message),
                }
            })
            .collect();
        CommunicationCalls {
            of_entry,
            groups: groups.into_keys().collect(),
        }
    }

    fn tag(&self, part: &Participant<'_>) -> Option<u32> {
        let view = self.trace.view(part.index);
        view.meta()?.get(TAG)?.trim().parse().ok()
    }
}

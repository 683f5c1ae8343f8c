//! Wait states: which rank waited for which at collectives and messages, and which op on the other rank was the cause.

use super::CausalModel;
use super::rank::{RankWait, WaitClass};
use super::rank_time::{RankTime, rank_times};
use super::wait_cause::OpNames;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::BTreeMap;

/// All waits between ranks, added up.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct WaitStates {
    /// The time that ranks waited for each other, added up over ranks, in nanoseconds.
    pub total_ns: u64,
    /// The waits, grouped by class, waiting rank, op and late rank; longest first.
    pub sums: Vec<WaitSum>,
    /// The ops that others waited for, longest first; their times add up to `total_ns`.
    pub blames: Vec<Blame>,
    /// The working, waiting and idle time of each rank.
    pub ranks: Vec<RankTime>,
    /// Sends and receives whose other side is not in the trace.
    pub unmatched_messages: usize,
}

json_struct!(WaitStates {
    required: [total_ns, sums, blames, ranks, unmatched_messages],
    optional: [],
});

/// Waits of one class of one rank in one op for one other rank.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WaitSum {
    /// The name of the [`WaitClass`].
    pub class: String,
    /// The rank that waited.
    pub rank: u32,
    /// The op that it waited in.
    pub operation: String,
    /// The rank that was late.
    pub late_rank: u32,
    /// The number of waits.
    pub count: usize,
    /// The length of these waits together, in nanoseconds.
    pub ns: u64,
}

json_struct!(WaitSum {
    required: [class, rank, operation, late_rank, count, ns],
    optional: [],
});

/// Waiting of other ranks that one op of one rank caused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Blame {
    /// The rank that was late.
    pub rank: u32,
    /// The op that took longer on it than on the ranks that waited; `outside of ops` for time between its ops.
    pub operation: String,
    /// The waiting that it caused, added up over the ranks that waited.
    pub ns: u64,
}

json_struct!(Blame {
    required: [rank, operation, ns],
    optional: [],
});

/// One wait of one rank for another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitState {
    /// The class of the wait.
    pub class: WaitClass,
    /// The rank that waited.
    pub rank: u32,
    /// The [`step`](crate::model::EntryView::step) of the entry that waited.
    pub step: usize,
    /// The op that waited.
    pub operation: String,
    /// The start of the wait, in nanoseconds since the trace began.
    pub start_ns: i64,
    /// The length of the wait, in nanoseconds.
    pub ns: u64,
    /// The rank that was late.
    pub late_rank: u32,
    /// The [`step`](crate::model::EntryView::step) of its entry that was late.
    pub late_step: usize,
    /// The causes; their times add up to `ns`.
    pub blames: Vec<Blame>,
}

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// Waits between ranks: for each rank and op, how long it waited for which other rank, and which ops caused the
    /// wait.
    ///
    /// Empty if the trace has fewer than two ranks. The clocks of the ranks must be aligned, as
    /// [`TraceStore::merge`](crate::TraceStore::merge) does.
    pub fn wait_states(&self) -> WaitStates {
        let rows = self.rank_rows();
        let mut names = OpNames::default();
        let causes = self.causes(&rows, &mut names);
        let mut total_ns = 0;
        let mut sums: BTreeMap<(WaitClass, u32, u32, u32), (usize, u64)> = BTreeMap::new();
        let mut blames: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut by_rank: BTreeMap<u32, u64> = BTreeMap::new();
        for (wait, causes) in self.rank_waits.iter().zip(&causes) {
            let (rank, late) = (self.rank_of(wait.entry), self.rank_of(wait.late));
            let ns = self.length_of(wait);
            let operation = names.of(self, wait.entry);
            add_ns(&mut total_ns, ns);
            let sum = sums.entry((wait.class, rank, operation, late)).or_default();
            sum.0 += 1;
            add_ns(&mut sum.1, ns);
            for &(rank, operation, ns) in causes {
                add_ns(blames.entry((rank, operation)).or_default(), ns);
                add_ns(by_rank.entry(rank).or_default(), ns);
            }
        }
        let mut ranks = rank_times(&rows);
        for time in &mut ranks {
            time.caused_ns = by_rank.get(&time.rank).copied().unwrap_or(0);
        }
        let mut sums: Vec<WaitSum> = sums
            .into_iter()
            .map(
                |((class, rank, operation, late_rank), (count, ns))| WaitSum {
                    class: class.name().to_owned(),
                    rank,
                    operation: names.name(operation),
                    late_rank,
                    count,
                    ns,
                },
            )
            .collect();
        sums.sort_by_key(|sum| std::cmp::Reverse(sum.ns));
        let mut blames: Vec<Blame> = blames
            .into_iter()
            .map(|(key, ns)| names.blame((key.0, key.1, ns)))
            .collect();
        blames.sort_by_key(|blame| std::cmp::Reverse(blame.ns));
        WaitStates {
            total_ns,
            sums,
            blames,
            ranks,
            unmatched_messages: self.meetings.unmatched,
        }
    }

    /// Each wait between ranks, with its causes, in the order in which the waits ended. A trace may have as many waits
    /// as calls of communication; [`wait_states`](Self::wait_states) adds them up.
    pub fn waits_between_ranks(&self) -> Vec<WaitState> {
        let mut names = OpNames::default();
        let causes = self.causes(&self.rank_rows(), &mut names);
        let mut waits: Vec<WaitState> = self
            .rank_waits
            .iter()
            .zip(causes)
            .map(|(wait, causes)| {
                let view = self.trace.view(wait.entry as usize);
                let late = self.trace.view(wait.late as usize);
                WaitState {
                    class: wait.class,
                    rank: view.rank().unwrap_or(0),
                    step: view.step(),
                    operation: view.operation().to_owned(),
                    start_ns: self.waits[wait.wait as usize].start,
                    ns: self.length_of(wait),
                    late_rank: late.rank().unwrap_or(0),
                    late_step: late.step(),
                    blames: causes.into_iter().map(|cause| names.blame(cause)).collect(),
                }
            })
            .collect();
        waits.sort_by_key(|wait| wait.start_ns.saturating_add_unsigned(wait.ns));
        waits
    }

    pub(super) fn rank_of(&self, entry: u32) -> u32 {
        let view = self.trace.view(entry as usize);
        view.rank().unwrap_or(0)
    }

    pub(super) fn length_of(&self, wait: &RankWait) -> u64 {
        let wait = &self.waits[wait.wait as usize];
        wait.end.abs_diff(wait.start)
    }
}

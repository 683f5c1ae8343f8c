//! Wait states: who waited for whom at collectives and messages, and which op on the other rank was the cause.
//!
//! A rank is late because of what it did since both ranks last met: of that time, what it did for longer than the
//! waiting rank did the same. So a wait is divided among the ops of the late rank in proportion to this excess. Where
//! the late rank itself waited for a third one, that part of the wait passes on to the cause of that wait.

use super::CausalModel;
use super::last_met::LastMet;
use super::piece::Piece;
use super::rank::{RankWait, WaitClass};
use super::rank_time::{RankTime, rank_times};
use crate::analyze::forest::NONE;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// What a late rank did between its ops.
const OUTSIDE: &str = "outside of ops";
/// Causes kept per wait; what smaller ones have is added to the largest.
const MOST_CAUSES: usize = 8;

/// All waits between ranks, added up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WaitStates {
    /// How long ranks waited for each other, added up over ranks.
    pub total_ns: u64,
    /// By class, waiting rank and op, and late rank, longest first.
    pub sums: Vec<WaitSum>,
    /// The ops that others waited for, longest first; their times add up to `total_ns`.
    pub blames: Vec<Blame>,
    /// How each rank spent its time.
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
pub struct WaitSum {
    /// The name of the [`WaitClass`].
    pub class: String,
    /// The rank that waited.
    pub rank: u32,
    /// The op that it waited in.
    pub operation: String,
    /// The rank that was late.
    pub late_rank: u32,
    /// How often.
    pub count: usize,
    /// How long.
    pub ns: u64,
}

json_struct!(WaitSum {
    required: [class, rank, operation, late_rank, count, ns],
    optional: [],
});

/// Waiting of other ranks that one op of one rank caused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blame {
    /// The rank that was late.
    pub rank: u32,
    /// What it did for longer than those who waited; `outside of ops` between its ops.
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
    /// What sort of wait it is.
    pub class: WaitClass,
    /// The rank that waited.
    pub rank: u32,
    /// The entry that waited: its step and op.
    pub step: usize,
    /// The op that waited.
    pub operation: String,
    /// When the wait began.
    pub start_ns: i64,
    /// How long it was.
    pub ns: u64,
    /// The rank that was late.
    pub late_rank: u32,
    /// The step of its entry that was late.
    pub late_step: usize,
    /// The causes; their times add up to `ns`.
    pub blames: Vec<Blame>,
}

/// A cause in short: rank, op, time.
pub(super) type Cause = (u32, u32, u64);

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// Waits between ranks: how long each rank waited in which op for whom, and which ops caused it.
    ///
    /// Empty where the trace has fewer than two ranks. The clocks of the ranks must be lined up, as
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

    /// Each wait between ranks, with its causes, in the order in which the waits ended. A trace may have as many as
    /// it has communication; [`wait_states`](Self::wait_states) adds them up.
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

    fn length_of(&self, wait: &RankWait) -> u64 {
        let wait = &self.waits[wait.wait as usize];
        wait.end.abs_diff(wait.start)
    }

    /// The causes of each wait between ranks; the times of each list add up to the length of the wait.
    pub(super) fn causes(
        &self,
        rows: &BTreeMap<u32, Cow<'_, [Piece]>>,
        names: &mut OpNames,
    ) -> Vec<Vec<Cause>> {
        let mut order: Vec<u32> = (0..self.rank_waits.len() as u32).collect();
        order.sort_by_key(|&wait| self.waits[self.rank_waits[wait as usize].wait as usize].end);
        let last_met = LastMet::of(self);
        let mut causes: Vec<Vec<Cause>> = vec![Vec::new(); self.rank_waits.len()];
        // The waits of the model are numbered differently: those between ranks come last.
        let first = self.rank_waits.first().map_or(NONE, |wait| wait.wait);
        let mut late_profile = (None, HashMap::new());
        for number in order {
            let wait = &self.rank_waits[number as usize];
            let (rank, late) = (self.rank_of(wait.entry), self.rank_of(wait.late));
            let (Some(own_row), Some(late_row)) = (rows.get(&rank), rows.get(&late)) else {
                continue;
            };
            let since = last_met.of_pair(self, wait, rank, late);
            let start_of = |entry: u32| {
                let view = self.trace.view(entry as usize);
                view.start_ns().unwrap_or(0)
            };
            let late_key = (late, since.1, start_of(wait.late));
            if late_profile.0 != Some(late_key) {
                late_profile = (
                    Some(late_key),
                    self.profile(late_row, late_key.1, late_key.2, names),
                );
            }
            let own = self.profile(own_row, since.0, start_of(wait.entry), names);
            let mut excess: Vec<(Did, u64)> = late_profile
                .1
                .iter()
                .filter_map(|(&did, &ns)| {
                    let same = own.get(&did).copied().unwrap_or(0);
                    (ns > same).then(|| (did, ns - same))
                })
                .collect();
            excess.sort_unstable_by_key(|&(did, ns)| (std::cmp::Reverse(ns), did));
            if excess.is_empty() {
                let ran = late_row.partition_point(|piece| piece.end < late_key.2);
                let piece = late_row.get(ran).filter(|piece| piece.start < late_key.2);
                excess.push((
                    piece.map_or(Did::Nothing, |piece| self.did(piece, names)),
                    1,
                ));
            }
            let weights: Vec<u64> = excess.iter().map(|one| one.1).collect();
            let mut found: BTreeMap<(u32, u32), u64> = BTreeMap::new();
            for (&(did, _), ns) in excess.iter().zip(split(self.length_of(wait), &weights)) {
                match did {
                    Did::Nothing => add_ns(found.entry((late, NONE)).or_default(), ns),
                    Did::Op(op) => add_ns(found.entry((late, op)).or_default(), ns),
                    Did::Waited(other) => {
                        let earlier = other
                            .checked_sub(first)
                            .map(|other| &causes[other as usize]);
                        let earlier = earlier.filter(|causes| !causes.is_empty());
                        let Some(earlier) = earlier else {
                            add_ns(found.entry((late, NONE)).or_default(), ns);
                            continue;
                        };
                        let weights: Vec<u64> = earlier.iter().map(|cause| cause.2).collect();
                        for (cause, ns) in earlier.iter().zip(split(ns, &weights)) {
                            add_ns(found.entry((cause.0, cause.1)).or_default(), ns);
                        }
                    }
                }
            }
            causes[number as usize] = largest(found);
        }
        causes
    }

    /// How long a rank did what between two moments.
    fn profile(&self, row: &[Piece], from: i64, to: i64, names: &mut OpNames) -> HashMap<Did, u64> {
        let mut times = HashMap::new();
        let mut outside = to.saturating_sub(from).max(0).unsigned_abs();
        let first = row.partition_point(|piece| piece.end <= from);
        for piece in row[first..].iter().take_while(|piece| piece.start < to) {
            let ns = piece.end.min(to).abs_diff(piece.start.max(from));
            outside = outside.saturating_sub(ns);
            add_ns(times.entry(self.did(piece, names)).or_default(), ns);
        }
        if outside > 0 {
            add_ns(times.entry(Did::Nothing).or_default(), outside);
        }
        times
    }

    fn did(&self, piece: &Piece, names: &mut OpNames) -> Did {
        if !piece.is_work() {
            Did::Waited(piece.wait)
        } else if (piece.node as usize) < self.trace.entry_count() {
            Did::Op(names.of(self, piece.node))
        } else {
            Did::Nothing
        }
    }
}

/// What a rank did in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Did {
    /// An op, by the number of its name.
    Op(u32),
    /// It waited, by the number of the wait in the model.
    Waited(u32),
    /// Nothing that was traced.
    Nothing,
}

/// The names of ops, numbered.
#[derive(Debug, Default)]
pub(super) struct OpNames {
    by_signature: Vec<u32>,
    by_name: HashMap<String, u32>,
    names: Vec<String>,
}

impl OpNames {
    fn of<T: TraceView + ?Sized>(&mut self, model: &CausalModel<'_, T>, entry: u32) -> u32 {
        let view = model.trace.view(entry as usize);
        let Some(signature) = view.signature() else {
            return self.number(view.operation());
        };
        let signature = signature as usize;
        if signature >= self.by_signature.len() {
            self.by_signature.resize(signature + 1, NONE);
        }
        if self.by_signature[signature] == NONE {
            self.by_signature[signature] = self.number(view.operation());
        }
        self.by_signature[signature]
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), number);
        number
    }

    pub(super) fn name(&self, number: u32) -> String {
        let known = self.names.get(number as usize);
        known.map_or_else(|| OUTSIDE.to_owned(), String::clone)
    }

    fn blame(&self, (rank, operation, ns): Cause) -> Blame {
        Blame {
            rank,
            operation: self.name(operation),
            ns,
        }
    }
}

/// Divides a time in proportion to weights; the parts add up to it exactly.
fn split(ns: u64, weights: &[u64]) -> Vec<u64> {
    let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let mut given = 0u128;
    let mut so_far = 0u128;
    weights
        .iter()
        .map(|&weight| {
            so_far += u128::from(weight);
            let until = (u128::from(ns) * so_far).checked_div(total).unwrap_or(0);
            let part = until - given;
            given = until;
            u64::try_from(part).unwrap_or(u64::MAX)
        })
        .collect()
}

/// The largest causes first; the time of those past the limit is added to the first.
fn largest(found: BTreeMap<(u32, u32), u64>) -> Vec<Cause> {
    let mut causes: Vec<Cause> = found
        .into_iter()
        .filter(|(_, ns)| *ns > 0)
        .map(|((rank, operation), ns)| (rank, operation, ns))
        .collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.2));
    if causes.len() > MOST_CAUSES {
        let rest: u64 = causes.drain(MOST_CAUSES..).map(|cause| cause.2).sum();
        add_ns(&mut causes[0].2, rest);
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn parts_add_up_to_the_whole() {
        assert_eq!(split(10, &[1, 1, 1]), [3, 3, 4]);
        assert_eq!(split(7, &[u64::MAX, 0]), [7, 0]);
        assert_eq!(split(7, &[0, 0]), [0, 0]);
        assert_eq!(split(u64::MAX, &[1, 2]).iter().sum::<u64>(), u64::MAX);
    }
}

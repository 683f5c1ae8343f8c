//! The causes of waits between ranks: which ops made the late rank late.
//!
//! A rank is late because of its work since both ranks last met: the ops that took longer there than on the waiting
//! rank. So a wait is divided among the ops of the late rank in proportion to this excess. If the late rank itself
//! waited for a third one, that part of the wait is charged to the cause of that wait.

use super::CausalModel;
use super::last_met::LastMet;
use super::piece::Piece;
use super::wait_state::Blame;
use crate::analyze::forest::NONE;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
use crate::model::hash::FastMap;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The name for the time of a late rank between its ops.
const OUTSIDE: &str = "outside of ops";
/// Causes kept per wait; the time of smaller ones is added to the largest.
const MOST_CAUSES: usize = 8;

/// A cause as numbers: rank, op, time.
pub(super) type Cause = (u32, u32, u64);

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
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
        // In the list of all waits of the model, the waits between ranks come last, from this number on.
        let first = self.rank_waits.first().map_or(NONE, |wait| wait.wait);
        // The maps are used again for each wait.
        let mut late_profile = (None, FastMap::default());
        let mut own = FastMap::default();
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
                let (key, times) = &mut late_profile;
                *key = Some(late_key);
                self.profile(late_row, (late_key.1, late_key.2), names, times);
            }
            let until = start_of(wait.entry);
            self.profile(own_row, (since.0, until), names, &mut own);
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

    /// Replaces `times` by the time of each activity of a rank between two moments.
    fn profile(
        &self,
        row: &[Piece],
        (from, to): (i64, i64),
        names: &mut OpNames,
        times: &mut FastMap<Did, u64>,
    ) {
        times.clear();
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

/// What a rank did at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Did {
    /// An op, by the number of its name.
    Op(u32),
    /// Waited, by the number of the wait in the model.
    Waited(u32),
    /// Nothing that was traced.
    Nothing,
}

/// The names of ops, numbered.
#[derive(Debug, Default)]
pub(super) struct OpNames {
    by_signature: Vec<u32>,
    by_name: FastMap<String, u32>,
    names: Vec<String>,
}

impl OpNames {
    pub(super) fn of<T: TraceView + ?Sized>(
        &mut self,
        model: &CausalModel<'_, T>,
        entry: u32,
    ) -> u32 {
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

    pub(super) fn number(&mut self, name: &str) -> u32 {
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

    pub(super) fn blame(&self, (rank, operation, ns): Cause) -> Blame {
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

/// The largest causes first; the time of causes beyond the limit is added to the first.
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

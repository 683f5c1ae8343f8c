//! Waiting between ranks by the rank that caused it.

use super::CausalModel;
use super::wait_cause::OpNames;
use crate::analyze::intervals::add_ns;
use crate::analyze::step_of::StepsByRank;
use crate::model::TraceView;
use crate::model::hash::FastMap;
use std::collections::BTreeMap;

/// The waiting of other ranks that one rank caused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CausedWaits {
    pub(crate) rank: u32,
    /// The time in nanoseconds, added up over the ranks that waited.
    pub(crate) ns: u64,
    /// The op that caused most of `ns`, and how much it caused.
    pub(crate) op: (String, u64),
    /// The number of the step with most of `ns`, and how much is in that step.
    pub(crate) step: Option<(u64, u64)>,
}

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// The waiting that each rank caused, most first; see [`wait_states`](Self::wait_states) for the rules.
    pub(crate) fn caused_waits(&self) -> Vec<CausedWaits> {
        if self.rank_waits.is_empty() {
            return Vec::new();
        }
        let rows = self.rank_rows();
        let mut names = OpNames::default();
        let causes = self.causes(&rows, &mut names);
        let (steps, by_rank) = (self.trace.steps(), StepsByRank::of(self.trace));
        let mut by_op: BTreeMap<u32, FastMap<u32, u64>> = BTreeMap::new();
        let mut by_step: FastMap<u32, FastMap<u64, u64>> = FastMap::default();
        for (wait, causes) in self.rank_waits.iter().zip(&causes) {
            let end = self.waits[wait.wait as usize].end;
            let step = by_rank.at(Some(self.rank_of(wait.entry)), end.saturating_sub(1));
            for &(rank, op, ns) in causes {
                add_ns(by_op.entry(rank).or_default().entry(op).or_default(), ns);
                if let Some(step) = step.and_then(|step| steps.get(step)) {
                    let of_rank = by_step.entry(rank).or_default();
                    add_ns(of_rank.entry(step.number).or_default(), ns);
                }
            }
        }
        let mut found: Vec<CausedWaits> = by_op
            .into_iter()
            .filter_map(|(rank, ops)| {
                let largest = |of: &FastMap<u64, u64>| {
                    let most = of
                        .iter()
                        .max_by_key(|one| (one.1, std::cmp::Reverse(one.0)));
                    most.map(|(&step, &ns)| (step, ns))
                };
                let (&op, &ns) = ops
                    .iter()
                    .max_by_key(|one| (one.1, std::cmp::Reverse(one.0)))?;
                Some(CausedWaits {
                    rank,
                    ns: ops.values().fold(0, |sum, &ns| sum.saturating_add(ns)),
                    op: (names.name(op), ns),
                    step: by_step.get(&rank).and_then(largest),
                })
            })
            .collect();
        found.sort_by_key(|one| (std::cmp::Reverse(one.ns), one.rank));
        found
    }
}

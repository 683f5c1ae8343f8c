//! One trace of several ranks, on one clock.

use super::collective_calls::collective_calls;
use crate::model::merge::{LineUp, by_wall_clock, merged, ranks_of_each};
use crate::model::{TraceError, TraceStore, TraceView};
use std::collections::{BTreeMap, VecDeque};

impl TraceStore {
    /// One trace of several ranks.
    ///
    /// A trace that names no rank gets its position in the list as its rank. The ranks are lined up by the wall clock
    /// where all traces have it and differ by at most a day. Otherwise they are lined up by the first collective that
    /// they have in common, directly or through other ranks: it ends on all ranks at the same time. A rank without
    /// such a collective begins at zero. `merge.clock` in the metadata records the method. Facts on which the
    /// traces differ are kept under `rank.0.` and so on.
    ///
    /// Fails if two traces are of the same rank.
    pub fn merge(traces: &[TraceStore]) -> Result<TraceStore, TraceError> {
        let line_up = match by_wall_clock(traces) {
            Some(line_up) => line_up,
            None => by_collectives(traces)?,
        };
        merged(traces, &line_up)
    }
}

/// Lines ranks up by the end of their first common collective.
fn by_collectives(traces: &[TraceStore]) -> Result<LineUp, TraceError> {
    let ranks = ranks_of_each(traces)?;
    let unaligned = LineUp {
        offsets: vec![0; traces.len()],
        how: "each rank from its own start".to_owned(),
    };
    if traces.len() < 2 {
        return Ok(unaligned);
    }
    let trace_of: BTreeMap<u32, usize> = ranks
        .iter()
        .enumerate()
        .flat_map(|(index, ranks)| ranks.iter().map(move |&rank| (rank, index)))
        .collect();
    let together = merged(traces, &unaligned)?;
    // How much later the clock of the first trace is than that of the second, at their first common collective.
    let mut ahead: BTreeMap<(usize, usize), i64> = BTreeMap::new();
    for call in collective_calls(&together) {
        let ends: Vec<(usize, i64)> = call
            .entries
            .iter()
            .filter_map(|&index| {
                let view = together.view(index);
                Some((*trace_of.get(&view.rank()?)?, view.end_ns()?))
            })
            .collect();
        let Some(&(first, first_end)) = ends.first() else {
            continue;
        };
        for &(other, other_end) in ends.iter().filter(|(other, _)| *other != first) {
            let difference = first_end.saturating_sub(other_end);
            ahead.entry((first, other)).or_insert(difference);
            ahead.entry((other, first)).or_insert(-difference);
        }
    }
    let offsets = solve(traces.len(), &ahead);
    let alone: Vec<String> = ranks
        .iter()
        .zip(&offsets)
        .filter(|(_, offset)| offset.is_none())
        .flat_map(|(ranks, _)| ranks.iter().map(u32::to_string))
        .collect();
    if alone.len() == trace_of.len() {
        return Ok(unaligned);
    }
    let first = offsets.iter().flatten().copied().min().unwrap_or(0);
    let how = match alone.as_slice() {
        [] => "first common collective".to_owned(),
        alone => format!(
            "first common collective; rank {} from its own start",
            alone.join(", ")
        ),
    };
    Ok(LineUp {
        offsets: offsets
            .into_iter()
            .map(|offset| offset.map_or(0, |offset| offset.saturating_sub(first)))
            .collect(),
        how,
    })
}

/// What to add to the clock of each trace; `None` for those without a connection to another.
///
/// Traces are reached from the first of each connected set, so that only the differences within a set count.
fn solve(count: usize, ahead: &BTreeMap<(usize, usize), i64>) -> Vec<Option<i64>> {
    let mut offsets: Vec<Option<i64>> = vec![None; count];
    for root in 0..count {
        let connected = ahead.keys().any(|(from, _)| *from == root);
        if offsets[root].is_some() || !connected {
            continue;
        }
        offsets[root] = Some(0);
        let mut queue = VecDeque::from([root]);
        while let Some(from) = queue.pop_front() {
            for (&(_, to), &difference) in ahead.range((from, 0)..=(from, usize::MAX)) {
                if offsets[to].is_none() {
                    offsets[to] = offsets[from].map(|offset| offset.saturating_add(difference));
                    queue.push_back(to);
                }
            }
        }
    }
    offsets
}

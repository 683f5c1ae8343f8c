//! One collective seen from every rank: how long the transfer took, and who waited for whom.
//!
//! Ranks are taken to share a clock.

use super::communication::CommunicationRule;
use super::nesting::Nesting;
use super::op_table::{bytes_moved, is_accelerator};
use crate::model::json_struct::json_struct;
use crate::model::{EntryView, TraceView};
use std::collections::{BTreeMap, HashMap};

/// All calls of one collective op, over all ranks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Collective {
    /// The op's name.
    pub operation: String,
    /// How many calls were seen from at least two ranks.
    pub calls: usize,
    /// The largest number of ranks in a call.
    pub ranks: usize,
    /// The time data was moving: of each call the shortest duration among its ranks, added up.
    pub transfer_ns: u64,
    /// The bytes of all calls, each counted once.
    pub bytes: u64,
    /// Bus bandwidth: bytes per second of transfer, × 2(n−1)/n for an all-reduce and (n−1)/n for
    /// gathers, scatters and all-to-all.
    pub bus_bytes_per_s: Option<f64>,
    /// For each rank the time it waited for the last one to arrive, added up.
    pub wait_ns: Vec<(u32, u64)>,
}

json_struct!(Collective {
    required: [
        operation,
        calls,
        ranks,
        transfer_ns,
        bytes,
        bus_bytes_per_s,
        wait_ns
    ],
    optional: [],
});

/// Every collective op that several ranks took part in, longest transfer first.
///
/// The first call of an op on one rank belongs to the first call on the others, the second to the
/// second, and so on. Sends and receives are no collectives.
pub fn collectives<T: TraceView + ?Sized>(trace: &T) -> Vec<Collective> {
    let mut found: BTreeMap<&str, (Collective, BTreeMap<u32, u64>, f64)> = BTreeMap::new();
    for call in matched_calls(trace) {
        let views: Vec<EntryView<'_>> = call
            .iter()
            .map(|&index| trace.entry(index).into())
            .collect();
        let Some(first) = views.first() else { continue };
        let latest = views
            .iter()
            .filter_map(EntryView::start_ns)
            .max()
            .unwrap_or(0);
        let transfer = views.iter().map(EntryView::duration_ns).min().unwrap_or(0);
        let bytes = views.iter().map(message_bytes).max().unwrap_or(0);
        let (sum, waits, bus_bytes) = found.entry(first.operation()).or_default();
        sum.calls += 1;
        sum.ranks = sum.ranks.max(views.len());
        sum.transfer_ns = sum.transfer_ns.saturating_add(transfer);
        sum.bytes = sum.bytes.saturating_add(bytes);
        *bus_bytes += bytes as f64 * bus_factor(first.operation(), views.len());
        for view in &views {
            let wait = view.start_ns().map_or(0, |start| latest.abs_diff(start));
            let sum = waits.entry(view.rank().unwrap_or(0)).or_default();
            *sum = sum.saturating_add(wait);
        }
    }
    let mut list: Vec<Collective> = found
        .into_iter()
        .map(|(operation, (sum, waits, bus_bytes))| Collective {
            operation: operation.to_owned(),
            bus_bytes_per_s: (bus_bytes > 0.0 && sum.transfer_ns > 0)
                .then(|| bus_bytes / (sum.transfer_ns as f64 / 1e9)),
            wait_ns: waits.into_iter().collect(),
            ..sum
        })
        .collect();
    list.sort_by_key(|one| std::cmp::Reverse(one.transfer_ns));
    list
}

/// For each call of a collective that at least two ranks took part in, the indices of its entries.
///
/// Where communication is recorded on accelerators, the ops on the host that started it are left out.
pub(crate) fn matched_calls<T: TraceView + ?Sized>(trace: &T) -> Vec<Vec<usize>> {
    let mut rule = CommunicationRule::default();
    let mut taking_part: Vec<(usize, EntryView<'_>)> = trace
        .views()
        .enumerate()
        .filter(|(_, view)| view.rank().is_some() && view.start_ns().is_some() && rule.holds(view))
        .collect();
    if taking_part.is_empty() {
        return Vec::new();
    }
    if taking_part.iter().any(|(_, view)| is_accelerator(view)) {
        taking_part.retain(|(_, view)| is_accelerator(view));
    }
    let nesting = Nesting::of(trace);
    if !nesting.is_flat() {
        // Of communication inside communication the outer one is the collective.
        let mut group = vec![super::forest::NONE; trace.entry_count()];
        for (index, _) in &taking_part {
            group[*index] = 0;
        }
        let inside = nesting.inside_own_group(&group);
        taking_part.retain(|(index, _)| !inside[*index]);
    }
    let mut calls_so_far: HashMap<(&str, Option<u32>), usize> = HashMap::new();
    let mut calls: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
    for (index, view) in taking_part {
        let name = view.operation();
        if is_point_to_point(name) {
            continue;
        }
        let call = calls_so_far.entry((name, view.rank())).or_default();
        calls.entry((name, *call)).or_default().push(index);
        *call += 1;
    }
    calls.into_values().filter(|call| call.len() > 1).collect()
}

fn is_point_to_point(name: &str) -> bool {
    let name = name.to_lowercase();
    // Libraries move an all-to-all in kernels called after both.
    name.contains("send") != name.contains("recv")
}

/// The size of the message: the larger of what goes in and what comes out, unless given.
fn message_bytes(view: &EntryView<'_>) -> u64 {
    if view.bytes_moved().is_some() {
        return bytes_moved(view);
    }
    let read = view.inputs().map(|input| input.bytes() as u64);
    let written = view.memory_bytes() as u64;
    read.fold(0u64, u64::saturating_add).max(written)
}

fn bus_factor(name: &str, ranks: usize) -> f64 {
    let name = name.to_lowercase().replace(['_', '-'], "");
    let n = ranks as f64;
    if name.contains("allreduce") {
        2.0 * (n - 1.0) / n
    } else if ["gather", "scatter", "alltoall"]
        .iter()
        .any(|part| name.contains(part))
    {
        (n - 1.0) / n
    } else {
        1.0
    }
}

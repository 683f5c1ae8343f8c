//! Figures of collectives across ranks: how long the transfer took, and which rank waited.
//!
//! Assumes that the ranks share a clock.

use super::collective_calls::{Completions, collective_calls, participants};
use super::op_work::bytes_moved;
use crate::model::json_struct::json_struct;
use crate::model::{EntryView, TraceView};
use std::collections::BTreeMap;

/// All calls of one collective op of one process group, over all ranks.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Collective {
    /// The op's name.
    pub operation: String,
    /// The kind of collective as the library calls it, such as `allreduce`; `None` if only the op's name is
    /// known. Libraries may run every kind in one generic kernel.
    pub collective: Option<String>,
    /// The name of the process group; `None` if the trace does not have it.
    pub process_group: Option<String>,
    /// Number of calls that at least two ranks recorded.
    pub calls: usize,
    /// The largest number of ranks in a call.
    pub ranks: usize,
    /// The time in which data moved: for each call the shortest duration among its ranks, added up. A call that does
    /// not block lasts until the op that waits for it ends.
    pub transfer_ns: u64,
    /// The bytes of all calls, each counted once.
    pub bytes: u64,
    /// Bus bandwidth: bytes per second of transfer, × 2(n−1)/n for an all-reduce and (n−1)/n for
    /// gathers, scatters and all-to-all.
    pub bus_bytes_per_s: Option<f64>,
    /// For each rank, the time in nanoseconds for which it waited until the last rank arrived, added up over the calls.
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
    optional: [collective, process_group],
});

/// Every collective that several ranks took part in, by op, kind and process group, longest transfer first.
///
/// The entries of one call have the same process group, collective and sequence number. If the trace has no sequence
/// numbers, calls are matched by their order: the first call on one rank belongs to the first call on the others, and
/// so on. Sends and receives are not collectives.
pub fn collectives<T: TraceView + ?Sized>(trace: &T) -> Vec<Collective> {
    let mut found: BTreeMap<_, (Collective, BTreeMap<u32, u64>, f64)> = BTreeMap::new();
    let parts = participants(trace);
    let completions = Completions::of(trace, &parts);
    let span = |call: usize| completions.span(trace, call as u32);
    for call in collective_calls(trace, &parts) {
        let views: Vec<EntryView<'_>> = call
            .entries
            .iter()
            .map(|&index| trace.view(index))
            .collect();
        let starts = views.iter().filter_map(EntryView::start_ns);
        let latest = starts.max().unwrap_or(0);
        let lengths = call.entries.iter().filter_map(|&entry| span(entry));
        let transfer = lengths.map(|(start, end)| end.abs_diff(start)).min();
        let transfer = transfer.unwrap_or(0);
        let bytes = views.iter().map(message_bytes).max().unwrap_or(0);
        let kind = call.facts.collective;
        let key = (call.operation, kind, call.facts.group);
        let (sum, waits, bus_bytes) = found.entry(key).or_default();
        sum.calls += 1;
        sum.ranks = sum.ranks.max(views.len());
        sum.transfer_ns = sum.transfer_ns.saturating_add(transfer);
        sum.bytes = sum.bytes.saturating_add(bytes);
        let ranks = call.facts.group_size().unwrap_or(0).max(views.len());
        *bus_bytes += bytes as f64 * bus_factor(kind.unwrap_or(call.operation), ranks);
        for (&entry, view) in call.entries.iter().zip(&views) {
            let waiting = completions.wait_of(entry as u32) as usize;
            let since = if waiting == entry {
                view.start_ns()
            } else {
                trace.view(waiting).start_ns()
            };
            // When a rank begins to wait for a request, the other ranks may have arrived already.
            let wait = since.map_or(0, |since| {
                latest.saturating_sub(since).max(0).unsigned_abs()
            });
            let sum = waits.entry(view.rank().unwrap_or(0)).or_default();
            *sum = sum.saturating_add(wait);
        }
    }
    let mut list: Vec<Collective> = found
        .into_iter()
        .map(
            |((operation, kind, group), (sum, waits, bus_bytes))| Collective {
                operation: operation.to_owned(),
                collective: kind.map(str::to_owned),
                process_group: group.map(str::to_owned),
                bus_bytes_per_s: (bus_bytes > 0.0 && sum.transfer_ns > 0)
                    .then(|| bus_bytes / (sum.transfer_ns as f64 / 1e9)),
                wait_ns: waits.into_iter().collect(),
                ..sum
            },
        )
        .collect();
    list.sort_by_key(|one| std::cmp::Reverse(one.transfer_ns));
    list
}

/// The size of the message: as recorded; otherwise the inputs or the outputs, whichever is larger.
pub(crate) fn message_bytes(view: &EntryView<'_>) -> u64 {
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

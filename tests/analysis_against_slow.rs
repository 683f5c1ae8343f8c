//! Compares the analyses over time with slow, simple versions of them, on random traces.

mod random_traces;

use proptest::prelude::*;
use random_traces::{flat_trace, handed_off_trace, nested_trace};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trace_runtime::analyze::{
    CausalModel, Intervals, activity, by_op, by_shape, call_tree, categories, critical_path,
    device_times, live_memory, self_times_ns,
};
use trace_runtime::model::{MemoryEvent, TraceStoreBuilder};
use trace_runtime::{EntryView, RecordedExecutionTrace, TraceAnalyzer, TraceStore, TraceView};

fn spans() -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec(
        (-40..40i64, -3..20i64).prop_map(|(start, length)| (start, start + length)),
        0..12,
    )
}

/// The set of all moments in these spans.
fn moments(spans: &[(i64, i64)]) -> BTreeSet<i64> {
    spans.iter().flat_map(|&(start, end)| start..end).collect()
}

fn span(view: &EntryView<'_>) -> (i64, i64) {
    (view.start_ns().unwrap(), view.end_ns().unwrap())
}

/// The same trace with times rounded down to a few dozen moments, so that each moment can be checked.
fn coarse(trace: &RecordedExecutionTrace) -> RecordedExecutionTrace {
    let mut coarse = trace.clone();
    for (entry, view) in coarse.entries.iter_mut().zip(trace.views()) {
        let (start, end) = span(&view);
        entry.set_start_us(Some((start / 400) as f64 / 1000.0));
        entry.duration_us = (end / 400 - start / 400) as f64 / 1000.0;
    }
    coarse
}

/// For each moment of a thread, the index of the innermost entry: of those that run, the one that began last.
fn innermost(trace: &RecordedExecutionTrace, thread: u64, at: i64) -> Option<usize> {
    trace
        .views()
        .enumerate()
        .filter(|(_, view)| view.thread() == Some(thread))
        .filter(|(_, view)| span(view).0 <= at && at < span(view).1)
        .map(|(index, _)| index)
        .last()
}

fn threads_of(trace: &RecordedExecutionTrace) -> BTreeSet<u64> {
    trace.views().filter_map(|view| view.thread()).collect()
}

fn end_of(trace: &RecordedExecutionTrace) -> i64 {
    trace.views().map(|view| span(&view).1).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn intervals_behave_like_sets_of_moments(a in spans(), b in spans()) {
        let (one, two): (Intervals, Intervals) = (a.iter().copied().collect(), b.iter().copied().collect());
        let (a, b) = (moments(&a), moments(&b));
        prop_assert_eq!(one.length(), a.len() as u64);
        prop_assert_eq!(moments(one.union(&two).as_slice()), &a | &b);
        prop_assert_eq!(moments(one.intersection(&two).as_slice()), &a & &b);
        prop_assert_eq!(moments(one.difference(&two).as_slice()), &a - &b);
        for set in [&one, &two, &one.union(&two), &one.intersection(&two), &one.difference(&two)] {
            prop_assert!(set.as_slice().iter().all(|(start, end)| start < end));
            prop_assert!(set.as_slice().windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }

    #[test]
    fn self_time_is_the_time_as_innermost(trace in nested_trace()) {
        let trace = coarse(&trace);
        let mut expected = vec![0u64; trace.entries.len()];
        for thread in threads_of(&trace) {
            for at in 0..end_of(&trace) {
                if let Some(index) = innermost(&trace, thread, at) {
                    expected[index] += 1;
                }
            }
        }
        prop_assert_eq!(self_times_ns(&trace), expected);
    }

    #[test]
    fn devices_are_busy_while_an_entry_of_theirs_runs(trace in nested_trace()) {
        let trace = coarse(&trace);
        let found = activity(&trace);
        let devices: BTreeSet<&str> = trace.views().filter_map(|view| view.device_id()).collect();
        prop_assert_eq!(found.devices.len(), devices.len());
        for row in &found.devices {
            let on = |view: &EntryView<'_>| view.device_id() == Some(row.device.as_str());
            let all: Vec<_> = trace.views().filter(on).map(|view| span(&view)).collect();
            let busy = moments(&all);
            prop_assert_eq!(row.busy_ns, busy.len() as u64);
            let first = all.iter().map(|span| span.0).min().unwrap();
            let last = all.iter().map(|span| span.1).max().unwrap();
            prop_assert_eq!(row.span_ns, last.abs_diff(first));
            prop_assert_eq!(row.idle_ns, row.span_ns - row.busy_ns);
            let (mut compute, mut communication) = (BTreeSet::new(), BTreeSet::new());
            for thread in threads_of(&trace) {
                for at in 0..end_of(&trace) {
                    let Some(index) = innermost(&trace, thread, at) else { continue };
                    let entry = &trace.entries[index];
                    if entry.device_id.as_deref() != Some(row.device.as_str()) {
                        continue;
                    }
                    let communicates = ["all_reduce", "Send"].contains(&entry.operation.as_str());
                    if communicates { communication.insert(at) } else { compute.insert(at) };
                }
            }
            prop_assert_eq!(row.compute_ns, compute.len() as u64);
            prop_assert_eq!(row.communication_ns, communication.len() as u64);
            prop_assert_eq!(row.overlap_ns, (&communication & &compute).len() as u64);
            prop_assert_eq!(row.exposed_communication_ns, (&communication - &compute).len() as u64);
        }
    }

    #[test]
    fn device_time_belongs_to_the_nearest_host_op(trace in handed_off_trace()) {
        let times = device_times(&trace);
        let own = self_times_ns(&trace);
        let on_device = |index: usize| {
            trace.entries[index].device_id.as_deref().is_some_and(|device| device != "cpu")
        };
        let (mut self_ns, mut total_ns) = (vec![0; own.len()], vec![0; own.len()]);
        let mut by_name: HashMap<&str, (u64, u64)> = HashMap::new();
        let mut unattributed = 0;
        for index in (0..own.len()).filter(|&index| on_device(index)) {
            let mut hosts = Vec::new();
            let mut at = trace.entries[index].parent;
            while let Some(parent) = at {
                hosts.extend((!on_device(parent)).then_some(parent));
                at = trace.entries[parent].parent;
            }
            match hosts.first() {
                Some(&nearest) => {
                    self_ns[nearest] += own[index];
                    by_name.entry(&trace.entries[nearest].operation).or_default().0 += own[index];
                }
                None => unattributed += own[index],
            }
            let mut names: Vec<&str> = Vec::new();
            for host in hosts {
                total_ns[host] += own[index];
                names.push(&trace.entries[host].operation);
            }
            // An op inside an op of the same name counts once.
            names.sort_unstable();
            names.dedup();
            for name in names {
                by_name.entry(name).or_default().1 += own[index];
            }
        }
        for index in 0..own.len() {
            prop_assert_eq!(times.self_ns(index), self_ns[index]);
            prop_assert_eq!(times.total_ns(index), total_ns[index]);
        }
        prop_assert_eq!(times.unattributed_ns(), unattributed);
        prop_assert_eq!(times.attributed_ns(), self_ns.iter().sum::<u64>());
        let device_time: u64 =
            (0..own.len()).filter(|&index| on_device(index)).map(|index| own[index]).sum();
        for rows in [by_op(&trace), by_shape(&trace)] {
            let over_ops: u64 = rows.iter().map(|row| row.device_self_ns).sum();
            prop_assert_eq!(over_ops + unattributed, device_time);
        }
        for row in by_op(&trace).iter().filter(|row| !row.accelerator) {
            let expected = by_name.get(row.operation.as_str()).copied().unwrap_or_default();
            prop_assert_eq!((row.device_self_ns, row.device_total_ns), expected);
        }
        let by_category: u64 = categories(&trace).iter().map(|time| time.self_ns).sum();
        if device_time > 0 {
            prop_assert_eq!(by_category, device_time);
        }
    }

    #[test]
    fn the_critical_path_is_the_longest_chain(trace in handed_off_trace()) {
        let trace = coarse(&trace);
        let path = critical_path(&trace);
        prop_assert_eq!(path.length_ns, longest_chain(&trace));
        prop_assert_eq!(path.ops.iter().map(|op| op.path_ns).sum::<u64>(), path.length_ns);
        let model = CausalModel::new(&trace);
        prop_assert_eq!(model.critical_steps().map(|step| step.ns).sum::<u64>(), path.length_ns);
        prop_assert_eq!(path.host_ns + path.device_ns, path.length_ns);
        prop_assert!(path.length_ns <= path.span_ns);
    }

    #[test]
    fn figures_of_an_op_are_those_of_its_sorted_durations(
        trace in prop_oneof![flat_trace(), nested_trace()],
    ) {
        let mut durations: HashMap<(String, bool), Vec<u64>> = HashMap::new();
        for view in trace.views() {
            let accelerator = view.device_id().is_some_and(|device| device != "cpu");
            let key = (view.operation().to_owned(), accelerator);
            durations.entry(key).or_default().push(view.duration_ns());
        }
        let rows = by_op(&trace);
        prop_assert_eq!(rows.len(), durations.len());
        for row in rows {
            let mut sorted = durations[&(row.operation.clone(), row.accelerator)].clone();
            sorted.sort_unstable();
            // The first value that at least this share of all values do not exceed.
            let rank = |percent: usize| {
                let enough = |value: &&u64| {
                    sorted.iter().filter(|other| other <= value).count() * 100 >= percent * sorted.len()
                };
                *sorted.iter().find(enough).unwrap()
            };
            prop_assert_eq!(row.count, sorted.len());
            prop_assert_eq!(row.sum_ns, sorted.iter().sum::<u64>());
            prop_assert_eq!(row.mean_ns, row.sum_ns / row.count as u64);
            prop_assert_eq!([row.min_ns, row.max_ns], [sorted[0], sorted[sorted.len() - 1]]);
            prop_assert_eq!([row.p50_ns, row.p95_ns, row.p99_ns], [rank(50), rank(95), rank(99)]);
        }
    }

    #[test]
    fn the_call_tree_holds_every_entry_once(trace in handed_off_trace()) {
        let tree = call_tree(&trace);
        let count: usize = tree.nodes.iter().map(|node| node.count).sum();
        prop_assert_eq!(count, trace.entries.len());
        let self_ns: u64 = tree.nodes.iter().map(|node| node.self_ns).sum();
        prop_assert_eq!(self_ns, self_times_ns(&trace).iter().sum::<u64>());
        // Compares the path of each node, found by its depth, with that of each entry, found by its parents.
        let mut paths: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        for view in trace.views() {
            let mut path = vec![view.operation().to_owned()];
            let mut parent = view.parent();
            while let Some(step) = parent {
                path.push(trace.entries[step].operation.clone());
                parent = trace.entries[step].parent;
            }
            path.reverse();
            *paths.entry(path).or_default() += 1;
        }
        let mut found = BTreeMap::new();
        let mut stack: Vec<String> = Vec::new();
        for node in &tree.nodes {
            stack.truncate(node.depth);
            stack.push(node.operation.clone());
            found.insert(stack.clone(), node.count);
        }
        prop_assert_eq!(found, paths);
    }

    #[test]
    fn live_memory_is_what_was_allocated_and_not_freed(
        blocks in prop::collection::vec((0..50i64, 1..50i64, 1..1000i64, any::<bool>()), 0..20),
    ) {
        // A block is allocated, and freed some time later unless the trace ends before.
        let mut events: Vec<(i64, i64, u64)> = Vec::new();
        for (address, &(start, length, bytes, freed)) in blocks.iter().enumerate() {
            events.push((start, bytes, address as u64));
            if freed {
                events.push((start + length, -bytes, address as u64));
            }
        }
        events.sort_by_key(|event| event.0);
        let mut builder = TraceStoreBuilder::new();
        for &(at_ns, bytes, address) in &events {
            builder.push_memory(&MemoryEvent::new(at_ns, bytes, "cuda:0").with_address(address));
        }
        let found = live_memory(&builder.finish());
        prop_assert_eq!(found.len(), usize::from(!blocks.is_empty()));
        for memory in found {
            let live = |at: i64| -> i64 {
                let taken = blocks.iter().filter(|(start, length, _, freed)| {
                    *start <= at && (!freed || at < start + length)
                });
                taken.map(|block| block.2).sum()
            };
            for &(at, bytes) in &memory.curve {
                prop_assert_eq!(bytes as i64, live(at), "{}", at);
            }
            // Frees and allocations at the same moment may reach a peak between them.
            let highest = (0..100).map(live).max().unwrap();
            prop_assert!(memory.peak_bytes as i64 >= highest);
            let held: u64 = memory.holders.iter().map(|holder| holder.bytes).sum();
            prop_assert_eq!(held, memory.peak_bytes);
        }
    }

    #[test]
    fn without_frees_no_live_memory_is_shown(trace in flat_trace()) {
        prop_assert_eq!(live_memory(&trace), []);
        if trace.entry_count() > 0 {
            prop_assert!(trace.report().notes.iter().any(|note| note.contains("has no frees")));
        }
    }

    #[test]
    fn both_storages_give_equal_analyses(trace in prop_oneof![flat_trace(), handed_off_trace()]) {
        let store = TraceStore::try_from(&trace).unwrap();
        prop_assert_eq!(by_op(&trace), by_op(&store));
        prop_assert_eq!(by_shape(&trace), by_shape(&store));
        prop_assert_eq!(activity(&trace), activity(&store));
        prop_assert_eq!(critical_path(&trace), critical_path(&store));
        prop_assert_eq!(call_tree(&trace), call_tree(&store));
        prop_assert_eq!(live_memory(&trace), live_memory(&store));
        prop_assert_eq!(trace.report(), store.report());
        // The sums in microseconds and the tables agree.
        let mut totals: HashMap<String, u64> = HashMap::new();
        for row in by_op(&trace) {
            *totals.entry(row.operation).or_default() += row.self_ns;
        }
        for (name, summary) in TraceAnalyzer::operation_summary(&trace) {
            let table = totals[&name] as f64 / 1000.0;
            let slack = 0.001 * summary.count as f64;
            prop_assert!((summary.self_duration_us - table).abs() <= slack, "{name}");
        }
    }
}

/// Index, span, thread and parent of an entry whose parent ran on another thread.
type Handed = (usize, (i64, i64), u64, Option<usize>);

/// The longest chain, computed moment by moment. On each thread, the best chain so far grows by one while something
/// runs that does not only wait. It passes to another thread where work is handed over, and back where that work ends.
fn longest_chain(trace: &RecordedExecutionTrace) -> u64 {
    let mut best: BTreeMap<u64, u64> = threads_of(trace).into_iter().map(|id| (id, 0)).collect();
    let entries: Vec<Handed> = trace
        .views()
        .enumerate()
        .map(|(index, view)| (index, span(&view), view.thread().unwrap(), view.parent()))
        .filter(|(_, _, thread, parent)| {
            parent.is_some_and(|step| trace.entries[step].thread != Some(*thread))
        })
        .collect();
    for at in 0..=end_of(trace) {
        let mut hand_overs: Vec<(u64, u64)> = Vec::new();
        for (_, (start, end), thread, parent) in &entries {
            let view: EntryView<'_> = (&trace.entries[parent.unwrap()]).into();
            let caller = view.thread().unwrap();
            if *start == at {
                hand_overs.push((caller, *thread));
            }
            if *end == at && *end <= span(&view).1 {
                hand_overs.push((*thread, caller));
            }
        }
        // At one moment work may pass through several threads, in any order.
        for _ in 0..hand_overs.len() {
            for (from, to) in &hand_overs {
                let longest = best[from].max(best[to]);
                best.insert(*to, longest);
            }
        }
        for (&thread, chain) in &mut best {
            let works = |index: &usize| {
                let (_, end) = span(&(&trace.entries[*index]).into());
                // An op waits while the work that it handed over runs, if that work ended before the op did.
                !entries.iter().any(|&(_, (from, to), _, parent)| {
                    parent == Some(*index) && from <= at && at < to && to <= end
                })
            };
            *chain += u64::from(innermost(trace, thread, at).as_ref().is_some_and(works));
        }
    }
    best.into_values().max().unwrap_or(0)
}

//! Compares `TraceAnalyzer` with slow versions of the same rules, on random traces.

mod random_traces;

use proptest::prelude::*;
use random_traces::{flat_trace, nested_trace};
use std::collections::{BTreeMap, HashMap};
use trace_runtime::{RecordedExecutionTrace, TraceAnalyzer, TraceStore, TraceView};

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #[test]
    fn flat_summaries_are_plain_sums(trace in flat_trace()) {
        let mut ops: HashMap<String, (usize, f64, usize)> = HashMap::new();
        let mut devices: HashMap<String, (usize, f64, usize)> = HashMap::new();
        for entry in &trace.entries {
            let add = |sum: &mut (usize, f64, usize)| {
                sum.0 += 1;
                sum.1 += entry.duration_us;
                sum.2 += entry.memory_bytes;
            };
            add(ops.entry(entry.operation.clone()).or_default());
            if let Some(device) = &entry.device_id {
                add(devices.entry(device.clone()).or_default());
            }
        }
        let found = TraceAnalyzer::operation_summary(&trace);
        let averages = TraceAnalyzer::avg_duration_by_op(&trace);
        prop_assert_eq!(found.len(), ops.len());
        prop_assert_eq!(averages.len(), ops.len());
        for (name, (count, us, bytes)) in &ops {
            prop_assert_eq!(found[name].count, *count);
            prop_assert!(same(found[name].total_duration_us, *us));
            prop_assert!(same(found[name].self_duration_us, *us));
            prop_assert_eq!(found[name].total_memory_bytes, *bytes);
            prop_assert!(same(averages[name], us / *count as f64));
        }
        let found = TraceAnalyzer::per_device_summary(&trace);
        prop_assert_eq!(found.len(), devices.len());
        for (name, (count, us, bytes)) in &devices {
            prop_assert_eq!(found[name].op_count, *count);
            prop_assert!(same(found[name].total_duration_us, *us));
            prop_assert_eq!(found[name].total_memory_bytes, *bytes);
        }

        let sorted: BTreeMap<_, _> = devices.into_iter().collect();
        let balance = TraceAnalyzer::load_balance_metrics(&trace);
        prop_assert_eq!(balance.is_some(), sorted.len() >= 2);
        if let Some(balance) = balance {
            let total: f64 = sorted.values().map(|sum| sum.1).sum();
            let ideal = total / sorted.len() as f64;
            let max = sorted.values().map(|sum| sum.1).fold(0.0, f64::max);
            prop_assert!(same(balance.total_duration_us, total));
            prop_assert!(same(balance.ideal_duration_us, ideal));
            prop_assert!(same(balance.max_duration_us, max));
            prop_assert!(same(balance.imbalance_ratio, f64::max(0.0, (max - ideal) / ideal)));
            let listed: Vec<_> = sorted.into_iter().map(|(name, sum)| (name, sum.1)).collect();
            prop_assert_eq!(balance.per_device_duration_us, listed);
        }
    }

    #[test]
    fn flat_communication_and_stacks_are_plain_sums(
        trace in flat_trace(),
        min_ratio in 0.0..0.5f64,
    ) {
        let whole = trace.entries.iter().fold(0.0, |sum, entry| sum + entry.duration_us).max(1e-9);
        let mut communication: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
        let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
        for entry in &trace.entries {
            if ["all_reduce", "Send"].contains(&entry.operation.as_str()) {
                let sum = communication.entry(&entry.operation).or_default();
                sum.0 += entry.duration_us;
                sum.1 += 1;
            }
            let device = entry.device_id.as_deref().unwrap_or("unknown");
            let name = entry.operation.replace(' ', "%20").replace(';', "%3B");
            let weight = entry.duration_us.max(1.0).round() as u64;
            *stacks.entry(format!("trace;{device};{name}")).or_default() += weight;
        }
        communication.retain(|_, sum| sum.0 / whole >= min_ratio);
        let found = TraceAnalyzer::communication_bottlenecks(&trace, min_ratio);
        prop_assert_eq!(found.len(), communication.len());
        prop_assert!(found.windows(2).all(|pair| pair[0].ratio_of_total >= pair[1].ratio_of_total));
        for one in found {
            let (us, count) = communication[one.operation.as_str()];
            prop_assert!(same(one.total_duration_us, us));
            prop_assert!(same(one.ratio_of_total, us / whole));
            prop_assert_eq!(one.call_count, count);
        }
        let lines: Vec<_> = stacks.iter().map(|(stack, weight)| format!("{stack} {weight}")).collect();
        prop_assert_eq!(TraceAnalyzer::flamegraph_collapsed(&trace), lines.join("\n"));
    }

    #[test]
    fn self_times_of_a_thread_add_up_to_the_union_of_its_roots(trace in nested_trace()) {
        let mut union: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
        for view in trace.views().filter(|view| view.parent().is_none()) {
            let span = (view.start_ns().unwrap(), view.end_ns().unwrap());
            union.entry(view.thread().unwrap()).or_default().push(span);
        }
        for (thread, mut spans) in union {
            spans.sort_unstable();
            let (mut length, mut reached) = (0, i64::MIN);
            for (start, end) in spans {
                length += (end - start.max(reached)).max(0);
                reached = reached.max(end);
            }
            let alone = of_thread(&trace, thread);
            let ops = TraceAnalyzer::operation_summary(&alone);
            let self_us: f64 = ops.values().map(|op| op.self_duration_us).sum();
            prop_assert!(close(self_us, length as f64 / 1000.0), "{self_us} {length}");
            prop_assert!(close(alone.total_duration_us, length as f64 / 1000.0));
        }
    }

    #[test]
    fn the_total_of_an_op_is_the_union_of_its_executions(trace in nested_trace()) {
        let mut lengths: BTreeMap<(&str, u64), Vec<(i64, i64)>> = BTreeMap::new();
        for view in trace.views() {
            let key = (view.operation(), view.thread().unwrap());
            lengths.entry(key).or_default().push((view.start_ns().unwrap(), view.end_ns().unwrap()));
        }
        let mut totals: HashMap<&str, i64> = HashMap::new();
        for ((name, _), spans) in lengths {
            // The slow version: which nanoseconds are covered, by the ends of all spans.
            let mut ends: Vec<i64> = spans.iter().flat_map(|&(start, end)| [start, end]).collect();
            ends.sort_unstable();
            for pair in ends.windows(2) {
                if spans.iter().any(|&(start, end)| start <= pair[0] && pair[1] <= end) {
                    *totals.entry(name).or_default() += pair[1] - pair[0];
                }
            }
        }
        for (name, op) in TraceAnalyzer::operation_summary(&trace) {
            let total = totals.get(name.as_str()).copied().unwrap_or(0) as f64 / 1000.0;
            prop_assert!(close(op.total_duration_us, total), "{name} {op:?} {total}");
            prop_assert!(op.self_duration_us <= op.total_duration_us + 1e-6);
        }
    }

    #[test]
    fn both_storages_give_equal_results(trace in prop_oneof![flat_trace(), nested_trace()]) {
        let store = TraceStore::try_from(&trace).unwrap();
        prop_assert_eq!(
            TraceAnalyzer::operation_summary(&trace), TraceAnalyzer::operation_summary(&store));
        prop_assert_eq!(
            TraceAnalyzer::avg_duration_by_op(&trace), TraceAnalyzer::avg_duration_by_op(&store));
        prop_assert_eq!(
            TraceAnalyzer::per_device_summary(&trace), TraceAnalyzer::per_device_summary(&store));
        prop_assert_eq!(
            TraceAnalyzer::load_balance_metrics(&trace), TraceAnalyzer::load_balance_metrics(&store));
        prop_assert_eq!(
            TraceAnalyzer::communication_bottlenecks(&trace, 0.0),
            TraceAnalyzer::communication_bottlenecks(&store, 0.0));
        prop_assert_eq!(
            TraceAnalyzer::flamegraph_collapsed(&trace), TraceAnalyzer::flamegraph_collapsed(&store));
        let owned: Vec<_> = TraceAnalyzer::slowest_by_self(&trace, 7).into_iter().cloned().collect();
        let stored: Vec<_> = TraceAnalyzer::slowest_by_self(&store, 7)
            .into_iter()
            .map(|entry| trace_runtime::EntryView::from(entry).to_entry())
            .collect();
        prop_assert_eq!(owned, stored);
        let slowest: Vec<_> = trace.slowest_ops(5).iter().map(|entry| entry.step).collect();
        let generic: Vec<_> = TraceAnalyzer::slowest(&trace, 5).iter().map(|entry| entry.step).collect();
        prop_assert_eq!(slowest, generic);
    }
}

fn of_thread(trace: &RecordedExecutionTrace, thread: u64) -> RecordedExecutionTrace {
    let mut alone = RecordedExecutionTrace::new();
    for entry in trace
        .entries
        .iter()
        .filter(|entry| entry.thread == Some(thread))
    {
        alone.add_entry(entry.clone());
    }
    alone
}

//! Rule: the host allocates and frees device memory while the device is idle.

use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use super::idle::IdleTime;
use crate::analyze::intervals::{Intervals, SaturatingSum as _, add_ns};
use crate::model::TraceView;
use crate::units::percent;
use std::collections::{BTreeMap, HashMap};

/// The smallest share that is listed.
const LEAST: f64 = 0.03;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let calls = &facts.allocating;
    let cost_ns = calls.iter().map(|call| call.1).saturating_sum();
    let Some((first, _)) = calls.first() else {
        return Vec::new();
    };
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let kind = FindingKind::Allocation;
    let mut finding = facts.finding(kind, first, cost_ns, "Devices");
    finding.parts = calls
        .iter()
        .take(5)
        .map(|(name, ns)| facts.part(name, *ns))
        .collect();
    let names: Vec<&str> = calls.iter().take(2).map(|call| call.0.as_str()).collect();
    finding.sentence = format!(
        "{} of the time the device is idle while the host allocates or frees device memory ({})",
        percent(finding.share),
        names.join(", ")
    );
    vec![finding]
}

/// True for a runtime call that takes device or pinned memory from the driver or returns it. Calls that are queued on a
/// stream (`cudaMallocAsync`) use a pool and are cheap.
fn allocates(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let part = |part: &str| name.contains(part);
    (part("malloc") || part("free") || part("hostalloc") || part("memalloc") || part("memcreate"))
        && !part("async")
        && !part("meminfo")
        && !part("memgetinfo")
}

/// The calls without the longest one, if that takes most of their time: the first use of a device is often a `cudaFree`
/// that takes seconds.
fn recurring(mut spans: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    let length = |span: &(i64, i64)| span.1.abs_diff(span.0);
    let all = spans.iter().map(length).saturating_sum();
    let longest = (0..spans.len()).max_by_key(|&index| length(&spans[index]));
    if let Some(index) = longest.filter(|&index| length(&spans[index]) > all / 2) {
        spans.swap_remove(index);
    }
    spans
}

/// Idle time of devices during calls that allocate or free memory, by call, longest first; the mean over devices.
pub(super) fn allocating_ns<T: TraceView + ?Sized>(
    trace: &T,
    devices: &[IdleTime],
) -> Vec<(String, u64)> {
    if devices.is_empty() {
        return Vec::new();
    }
    let mut known: HashMap<&str, bool> = HashMap::new();
    let mut calls: BTreeMap<_, Vec<(i64, i64)>> = BTreeMap::new();
    for call in trace.runtime_calls() {
        if *known
            .entry(call.name)
            .or_insert_with(|| allocates(call.name))
        {
            let spans = calls.entry((call.name, call.rank)).or_default();
            spans.push((call.start_ns, call.end_ns()));
        }
    }
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for ((name, rank), spans) in calls {
        let spans: Intervals = recurring(spans).into_iter().collect();
        for device in devices.iter().filter(|device| device.rank == rank) {
            let ns = device.idle.intersection(&spans).length();
            add_ns(by_name.entry(name).or_default(), ns);
        }
    }
    let mut list: Vec<(String, u64)> = by_name
        .into_iter()
        .map(|(name, ns)| (name.to_owned(), mean(ns, devices.len())))
        .filter(|call| call.1 > 0)
        .collect();
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list
}

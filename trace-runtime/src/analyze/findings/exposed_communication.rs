//! Rule: communication that does not overlap with computation.

use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use super::straggler::{Straggler, straggler};
use crate::analyze::communication::CommunicationRule;
use crate::analyze::device_activity::DeviceSets;
use crate::analyze::device_time::is_accelerator;
use crate::analyze::intervals::{Intervals, SaturatingSum as _, add_ns};
use crate::model::TraceView;
use crate::model::collective_keys::COLLECTIVE;
use crate::units::percent;
use std::collections::{BTreeMap, HashMap};

/// Smaller shares are not listed.
const LEAST: f64 = 0.02;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let on_host: Vec<(String, u64)>;
    let (ops, all, section) = if facts.has_accelerators() {
        (&facts.exposed.by_op, facts.exposed.total_ns, "Devices")
    } else {
        let ops = facts.host_ops.iter();
        on_host = ops
            .filter(|op| facts.communicates(&op.0))
            .cloned()
            .collect();
        let all = on_host.iter().map(|op| op.1).saturating_sum();
        (&on_host, all, "By op")
    };
    let Some((first, _)) = ops.first() else {
        return Vec::new();
    };
    let waiting = straggler(facts).map_or(0, |Straggler { cost_ns, .. }| cost_ns);
    // The time in which a rank waits for a slower one is part of the finding about stragglers.
    let cost_ns = all.saturating_sub(waiting);
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let kind = FindingKind::ExposedCommunication;
    let mut finding = facts.finding(kind, first, cost_ns, section);
    finding.parts = ops.iter().map(|(name, ns)| facts.part(name, *ns)).collect();
    let recorded = facts.exposed.collectives.get(first).map(String::as_str);
    let what = match collective_in(first).or_else(|| collective_in(recorded?).or(recorded)) {
        // A name that is hardly longer than the collective is shown unchanged.
        Some(collective) if first.len() > collective.len() + 1 => {
            format!("{collective} ({})", facts.name(first))
        }
        _ => facts.name(first),
    };
    let what = match ops.len() {
        1 => what,
        _ => format!("communication, mostly {what}"),
    };
    finding.sentence = format!("{} of the time is exposed {what}", percent(finding.share));
    vec![finding]
}

/// Communication on accelerators outside the computation of its rank; times are means over ranks.
#[derive(Debug, Default)]
pub(crate) struct Exposed {
    /// The time in which at least one op communicates and nothing computes.
    total_ns: u64,
    /// By op, longest first. If several ops run at the same time, each is charged that time.
    by_op: Vec<(String, u64)>,
    /// The collective that every execution of an op belongs to, if the trace names it: kernels of different
    /// collectives can have one name.
    collectives: HashMap<String, String>,
}

impl Exposed {
    pub(super) fn of<T: TraceView + ?Sized>(
        trace: &T,
        devices: &[DeviceSets],
        windows: &BTreeMap<Option<u32>, Intervals>,
    ) -> Exposed {
        let mut compute: BTreeMap<Option<u32>, Intervals> = BTreeMap::new();
        let accelerators = || devices.iter().filter(|one| one.is_accelerator());
        if accelerators().all(|one| one.communication.is_empty()) {
            return Exposed::default();
        }
        for device in accelerators() {
            let of_rank = compute.entry(device.rank).or_default();
            *of_rank = of_rank.union(&device.compute);
        }
        let mut rule = CommunicationRule::default();
        let mut spans: HashMap<_, Vec<(i64, i64)>> = HashMap::new();
        let mut collectives: HashMap<&str, Option<&str>> = HashMap::new();
        for index in 0..trace.entry_count() {
            let view = trace.view(index);
            if is_accelerator(&view)
                && rule.holds(&view)
                && let Some(span) = view.start_ns().zip(view.end_ns())
            {
                let key = (view.rank(), view.operation());
                spans.entry(key).or_default().push(span);
                let named = view.meta().and_then(|meta| meta.get(COLLECTIVE));
                let known = collectives.entry(view.operation()).or_insert(named);
                *known = known.filter(|&known| named.is_some_and(|named| named == known));
            }
        }
        let mut by_op: HashMap<&str, u64> = HashMap::new();
        let mut by_rank: BTreeMap<Option<u32>, Intervals> = BTreeMap::new();
        for ((rank, name), spans) in spans {
            let all: Intervals = spans.into_iter().collect();
            let window = windows.get(&rank).cloned().unwrap_or_default();
            let computing = compute.get(&rank).cloned().unwrap_or_default();
            let alone = all.intersection(&window).difference(&computing);
            add_ns(by_op.entry(name).or_default(), alone.length());
            let of_rank = by_rank.entry(rank).or_default();
            *of_rank = of_rank.union(&alone);
        }
        let mut list: Vec<(String, u64)> = by_op
            .into_iter()
            .map(|(name, ns)| (name.to_owned(), mean(ns, compute.len())))
            .filter(|op| op.1 > 0)
            .collect();
        list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let total = by_rank.values().map(Intervals::length).saturating_sum();
        Exposed {
            total_ns: mean(total, compute.len()),
            by_op: list,
            collectives: collectives
                .into_iter()
                .filter_map(|(name, collective)| Some((name.to_owned(), collective?.to_owned())))
                .collect(),
        }
    }
}

/// The collective that a name contains, in its usual spelling.
fn collective_in(name: &str) -> Option<&'static str> {
    let names = [
        "AllReduce",
        "AllGather",
        "ReduceScatter",
        "AllToAll",
        "Broadcast",
        "SendRecv",
    ];
    let plain: String = name.chars().filter(|c| *c != '_').collect();
    let lower = plain.to_ascii_lowercase();
    names
        .into_iter()
        .find(|one| lower.contains(&one.to_ascii_lowercase()))
}

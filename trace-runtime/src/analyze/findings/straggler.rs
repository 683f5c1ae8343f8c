//! Rule: the other devices or ranks wait for a slower one.

use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use crate::analyze::intervals::{SaturatingSum as _, add_ns};
use crate::units::percent;
use std::collections::BTreeMap;

/// Smaller shares are not listed.
const LEAST: f64 = 0.03;

/// The device or rank that the others wait for.
pub(super) struct Straggler {
    name: String,
    /// The mean time for which the others wait.
    pub(super) cost_ns: u64,
    /// The time of each other, in which it waits.
    others: Vec<(String, u64)>,
    section: &'static str,
}

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(found) = straggler(facts) else {
        return Vec::new();
    };
    let mut finding = facts.finding(
        FindingKind::Straggler,
        &found.name,
        found.cost_ns,
        found.section,
    );
    finding.parts = found
        .others
        .iter()
        .map(|(name, ns)| facts.part(name, *ns))
        .collect();
    finding.sentence = format!(
        "{} is the slowest: the others wait for it {} of the time",
        found.name,
        percent(finding.share)
    );
    vec![finding]
}

/// The straggler, if the others lose a noticeable part of the time to it.
pub(super) fn straggler(facts: &Facts<'_>) -> Option<Straggler> {
    let found = of_ranks(facts).or_else(|| of_devices(facts))?;
    (facts.share(found.cost_ns) >= LEAST).then_some(found)
}

/// By the waits at collectives: the rank that waits least is the one that arrives last.
fn of_ranks(facts: &Facts<'_>) -> Option<Straggler> {
    let mut waits: BTreeMap<u32, u64> = BTreeMap::new();
    for (rank, ns) in facts.tables.collectives.iter().flat_map(|one| &one.wait_ns) {
        add_ns(waits.entry(*rank).or_default(), *ns);
    }
    let (&last, &shortest) = waits.iter().min_by_key(|wait| wait.1)?;
    let others: Vec<(u32, u64)> = waits.into_iter().filter(|wait| wait.0 != last).collect();
    let cost_ns = mean(
        others.iter().map(|wait| wait.1).saturating_sum(),
        others.len(),
    );
    // Ranks that take turns in being late have no straggler.
    if shortest.saturating_mul(2) > cost_ns {
        return None;
    }
    let name = |rank: u32| {
        let mut devices = facts.tables.devices.iter();
        let of_rank = devices.find(|one| one.rank == Some(rank) && one.is_accelerator());
        match of_rank {
            Some(device) => format!("{} of rank {rank}", device.device),
            None => format!("rank {rank}"),
        }
    };
    Some(Straggler {
        name: name(last),
        cost_ns,
        others: others
            .into_iter()
            .map(|(rank, ns)| (name(rank), ns))
            .collect(),
        section: "Collectives across ranks",
    })
}

/// By the computation of the devices of one process that communicate with each other.
fn of_devices(facts: &Facts<'_>) -> Option<Straggler> {
    let devices: Vec<_> = facts
        .tables
        .devices
        .iter()
        .filter(|one| one.is_accelerator() && !one.communication.is_empty())
        .collect();
    let same_rank = devices.windows(2).all(|pair| pair[0].rank == pair[1].rank);
    if devices.len() < 2 || !same_rank {
        return None;
    }
    let slowest = devices.iter().max_by_key(|one| one.compute.length())?;
    let most = slowest.compute.length();
    let others: Vec<(String, u64)> = devices
        .iter()
        .filter(|one| one.device != slowest.device)
        .map(|one| {
            (
                one.device.clone(),
                most.saturating_sub(one.compute.length()),
            )
        })
        .collect();
    let cost_ns = mean(
        others.iter().map(|other| other.1).saturating_sum(),
        others.len(),
    );
    // The others wait in communication: they cannot have waited for longer than it took.
    let communication = devices.iter().map(|one| one.communication.length()).max();
    if communication.is_none_or(|ns| ns < cost_ns / 2) || cost_ns < most / 5 {
        return None;
    }
    Some(Straggler {
        name: slowest.device.clone(),
        cost_ns,
        others,
        section: "Devices",
    })
}

//! The slowest of the devices of one process.

use super::facts::{Facts, mean};
use super::idle::IdleTime;
use super::straggler::Straggler;
use crate::analyze::intervals::SaturatingSum as _;

/// A device for which the others wait is busy for at least this many times as long as they are, on average.
const BUSIER: f64 = 1.2;

/// Compares the computation of the devices of one process that communicate with each other.
pub(super) fn of_devices(facts: &Facts<'_>) -> Option<Straggler> {
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
    // The others wait inside communication, so they cannot have waited longer than it took.
    let communication = devices.iter().map(|one| one.communication.length()).max();
    if communication.is_none_or(|ns| ns < cost_ns / 2) || cost_ns < most / 5 {
        return None;
    }
    Some(Straggler {
        name: slowest.device.clone(),
        because: None,
        cost_ns,
        others,
        section: "Devices",
    })
}

/// The device for which the host waits while the other devices of the process are idle, if that is mostly one, and
/// it is busier than the others.
pub(super) fn of_host_waits(facts: &Facts<'_>) -> Option<Straggler> {
    let devices = &facts.idle;
    let same_rank = devices.windows(2).all(|pair| pair[0].rank == pair[1].rank);
    if devices.len() < 2 || !same_rank {
        return None;
    }
    let caused = |name: &str| {
        let waits = others(facts, name).filter_map(|one| one.waiting.get(name));
        mean(waits.copied().saturating_sum(), devices.len() - 1)
    };
    let slowest = devices.iter().max_by_key(|one| caused(&one.device))?;
    let cost_ns = caused(&slowest.device);
    let all = devices.iter().map(|one| caused(&one.device));
    // Devices that work in turns wait for each other.
    let usual_idle = others(facts, &slowest.device).map(|one| one.idle_ns);
    let usual_idle = mean(usual_idle.saturating_sum(), devices.len() - 1);
    let busy = |idle_ns: u64| facts.whole_ns.saturating_sub(idle_ns) as f64;
    if cost_ns <= all.saturating_sum() / 2 || busy(slowest.idle_ns) < BUSIER * busy(usual_idle) {
        return None;
    }
    let waited = |one: &IdleTime| {
        let ns = one.waiting.get(&slowest.device).copied();
        (one.device.clone(), ns.unwrap_or(0))
    };
    Some(Straggler {
        name: slowest.device.clone(),
        because: None,
        cost_ns,
        others: others(facts, &slowest.device).map(waited).collect(),
        section: "Devices",
    })
}

/// The devices with other names than this one.
fn others<'f>(facts: &'f Facts<'_>, name: &'f str) -> impl Iterator<Item = &'f IdleTime> {
    facts.idle.iter().filter(move |one| one.device != name)
}

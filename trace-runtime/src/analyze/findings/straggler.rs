//! Rule: the other devices or ranks wait for a slower one.

use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use crate::analyze::causal::CausedWaits;
use crate::analyze::intervals::{SaturatingSum as _, add_ns};
use crate::units::percent;
use std::collections::{BTreeMap, BTreeSet};

/// Smaller shares are not listed.
const LEAST: f64 = 0.03;
/// With fewer steps, it is not clear what is usual.
const LEAST_STEPS: usize = 3;
/// Each rank of a slow stage works at least this many times as long as the mean of the other stages.
const LONGER_STAGE: f64 = 1.05;
/// If more than this share of the waiting that a rank caused is in one step, the rank was slow only once.
const ONE_STEP: f64 = 0.7;

/// The device, rank or stage that the others wait for.
pub(super) struct Straggler {
    name: String,
    /// The op in which it takes longer, if that explains most of the time.
    because: Option<String>,
    /// The mean time for which the others wait.
    pub(super) cost_ns: u64,
    /// For each of the others, the time that it waits.
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
    let because = found.because.map_or_else(String::new, |op| {
        format!(", mostly because of {}", facts.name(&op))
    });
    finding.sentence = format!(
        "{} is the slowest: the others wait for it {} of the time{because}",
        found.name,
        percent(finding.share)
    );
    vec![finding]
}

/// The straggler, if the others wait for it for a noticeable part of the time.
pub(super) fn straggler(facts: &Facts<'_>) -> Option<Straggler> {
    let found = of_ranks(facts).or_else(|| of_devices(facts))?;
    (facts.share(found.cost_ns) >= LEAST).then_some(found)
}

/// The rank that caused more waiting than its peers; otherwise the rank that arrives last at collectives, if that is
/// always the same rank.
fn of_ranks(facts: &Facts<'_>) -> Option<Straggler> {
    let more = caused_more_than_peers(facts);
    let total = more.iter().map(|one| one.1).saturating_sum();
    if let Some(&(first, ns)) = more.first() {
        // The finding about slow steps names this rank.
        if in_one_step(facts, first) {
            return None;
        }
        if let Some(stage) = of_stages(facts, first) {
            return Some(stage);
        }
        let last = last_to_arrive(facts);
        if ns.saturating_mul(2) > total && last.as_ref().is_none_or(|last| last.rank != first.rank)
        {
            return Some(causer(facts, first, ns));
        }
    }
    if let Some(stage) = uneven_stages(facts) {
        return Some(stage);
    }
    let last = last_to_arrive(facts)?;
    // The ranks are late in turns, so none of them is a straggler.
    if last.waited_ns.saturating_mul(2) > last.cost_ns {
        return None;
    }
    let caused = facts.caused.iter().find(|one| one.rank == last.rank);
    Some(Straggler {
        name: rank_name(facts, last.rank),
        because: caused.and_then(main_op),
        cost_ns: last.cost_ns,
        others: last
            .others
            .into_iter()
            .map(|(rank, ns)| (rank_name(facts, rank), ns))
            .collect(),
        section: "Collectives across ranks",
    })
}

/// The waiting that each rank caused above the median of its peers, most first. Peers are the other ranks of its stage,
/// because ranks of a pipeline wait for each other even without a straggler. If the rank is the only one of its stage,
/// or stages are not known, all other ranks are its peers.
fn caused_more_than_peers<'f>(facts: &'f Facts<'_>) -> Vec<(&'f CausedWaits, u64)> {
    let ranks: Vec<u32> = facts.windows.keys().flatten().copied().collect();
    let caused = |rank: u32| {
        let found = facts.caused.iter().find(|one| one.rank == rank);
        found.map_or(0, |one| one.ns)
    };
    let mut more: Vec<(&CausedWaits, u64)> = facts
        .caused
        .iter()
        .map(|one| {
            let others = || ranks.iter().copied().filter(|&rank| rank != one.rank);
            let stage = facts.stages.get(&one.rank);
            let same = |rank: &u32| stage.is_some() && facts.stages.get(rank) == stage;
            let mut peers: Vec<u64> = others().filter(same).map(caused).collect();
            if peers.is_empty() {
                peers = others().map(caused).collect();
            }
            peers.sort_unstable();
            let usual = peers.get(peers.len() / 2).copied().unwrap_or(0);
            (one, one.ns.saturating_sub(usual))
        })
        .collect();
    more.sort_by_key(|one| std::cmp::Reverse(one.1));
    more
}

/// A rank that others wait for, directly or because it made others late.
fn causer(facts: &Facts<'_>, caused: &CausedWaits, ns: u64) -> Straggler {
    let others = facts.windows.keys().flatten().count().saturating_sub(1);
    Straggler {
        name: rank_name(facts, caused.rank),
        because: main_op(caused),
        cost_ns: mean(ns, others.max(1)),
        others: Vec::new(),
        section: section(facts),
    }
}

/// The pipeline stage of `first`, if each of its ranks works longer than those of the other stages.
fn of_stages(facts: &Facts<'_>, first: &CausedWaits) -> Option<Straggler> {
    let ranks = facts.windows.keys().flatten().count();
    let total = facts.caused.iter().map(|one| one.ns).saturating_sum();
    let stage = facts.stages.get(&first.rank)?;
    if facts.stages.len() < ranks {
        return None;
    }
    let is_member = |rank: u32| facts.stages.get(&rank) == Some(stage);
    let (members, others): (Vec<_>, Vec<_>) =
        facts.rank_work.iter().partition(|one| is_member(*one.0));
    let least = members.iter().map(|one| *one.1).min()?;
    let usual = mean(
        others.iter().map(|one| *one.1).saturating_sum(),
        others.len(),
    );
    let caused = facts.caused.iter().filter(|one| is_member(one.rank));
    let ns = caused.map(|one| one.ns).saturating_sum();
    let slower = members.len() > 1 && least as f64 > LONGER_STAGE * usual as f64;
    if !slower || others.is_empty() || ns.saturating_mul(2) <= total {
        return None;
    }
    Some(Straggler {
        name: format!("stage {stage}"),
        because: main_op(first),
        cost_ns: mean(ns, others.len()),
        others: Vec::new(),
        section: section(facts),
    })
}

/// The pipeline stage whose ranks all work longer than those of every other stage. Some ranks wait for messages outside
/// their ops, so they show no wait, but they have less work. The cost is the work of the stage above the mean, which an
/// even split would save.
fn uneven_stages(facts: &Facts<'_>) -> Option<Straggler> {
    if facts.stages.len() < facts.windows.keys().flatten().count() {
        return None;
    }
    let (first, _) = facts.rank_work.iter().max_by_key(|one| one.1)?;
    let stage = facts.stages.get(first)?;
    let is_member = |rank: &u32| facts.stages.get(rank) == Some(stage);
    let (members, others): (Vec<_>, Vec<_>) =
        facts.rank_work.iter().partition(|one| is_member(one.0));
    let least = members.iter().map(|one| *one.1).min()?;
    let most = others.iter().map(|one| *one.1).max()?;
    if (least as f64) < LONGER_STAGE * most as f64 {
        return None;
    }
    let all = facts.rank_work.values().copied().saturating_sum();
    let work = mean(
        members.iter().map(|one| *one.1).saturating_sum(),
        members.len(),
    );
    Some(Straggler {
        name: format!("stage {stage}"),
        because: None,
        cost_ns: work.saturating_sub(mean(all, facts.rank_work.len())),
        others: Vec::new(),
        section: "Work of each rank by step",
    })
}

/// True if most of the waiting was in one of several steps.
fn in_one_step(facts: &Facts<'_>, caused: &CausedWaits) -> bool {
    let numbers: BTreeSet<u64> = facts.steps.iter().map(|step| step.number).collect();
    let in_step = caused.step.map_or(0, |step| step.1);
    numbers.len() >= LEAST_STEPS && in_step as f64 > ONE_STEP * caused.ns as f64
}

fn main_op(caused: &CausedWaits) -> Option<String> {
    let (op, ns) = &caused.op;
    (ns.saturating_mul(2) > caused.ns).then(|| op.clone())
}

fn section(facts: &Facts<'_>) -> &'static str {
    if facts.tables.collectives.is_empty() {
        "Work of each rank by step"
    } else {
        "Collectives across ranks"
    }
}

fn rank_name(facts: &Facts<'_>, rank: u32) -> String {
    let mut devices = facts.tables.devices.iter();
    let of_rank = devices.find(|one| one.rank == Some(rank) && one.is_accelerator());
    match of_rank {
        Some(device) => format!("{} of rank {rank}", device.device),
        None => format!("rank {rank}"),
    }
}

/// The rank that waits least at collectives, because it arrives last.
struct LastToArrive {
    rank: u32,
    waited_ns: u64,
    /// The mean wait of the others; `others` has the wait of each.
    cost_ns: u64,
    others: Vec<(u32, u64)>,
}

fn last_to_arrive(facts: &Facts<'_>) -> Option<LastToArrive> {
    let mut waits: BTreeMap<u32, u64> = BTreeMap::new();
    for (rank, ns) in facts.tables.collectives.iter().flat_map(|one| &one.wait_ns) {
        add_ns(waits.entry(*rank).or_default(), *ns);
    }
    let (&rank, &waited_ns) = waits.iter().min_by_key(|wait| wait.1)?;
    let others: Vec<(u32, u64)> = waits.into_iter().filter(|wait| wait.0 != rank).collect();
    Some(LastToArrive {
        rank,
        waited_ns,
        cost_ns: mean(
            others.iter().map(|wait| wait.1).saturating_sum(),
            others.len(),
        ),
        others,
    })
}

/// Compares the computation of the devices of one process that communicate with each other.
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

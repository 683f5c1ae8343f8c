//! Rule: a device is idle, because the host is busy with something else or for another reason.

use super::super::causal::IdleClass;
use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind, NAMED_PARTS};
use super::host_op::{ONCE, long_call};
use super::idle::IdleTime;
use crate::analyze::intervals::SaturatingSum as _;
use crate::units::percent;
use std::fmt::Write as _;

/// A device that is idle for a smaller share counts as busy.
const LEAST: f64 = 0.05;

/// The advice if the trace does not show the work of the host.
const OUTSIDE_ADVICE: &str = "find out what the host does outside of traced ops: trace or annotate it, or read the \
     file with its interpreter frames; leave warm-up and compilation out (`--skip-warm-up`)";

/// The advice if the host's ops are known, but their launches are not.
const NO_LAUNCHES_ADVICE: &str = "record the runtime calls too (launches, synchronisations, stream waits): they show what \
     the device waits for";

/// The advice if work was launched and had to wait for other work.
const OTHERS_ADVICE: &str = "let streams wait for each other less often, and start communication and copies before their \
     results are needed";

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let devices = &facts.idle;
    let Some(most) = devices.iter().rev().max_by_key(|one| one.idle_ns) else {
        return Vec::new();
    };
    let sum = devices.iter().map(|one| one.idle_ns).saturating_sum();
    let idle_ns = mean(sum, devices.len());
    if facts.share(idle_ns) < LEAST {
        return Vec::new();
    }
    let ops = facts.costly_host_ops();
    let in_ops: u64 = devices
        .iter()
        .map(IdleTime::in_host_ops_ns)
        .saturating_sum();
    let outside_ns = idle_ns.saturating_sub(mean(in_ops, devices.len()));
    let class = |class: IdleClass| {
        let of_all = devices.iter().filter_map(|one| one.classes.get(&class));
        mean(of_all.copied().saturating_sum(), devices.len())
    };
    // The host also causes the time of a launch. A trace of a device alone does not show the work of the host.
    let by_host = class(IdleClass::NothingLaunched).saturating_add(class(IdleClass::LaunchDelay));
    let known = !ops.is_empty();
    let kind = if known && by_host >= idle_ns / 2 {
        FindingKind::HostBound
    } else {
        FindingKind::DeviceIdle
    };
    let mut finding = facts.finding(kind, &most.device, idle_ns, "Devices");
    finding.parts = ops
        .iter()
        .take(8)
        .map(|(name, ns)| facts.part(name, *ns))
        .collect();
    let mut host: Vec<String> = finding
        .parts
        .iter()
        .take(NAMED_PARTS)
        .filter(|part| part.share >= 0.01)
        .map(|part| format!("in {}", facts.part_text(part)))
        .collect();
    let outside = facts.share(outside_ns);
    if known && outside > 0.2 * finding.share {
        host.insert(0, format!("outside of traced ops ({})", percent(outside)));
        host.truncate(NAMED_PARTS);
    }
    let loading = ops.iter().filter(|op| facts.loads_data(op.0));
    let loading_ns = loading.map(|op| op.1).saturating_sum();
    let allocating_ns = facts.allocating.iter().map(|call| call.1).saturating_sum();
    let once = ops.iter().filter(|op| long_call(facts, op.0).is_some());
    let once_ns = once.map(|op| op.1).saturating_sum();
    let dry_ns = facts.run_dry.iter().map(|op| op.1).saturating_sum();
    if kind == FindingKind::DeviceIdle && known {
        let advice = if class(IdleClass::Unknown) > idle_ns / 2 {
            NO_LAUNCHES_ADVICE
        } else {
            OTHERS_ADVICE
        };
        advice.clone_into(&mut finding.advice);
    } else if once_ns > idle_ns / 2 {
        ONCE.clone_into(&mut finding.advice);
    } else if allocating_ns > idle_ns / 2 {
        FindingKind::Allocation
            .advice()
            .clone_into(&mut finding.advice);
    } else if dry_ns > idle_ns / 2 {
        FindingKind::Synchronisation
            .advice()
            .clone_into(&mut finding.advice);
    } else if kind == FindingKind::HostBound && outside_ns > idle_ns / 2 {
        OUTSIDE_ADVICE.clone_into(&mut finding.advice);
    } else if loading_ns > idle_ns / 2 {
        FindingKind::DataLoading
            .advice()
            .clone_into(&mut finding.advice);
    }
    let idle = percent(finding.share);
    finding.sentence = match devices.len() {
        1 => format!("{} is idle {idle} of the time", most.device),
        count => format!("{count} devices are idle {idle} of the time on average"),
    };
    let mut classes: Vec<(IdleClass, f64)> = IdleClass::ALL
        .map(|one| (one, facts.share(class(one))))
        .into();
    classes.retain(|class| class.1 >= 0.01);
    if classes.len() > 1 {
        classes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let text: Vec<String> = classes
            .iter()
            .map(|(class, share)| format!("{} {}", class.name(), percent(*share)))
            .collect();
        let _ = write!(finding.sentence, " ({})", text.join(", "));
    }
    if !host.is_empty() {
        let host = host.join(" and ");
        let _ = write!(finding.sentence, "; meanwhile the host is {host}");
    }
    vec![finding]
}

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
/// A device that is idle for more than this many times the mean is named.
const UNEVEN: f64 = 1.5;

/// The advice if the trace does not show the work of the host.
const OUTSIDE_ADVICE: &str = "find out what the host does outside of traced ops: trace or annotate it, or read the \
     file with its interpreter frames; leave warm-up and compilation out (`--skip-warm-up`)";

/// The advice if the host's ops are known, but their launches are not.
const NO_LAUNCHES_ADVICE: &str = "record the runtime calls too (launches, synchronisations, stream waits): they show what \
     the device waits for";

/// The advice if work was launched and had to wait for other work.
const OTHERS_ADVICE: &str = "let streams wait for each other less often, and start communication and copies before their \
     results are needed";

/// What to try where the host launches the kernels of an optimizer one by one.
const OPTIMIZER_ADVICE: &str = "use the fused or multi-tensor version of the optimizer (`fused=True`, `foreach=True`): it \
     updates all parameters with a few kernels";

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
    let waiting = devices.iter().flat_map(|one| one.waiting.values().copied());
    let waiting_ns = mean(waiting.saturating_sum(), devices.len());
    let outside_ns = idle_ns
        .saturating_sub(mean(in_ops, devices.len()))
        .saturating_sub(waiting_ns);
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
    let by_others =
        kind == FindingKind::DeviceIdle && known && class(IdleClass::Unknown) <= idle_ns / 2;
    let causes = Causes {
        ops: &ops,
        idle_ns,
        outside_ns: match kind {
            FindingKind::HostBound => outside_ns,
            _ => 0,
        },
    };
    // Where launches are not known, what the host did is the only evidence.
    let advice = if by_others {
        Some(OTHERS_ADVICE)
    } else if let Some(advice) = causes.main_advice(facts) {
        Some(advice)
    } else if kind == FindingKind::DeviceIdle && known {
        Some(NO_LAUNCHES_ADVICE)
    } else if matches!(&facts.caller, Some((caller, _)) if caller.starts_with("Optimizer.step")) {
        Some(OPTIMIZER_ADVICE)
    } else {
        None
    };
    if let Some(advice) = advice {
        advice.clone_into(&mut finding.advice);
    }
    let idle = percent(finding.share);
    finding.sentence = match devices.len() {
        1 => format!("{} is idle {idle} of the time", most.device),
        count => format!("{count} devices are idle {idle} of the time on average"),
    };
    if most.idle_ns as f64 > UNEVEN * idle_ns as f64 {
        let of_rank = most
            .rank
            .map_or_else(String::new, |rank| format!(" of rank {rank}"));
        let share = percent(facts.share(most.idle_ns));
        let _ = write!(finding.sentence, ", {}{of_rank} {share}", most.device);
    }
    let classes = IdleClass::ALL.map(|one| (one, facts.share(class(one))));
    finding.sentence.push_str(&class_text(classes.into()));
    let caller = main_caller(facts, &finding);
    if !host.is_empty() || caller.is_some() {
        let host = host.join(" and ");
        let caller = caller.map_or_else(String::new, |caller| {
            let comma = if host.is_empty() { "" } else { ", " };
            format!("{comma}mostly below {caller}")
        });
        let _ = write!(finding.sentence, "; meanwhile the host is {host}{caller}");
    }
    vec![finding]
}

/// ` (nothing launched 71 %, launch delay 4.7 %)`; empty for one class alone.
fn class_text(mut classes: Vec<(IdleClass, f64)>) -> String {
    classes.retain(|class| class.1 >= 0.01);
    classes.sort_by(|a, b| b.1.total_cmp(&a.1));
    let text: Vec<String> = classes
        .iter()
        .map(|(class, share)| format!("{} {}", class.name(), percent(*share)))
        .collect();
    match text.len() {
        0 | 1 => String::new(),
        _ => format!(" ({})", text.join(", ")),
    }
}

/// The op below which most of the idle time passes, with that time, if the parts do not have it already.
fn main_caller(facts: &Facts<'_>, finding: &Finding) -> Option<String> {
    let (caller, ns) = facts.caller.as_ref()?;
    let named = finding.parts.iter().find(|part| part.name == *caller);
    // An op with little below it is named already.
    let is_new = named.is_none_or(|part| part.ns < ns / 3 * 2) && !facts.loads_data(caller);
    is_new.then(|| facts.part_text(&facts.part(caller, *ns)))
}

/// What the host did while devices were idle.
struct Causes<'o> {
    /// Host ops with the idle time in which they ran.
    ops: &'o [(&'o str, u64)],
    idle_ns: u64,
    /// Idle time outside of ops, if that is known to be a cause.
    outside_ns: u64,
}

impl Causes<'_> {
    /// The advice about the longest cause, if it explains more than half of the idle time.
    fn main_advice(&self, facts: &Facts<'_>) -> Option<&'static str> {
        let once = self
            .ops
            .iter()
            .filter(|op| long_call(facts, op.0).is_some());
        let loading = self.ops.iter().filter(|op| facts.loads_data(op.0));
        let sum = |ops: &[(String, u64)]| ops.iter().map(|op| op.1).saturating_sum();
        let causes = [
            (once.map(|op| op.1).saturating_sum(), ONCE),
            (sum(&facts.allocating), FindingKind::Allocation.advice()),
            (sum(&facts.run_dry), FindingKind::Synchronisation.advice()),
            (
                loading.map(|op| op.1).saturating_sum(),
                FindingKind::DataLoading.advice(),
            ),
            (self.outside_ns, OUTSIDE_ADVICE),
        ];
        // Of equal ones the first.
        let main = causes.into_iter().rev().max_by_key(|cause| cause.0);
        main.filter(|main| main.0 > self.idle_ns / 2)
            .map(|main| main.1)
    }
}

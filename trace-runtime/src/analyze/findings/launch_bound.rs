//! Rule: the host takes longer to launch kernels than the device takes to run them.

use super::super::causal::LaunchSummary;
use super::facts::{Facts, mean};
use super::finding::{Finding, FindingKind};
use crate::analyze::intervals::SaturatingSum as _;
use crate::units::{count, duration, percent, prose};

/// Longer kernels justify a launch.
const SHORT_NS: u64 = 20_000;
/// If a device is idle for a smaller share, its work is launched early enough.
const LEAST_IDLE: f64 = 0.3;
/// Fewer kernels do not show a pattern.
const LEAST_KERNELS: usize = 20;

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(device) = facts.idle.first() else {
        return Vec::new();
    };
    let rows = || facts.tables.ops.iter().filter(|row| row.accelerator);
    let kernels: usize = rows().map(|row| row.count).sum();
    let busy: u64 = rows().map(|row| row.self_ns).saturating_sum();
    let idle_ns = mean(
        facts.idle.iter().map(|one| one.idle_ns).saturating_sum(),
        facts.idle.len(),
    );
    let per_device = kernels / facts.idle.len();
    if per_device < LEAST_KERNELS || facts.share(idle_ns) < LEAST_IDLE {
        return Vec::new();
    }
    let (kernel_ns, between_ns) = (mean(busy, kernels), mean(idle_ns, per_device));
    if kernel_ns > SHORT_NS || between_ns < kernel_ns.saturating_mul(2) {
        return Vec::new();
    }
    let summaries = facts.tables.launches;
    if summaries.is_empty() || !summaries.iter().all(LaunchSummary::is_launch_bound) {
        return Vec::new();
    }
    // With one launch for every two kernels, half of the idle time between kernels would be saved.
    let cost_ns = idle_ns / 2;
    let mut finding = facts.finding(FindingKind::LaunchBound, &device.device, cost_ns, "Devices");
    finding.sentence = format!(
        "{} kernels take {} each, with {} of idle time between two of them: half as many launches would save up \
         to {}",
        count(kernels as u64),
        prose(&duration(kernel_ns)),
        prose(&duration(between_ns)),
        percent(finding.share)
    );
    vec![finding]
}

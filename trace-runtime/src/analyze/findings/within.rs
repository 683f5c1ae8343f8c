//! Which findings are parts of others, so that no time is shown twice without a word about it.

use super::finding::{Finding, FindingKind};

/// Names, for each finding whose cost is a part of another one's, that other.
pub(super) fn mark(list: &mut [Finding]) {
    for index in 0..list.len() {
        let finding = &list[index];
        let around = list.iter().find(|other| includes(other, finding));
        let around = around.map(|other| (other.kind, other.subject.clone()));
        list[index].within = around;
    }
}

/// Whether the cost of one finding includes that of another.
fn includes(other: &Finding, finding: &Finding) -> bool {
    use FindingKind::{
        Allocation, Copies, DataLoading, DeviceCategory, DeviceIdle, DeviceOp, HostBound, HostOp,
        LaunchBound, SlowProducts, SlowStep, Synchronisation,
    };
    // Shares are rounded means: a part may be longer than the whole by a little.
    if finding.cost_ns / 100 * 99 > other.cost_ns {
        return false;
    }
    match other.kind {
        HostBound | DeviceIdle => matches!(
            finding.kind,
            HostOp | DataLoading | LaunchBound | Synchronisation | Allocation
        ),
        DeviceCategory | Copies => {
            let parts = || other.parts.iter().any(|part| part.name == finding.subject);
            matches!(finding.kind, DeviceOp | HostOp) && parts()
        }
        HostOp | DeviceOp => {
            let mut parts = finding.parts.iter();
            finding.kind == SlowProducts && parts.all(|part| part.name == other.subject)
        }
        // What made the step slow.
        SlowStep => {
            let mut parts = other.parts.iter();
            finding.kind != SlowStep && parts.any(|part| part.name == finding.subject)
        }
        _ => false,
    }
}

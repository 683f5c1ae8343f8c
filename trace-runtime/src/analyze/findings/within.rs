//! Finds the findings that are parts of others, so that a report can show that their times overlap.

use super::finding::{Finding, FindingKind};

/// Sets [`Finding::within`] for each finding whose cost is a part of the cost of another. If several contain it, the
/// outermost one is named.
pub(super) fn mark(list: &mut [Finding]) {
    let around = |finding: &Finding| list.iter().position(|other| includes(other, finding));
    let around: Vec<Option<usize>> = list.iter().map(around).collect();
    for index in 0..list.len() {
        let outermost = std::iter::successors(around[index], |&outer| around[outer]);
        // No kind of finding includes itself, so following the chain takes fewer steps than there are findings.
        let outermost = outermost.take(list.len()).last();
        list[index].within = outermost.map(|outer| (list[outer].kind, list[outer].subject.clone()));
    }
}

/// Removes the finding about an op that makes all of the copies: the finding about copies has the same time.
pub(super) fn drop_repeated(list: &mut Vec<Finding>) {
    let copies = list.iter().find(|one| one.kind == FindingKind::Copies);
    let Some((cost_ns, first)) =
        copies.and_then(|one| Some((one.cost_ns, one.parts.first()?.name.clone())))
    else {
        return;
    };
    list.retain(|one| {
        let whole = one.subject == first && one.cost_ns > cost_ns / 10 * 9;
        one.kind != FindingKind::HostOp || !whole
    });
}

/// True if the cost of one finding includes that of another.
fn includes(other: &Finding, finding: &Finding) -> bool {
    use FindingKind::{
        Allocation, Copies, DataLoading, DeviceCategory, DeviceIdle, DeviceOp, HostBound, HostOp,
        LaunchBound, SlowProducts, SlowStep, Synchronisation,
    };
    // Shares are rounded means: a part may be slightly longer than the whole.
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
        // With accelerators, a host op costs idle time, and a product costs device time.
        HostOp if other.section == "By op" => {
            let mut parts = finding.parts.iter();
            finding.kind == SlowProducts && parts.all(|part| part.name == other.subject)
        }
        // The op that made the step slow.
        SlowStep => {
            let mut parts = other.parts.iter();
            finding.kind != SlowStep && parts.any(|part| part.name == finding.subject)
        }
        _ => false,
    }
}

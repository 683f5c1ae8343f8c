//! The causal model: each rule on the smallest trace that shows it, to the nanosecond, and random runs of a host and
//! its device, compared with slow, simple versions.

mod idle;
mod lanes;
#[cfg(feature = "enabled")]
mod pauses;
mod random;
mod run;
mod slow;
mod waits;

use trace_runtime::TraceStore;
use trace_runtime::analyze::{CausalModel, DeviceIdle, LaneTime};

pub(crate) fn idle(trace: &TraceStore) -> Vec<DeviceIdle> {
    CausalModel::new(trace).idle_causes()
}

pub(crate) fn causes(device: &DeviceIdle) -> Vec<(&str, u64)> {
    let causes = device.causes.iter();
    causes
        .map(|cause| (cause.cause.as_str(), cause.ns))
        .collect()
}

pub(crate) fn host(trace: &TraceStore) -> LaneTime {
    CausalModel::new(trace).lanes().remove(0)
}

pub(crate) fn ops_on_path(trace: &TraceStore) -> Vec<(String, u64)> {
    let path = CausalModel::new(trace).critical_path();
    path.ops
        .into_iter()
        .map(|op| (op.operation, op.path_ns))
        .collect()
}

pub(crate) fn named(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter()
        .map(|&(name, ns)| (name.to_owned(), ns))
        .collect()
}

//! Finds the op below which most of the idle time of devices passes, where no op alone has much of it.

use super::super::causal::CausalModel;
use super::super::nesting::parent_index;
use super::facts::mean;
use super::idle::IdleTime;
use crate::analyze::intervals::{Intervals, SaturatingSum as _, add_ns};
use crate::model::TraceView;
use std::collections::{BTreeMap, BTreeSet};

/// An op that alone has this share of the idle time needs no caller to explain it.
const EXPLAINS: f64 = 0.3;
/// Levels of the call tree that are searched, from the outermost.
const LEVELS: usize = 4;

/// The innermost op that is, with the ops below it, the work of the host in at least half of the devices' idle time;
/// and that time, as the mean over devices.
pub(super) fn main_caller<T: TraceView + ?Sized>(
    trace: &T,
    model: &CausalModel<'_, T>,
    devices: &[IdleTime],
) -> Option<(String, u64)> {
    let idle_ns = devices.iter().map(|one| one.idle_ns).saturating_sum();
    let longest = devices
        .iter()
        .filter_map(|one| one.host_ops.first())
        .map(|op| op.1);
    if idle_ns == 0 || longest.saturating_sum() as f64 > EXPLAINS * idle_ns as f64 {
        return None;
    }
    let ranks: BTreeSet<Option<u32>> = devices.iter().map(|one| one.rank).collect();
    let mut found = None;
    for level in 0..LEVELS {
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        for &rank in &ranks {
            let idle: Vec<&Intervals> = devices
                .iter()
                .filter(|one| one.rank == rank)
                .map(|one| &one.idle)
                .collect();
            let ops = model.host_ops_during(rank, &idle, |index| caller(trace, index, level));
            for (name, ns) in ops.into_iter().flatten() {
                add_ns(by_name.entry(name).or_default(), ns);
            }
        }
        let Some((name, ns)) = by_name.into_iter().max_by_key(|op| op.1) else {
            break;
        };
        if ns < idle_ns / 2 {
            break;
        }
        found = Some((name, mean(ns, devices.len())));
    }
    found
}

/// The op around an entry, on its thread, with `level` ops around it; the entry if there are not so many.
fn caller<T: TraceView + ?Sized>(trace: &T, index: usize, level: usize) -> usize {
    let above = |&index: &usize| {
        let view = trace.view(index);
        let above = parent_index(trace, index, &view)?;
        (trace.view(above).thread() == view.thread()).then_some(above)
    };
    let depth = std::iter::successors(Some(index), above).count() - 1;
    let mut chain = std::iter::successors(Some(index), above);
    chain.nth(depth.saturating_sub(level)).unwrap_or(index)
}

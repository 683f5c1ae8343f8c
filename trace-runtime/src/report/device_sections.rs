//! The tables about devices: their busy time, and the causes of their idle time.

use super::Report;
use super::answer::{device_name, waiting_devices};
use super::names::printable;
use super::sections::cut;
use super::table::{Column, Table};
use crate::analyze::{DeviceActivity, DeviceIdle, IdleCause, ShortNames};
use crate::units::{count, duration, percent, prose, unless_zero};

pub(super) fn devices(report: &Report, limit: usize) -> Table {
    let columns = vec![
        Column::name("device"),
        Column::number("busy", 0),
        Column::number("idle", 0),
        Column::number("idle %", 0),
        Column::number("compute", 2),
        Column::number("comm", 1),
        Column::number("memory", 4),
        Column::number("hidden", 3),
        Column::number("exposed", 1),
        Column::number("entries", 6),
        Column::number("span", 5),
    ];
    let row = |device: &DeviceActivity| {
        vec![
            device_name(device),
            duration(device.busy_ns),
            duration(device.idle_ns),
            percent(device.idle_share()),
            unless_zero(device.compute_ns, duration),
            unless_zero(device.communication_ns, duration),
            unless_zero(device.memory_ns, duration),
            device.overlap_share().map_or_else(String::new, percent),
            unless_zero(device.exposed_communication_ns, duration),
            count(device.entries as u64),
            duration(device.span_ns),
        ]
    };
    let activity = &report.activity;
    let accelerators = activity
        .devices
        .iter()
        .filter(|one| one.device != "cpu")
        .count();
    let together = activity
        .ranks
        .iter()
        .filter(|_| accelerators > activity.ranks.len());
    let rows = activity.devices.iter().chain(together).map(row).collect();
    let footer = uneven(&waiting_devices(report));
    cut(
        Table {
            title: "Devices".to_owned(),
            columns,
            rows,
            footer,
            ..Table::default()
        },
        limit,
    )
}

/// A sentence about the busiest device, if it is busy for longer than the mean. If devices communicate, their computing
/// time is compared: communication counts as busy while it waits for the slowest device.
fn uneven(devices: &[&DeviceActivity]) -> Option<String> {
    let longest = |does: &str, figure: fn(&DeviceActivity) -> u64| {
        let most = devices.iter().rev().max_by_key(|one| figure(one))?;
        let sum: u128 = devices.iter().map(|one| u128::from(figure(one))).sum();
        let over = figure(most) - (sum / devices.len() as u128) as u64;
        let text = || {
            let over = prose(&duration(over));
            format!("{} {does} longest, {over} over the mean", device_name(most))
        };
        (over > 0).then(text)
    };
    let communicates = devices.iter().any(|one| one.communication_ns > 0);
    let parts: Vec<String> = [
        longest("is busy", |one| one.busy_ns),
        longest("computes", |one| one.compute_ns).filter(|_| communicates),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The causes of the idle time of each accelerator between its first start and its last end; they add up.
pub(super) fn idle(report: &Report, names: &ShortNames, limit: usize) -> Table {
    let columns = vec![
        Column::name("device"),
        Column::number("cause", 0),
        Column::number("idle", 0),
        Column::number("share", 0),
        Column::number("the host meanwhile", 1),
    ];
    let meanwhile = |cause: &IdleCause| match cause.ops.first() {
        Some((name, ns)) if name.is_empty() => {
            format!("outside of ops {}", prose(&duration(*ns)))
        }
        Some((name, ns)) => {
            let name = printable(names.get(name));
            format!("{name} {}", prose(&duration(*ns)))
        }
        None => String::new(),
    };
    let row = |device: &DeviceIdle, cause: &IdleCause| {
        let name = printable(&device.device);
        vec![
            match device.rank {
                Some(rank) => format!("{name} of rank {rank}"),
                None => name,
            },
            cause.cause.clone(),
            duration(cause.ns),
            percent(cause.ns as f64 / device.idle_ns.max(1) as f64),
            meanwhile(cause),
        ]
    };
    let rows = report
        .idle
        .iter()
        .flat_map(|device| device.causes.iter().map(move |cause| (device, cause)))
        .map(|(device, cause)| row(device, cause))
        .collect();
    cut(
        Table {
            title: "Why devices are idle".to_owned(),
            columns,
            rows,
            ..Table::default()
        },
        limit,
    )
}

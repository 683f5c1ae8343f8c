//! Where the time went, in one line, and what to know before believing it.

use super::Report;
use super::names::{fit, printable};
use crate::analyze::{DeviceActivity, OpRow};
use crate::units::{count, counted, duration, percent, prose, shapes};
use std::fmt::Write as _;

/// Smaller shares are not worth a word in one line.
const WORTH_SAYING: f64 = 0.01;
/// A device that idles less is busy.
const WAITS: f64 = 0.05;

pub(super) fn line(report: &Report, compiled_out: bool) -> String {
    if report.entries == 0 {
        return if compiled_out {
            "tracing was compiled out: build with the feature `enabled` of `trace-runtime`"
                .to_owned()
        } else {
            "nothing was recorded".to_owned()
        };
    }
    let mut parts = Vec::new();
    parts.extend(longest(report));
    parts.extend(exposed(report));
    parts.extend(waiting(report));
    if parts.is_empty() {
        return format!("{} took no time", entries(report.entries as u64));
    }
    parts.join("; ")
}

/// Time on accelerators is what a run is paid for; the host counts only where there are none.
fn is_paid_for(report: &Report) -> impl Fn(&&OpRow) -> bool {
    let any = report.ops.iter().any(|row| row.accelerator);
    move |row| row.accelerator == any
}

fn longest(report: &Report) -> Option<String> {
    let rows = || report.shapes.iter().filter(is_paid_for(report));
    let whole: f64 = rows().map(|row| row.self_ns as f64).sum();
    let longest = rows().next().filter(|row| row.self_ns > 0)?;
    let share = longest.self_ns as f64 / whole;
    let dims = shapes(longest.input_shapes.as_deref().unwrap_or(&[]));
    let space = if dims.is_empty() { "" } else { " " };
    let name = short(&longest.operation);
    let time = if longest.accelerator {
        "device time"
    } else {
        "the time"
    };
    Some(format!(
        "{name}{space}{dims} is {} of {time}",
        percent(share)
    ))
}

/// The devices whose waiting counts: accelerators, or several devices of any sort.
pub(super) fn waiting_devices(report: &Report) -> Vec<&DeviceActivity> {
    let devices = &report.activity.devices;
    let accelerators: Vec<_> = devices.iter().filter(|one| one.device != "cpu").collect();
    if accelerators.is_empty() && devices.len() > 1 {
        return devices.iter().collect();
    }
    accelerators
}

fn exposed(report: &Report) -> Option<String> {
    let rows = if report.activity.ranks.is_empty() {
        &report.activity.devices
    } else {
        &report.activity.ranks
    };
    let sum =
        |figure: fn(&DeviceActivity) -> u64| rows.iter().map(|row| figure(row) as f64).sum::<f64>();
    let share = sum(|row| row.exposed_communication_ns) / sum(|row| row.span_ns).max(1.0);
    if share < WORTH_SAYING {
        return None;
    }
    let mut rows = report.ops.iter().filter(is_paid_for(report));
    let name = rows
        .find(|row| row.communication)
        .map_or("communication".to_owned(), |row| short(&row.operation));
    Some(format!("{} is exposed {name}", percent(share)))
}

fn waiting(report: &Report) -> Option<String> {
    let devices = waiting_devices(report);
    let most = devices
        .iter()
        .rev()
        .max_by(|a, b| a.idle_share().total_cmp(&b.idle_share()))?;
    (most.idle_share() >= WAITS)
        .then(|| format!("{} waits {}", device_name(most), percent(most.idle_share())))
}

/// As much of a name as a sentence bears: that of a kernel may be a whole signature.
fn short(name: &str) -> String {
    fit(&printable(name), 40)
}

/// A device with the rank it belongs to.
pub(super) fn device_name(device: &DeviceActivity) -> String {
    let name = match device.device.as_str() {
        "" => "accelerators".to_owned(),
        name => printable(name),
    };
    match device.rank {
        Some(rank) => format!("{name} of rank {rank}"),
        None => name,
    }
}

/// How much there is of everything.
pub(super) fn overview(report: &Report) -> String {
    let mut parts = vec![
        entries(report.entries as u64),
        counted(report.ops.len() as u64, "op"),
        counted(report.threads as u64, "thread"),
    ];
    if report.ranks > 0 {
        parts.push(counted(report.ranks as u64, "rank"));
    }
    let mut text = format!(
        "{}; {} in ops",
        parts.join(", "),
        prose(&duration(report.total_ns))
    );
    if report.span_ns > 0 {
        // Writing to a String cannot fail.
        let _ = write!(text, " over {}", prose(&duration(report.span_ns)));
    }
    text
}

/// What a reader must know before trusting the figures.
pub(super) fn notes(report: &Report, compiled_out: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if compiled_out && report.entries > 0 {
        notes.push("tracing was compiled out of some of this program".to_owned());
    }
    if report.entries > 0 && report.shapes.iter().all(is_without_tensors) {
        notes.push(
            "no op has shapes: `#[traced_op]` sees types that are `TensorLike` (implement or derive it), \
             torch.profiler records them with `record_shapes=True`"
                .to_owned(),
        );
    }
    if report.dropped > 0 {
        let dropped = entries(report.dropped);
        notes.push(format!(
            "{dropped} dropped when memory ran out; every figure lacks them"
        ));
    }
    if report.sampled_out > 0 {
        let left_out = entries(report.sampled_out);
        notes.push(format!(
            "{left_out} left out by sampling; counts and totals lack them"
        ));
    }
    if let (Some(overhead), Some(first)) = (report.overhead_ns, report.untrusted.first()) {
        let name = printable(&first.operation);
        let subject = match report.untrusted.len() {
            1 => format!("`{name}` is"),
            more => format!("`{name}` and {} are", counted(more as u64 - 1, "other op")),
        };
        notes.push(format!(
            "{subject} too short to trust: recording an op costs {overhead} ns, a tenth of the median or more"
        ));
    }
    if report.memory.iter().any(|memory| memory.upper_bound) {
        notes.push("no frees were recorded: live memory is an upper bound".to_owned());
    }
    notes
}

fn is_without_tensors(row: &OpRow) -> bool {
    row.memory_bytes == 0 && row.input_shapes.as_ref().is_none_or(Vec::is_empty)
}

fn entries(number: u64) -> String {
    match number {
        1 => "1 entry".to_owned(),
        _ => format!("{} entries", count(number)),
    }
}

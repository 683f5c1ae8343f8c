//! The headline of a report, and notes on the limits of its figures.

use super::Report;
use super::names::{fit, printable};
use crate::analyze::{DeviceActivity, OpRow};
use crate::model::wire::metadata as keys;
use crate::units::{bytes, count, counted, duration, percent, prose};
use std::collections::HashMap;
use std::fmt::Write as _;

pub(super) fn line(report: &Report, compiled_out: bool) -> String {
    if report.entries == 0 {
        return if compiled_out {
            "tracing was compiled out: build with the feature `enabled` of `trace-runtime`"
                .to_owned()
        } else {
            "nothing was recorded".to_owned()
        };
    }
    let headline = report.findings.headline();
    if !headline.is_empty() {
        let sentences: Vec<String> = headline
            .iter()
            .map(|one| printable(&one.sentence))
            .collect();
        return sentences.join(". ");
    }
    match report.ops.first().filter(|row| row.self_ns > 0) {
        Some(longest) => format!(
            "no op takes much of the time; the longest is {} with {} of the time in ops",
            fit(&printable(&longest.operation), 40),
            percent(longest.self_ns as f64 / report.total_ns.max(1) as f64)
        ),
        None => format!("{} took no time", entries(report.entries as u64)),
    }
}

/// The devices whose idle time matters: accelerators, or several devices of any sort.
pub(super) fn waiting_devices(report: &Report) -> Vec<&DeviceActivity> {
    let devices = &report.activity.devices;
    let accelerators: Vec<_> = devices.iter().filter(|one| one.device != "cpu").collect();
    if accelerators.is_empty() && devices.len() > 1 {
        return devices.iter().collect();
    }
    accelerators
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

/// Number of entries, ops, threads and ranks, and the time that they took.
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

/// The steps that a report is about, and how the clocks of its ranks were aligned.
pub(super) fn scope(metadata: &HashMap<String, String>) -> Vec<String> {
    let clock = metadata.get(keys::MERGE_CLOCK).map(|how| {
        let unsure = if how.contains("own start") {
            "; without aligned clocks, waits between ranks have no meaning"
        } else {
            ""
        };
        format!("clocks of ranks are aligned by: {}{unsure}", printable(how))
    });
    let steps = metadata
        .get(keys::SELECTED_STEPS)
        .map(|steps| format!("only steps {}", printable(steps)));
    clock.into_iter().chain(steps).collect()
}

/// The line for a trace without live memory: it names the missing data.
pub const FREES_MISSING: &str = "live memory is not shown: the trace has no frees (the allocator `TracedAlloc` records them, torch.profiler with `profile_memory=True`)";

/// Facts that a reader needs before trusting the figures.
pub(super) fn notes(report: &Report, compiled_out: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if compiled_out && report.entries > 0 {
        notes.push("tracing was compiled out of some of this program".to_owned());
    }
    if report.entries > 0 && report.shapes.iter().all(is_without_tensors) {
        notes.push(
            "no op has shapes: `#[traced_op]` records types that implement `TensorLike` (implement or derive \
             it), torch.profiler records shapes with `record_shapes=True`"
                .to_owned(),
        );
    }
    if report.dropped > 0 {
        let dropped = entries(report.dropped);
        notes.push(format!(
            "{dropped} dropped when memory ran out; figures do not include them"
        ));
    }
    if report.sampled_out > 0 {
        let left_out = entries(report.sampled_out);
        notes.push(format!(
            "{left_out} left out by sampling; counts and totals do not include them"
        ));
    }
    if let Some(every) = report.memory_sampled_every {
        notes.push(estimates(every));
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
    notes
}

/// A note about device work that ended later than its step.
pub(super) fn host_runs_ahead(overrun_ns: u64) -> Option<String> {
    (overrun_ns > 0).then(|| {
        format!(
            "the host runs ahead: devices work on the steps for {} after their end on the host; shares of findings \
             include that time, step lengths do not",
            prose(&duration(overrun_ns))
        )
    })
}

/// A note about figures of a heap that was sampled.
pub fn estimates(sampled_every: u64) -> String {
    format!(
        "figures of the heap are estimates: one block was recorded for every {} allocated, on average",
        prose(&bytes(sampled_every))
    )
}

/// A note about ops that were running when the recording ended.
pub(super) fn still_running(ops: u64) -> Option<String> {
    (ops > 0).then(|| {
        let (ops, were) = (counted(ops, "op"), if ops == 1 { "was" } else { "were" });
        format!("{ops} {were} still running when the recording ended; figures do not include them")
    })
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

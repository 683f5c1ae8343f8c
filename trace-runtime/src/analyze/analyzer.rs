//! [`TraceAnalyzer`]: sums by op and device, in microseconds.

use super::communication::CommunicationRule;
use super::flamegraph;
use super::grouping::sums_by;
use super::nesting::Nesting;
use super::summaries::{CommunicationBottleneck, DeviceSummary, LoadBalanceMetrics, OpSummary};
use crate::model::order::{descending, top_by};
use crate::model::{EntryStorage, EntryView, TraceView};
use std::collections::HashMap;

/// Sums over the entries of a trace, in microseconds.
///
/// Use it for a few figures by name. [`by_op`](super::by_op), [`activity`](super::activity) and the other functions of
/// [`analyze`](super) return more, in whole nanoseconds: shapes, percentiles, device time, overlap.
/// [`findings`](super::findings) lists the causes of lost time.
///
/// If the entries are nested, as `#[traced_op]` records them, a total counts each moment of a thread once, and *self*
/// is the total without the time of the ops inside. If they are not nested, both are the sum of the durations.
///
/// ```
/// use std::time::Duration;
/// use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry, TraceAnalyzer};
///
/// let mut trace = RecordedExecutionTrace::new();
/// let entry = |step, name| RecordedTraceEntry::new(step, name).with_start(Duration::ZERO);
/// trace.add_entry(entry(0, "layer").with_duration(Duration::from_micros(9)));
/// trace.add_entry(entry(1, "matmul").with_parent(0).with_duration(Duration::from_micros(7)));
///
/// let ops = TraceAnalyzer::operation_summary(&trace);
/// assert_eq!(ops["layer"].total_duration_us, 9.0);
/// assert_eq!(ops["layer"].self_duration_us, 2.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceAnalyzer;

impl TraceAnalyzer {
    /// Count, time and bytes of each op.
    pub fn operation_summary<T: TraceView + ?Sized>(trace: &T) -> HashMap<String, OpSummary> {
        sums_by(trace, |view| Some(view.operation()))
            .into_iter()
            .map(|(name, sum)| {
                let summary = OpSummary {
                    count: sum.count,
                    total_duration_us: sum.total_us,
                    total_memory_bytes: sum.memory_bytes,
                    self_duration_us: sum.self_us,
                };
                (name.to_owned(), summary)
            })
            .collect()
    }

    /// The entries whose outputs take more than `threshold_bytes`, in the order in which they began.
    pub fn memory_hotspots<T: EntryStorage + ?Sized>(
        trace: &T,
        threshold_bytes: usize,
    ) -> Vec<T::Entry<'_>> {
        (0..trace.entry_count())
            .map(|index| trace.entry(index))
            .filter(|&entry| {
                let view: EntryView<'_> = entry.into();
                view.memory_bytes() > threshold_bytes
            })
            .collect()
    }

    /// Mean duration of one execution of each op, in microseconds.
    ///
    /// Executions inside others of the same op are included, so the mean times the count may exceed the op's total.
    pub fn avg_duration_by_op<T: TraceView + ?Sized>(trace: &T) -> HashMap<String, f64> {
        sums_by(trace, |view| Some(view.operation()))
            .into_iter()
            .map(|(name, sum)| (name.to_owned(), sum.duration_us / sum.count as f64))
            .collect()
    }

    /// Count, time and bytes of each device; entries without a device are left out.
    pub fn per_device_summary<T: TraceView + ?Sized>(trace: &T) -> HashMap<String, DeviceSummary> {
        sums_by(trace, EntryView::device_id)
            .into_iter()
            .map(|(device, sum)| {
                let summary = DeviceSummary {
                    op_count: sum.count,
                    total_duration_us: sum.total_us,
                    total_memory_bytes: sum.memory_bytes,
                    self_duration_us: sum.self_us,
                };
                (device.to_owned(), summary)
            })
            .collect()
    }

    /// Time of each device and the imbalance between them; `None` for fewer than two devices.
    pub fn load_balance_metrics<T: TraceView + ?Sized>(trace: &T) -> Option<LoadBalanceMetrics> {
        let mut devices: Vec<(String, f64)> = sums_by(trace, EntryView::device_id)
            .into_iter()
            .map(|(device, sum)| (device.to_owned(), sum.total_us))
            .collect();
        if devices.len() < 2 {
            return None;
        }
        devices.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let total: f64 = devices.iter().map(|(_, duration)| duration).sum();
        let ideal = total / devices.len() as f64;
        let max = devices
            .iter()
            .map(|&(_, duration)| duration)
            .fold(0.0, f64::max);
        Some(LoadBalanceMetrics {
            device_count: devices.len(),
            total_duration_us: total,
            ideal_duration_us: ideal,
            max_duration_us: max,
            // If all devices have zero time, this is 0 / 0 = NaN, and `max` returns the other number.
            imbalance_ratio: ((max - ideal) / ideal).max(0.0),
            per_device_duration_us: devices,
        })
    }

    /// The communication ops that take at least `min_ratio` of the trace's total, largest first.
    ///
    /// An entry's kind decides whether it is communication. An entry without a kind is communication if its name
    /// contains, in upper or lower case, `allreduce`, `all_reduce`, `all_gather`, `allgather`, `reduce_scatter`,
    /// `reducescatter`, `all_to_all`, `alltoall`, `broadcast`, `send`, `recv` or `comm`.
    pub fn communication_bottlenecks<T: TraceView + ?Sized>(
        trace: &T,
        min_ratio: f64,
    ) -> Vec<CommunicationBottleneck> {
        let whole = trace.total_duration_us().max(1e-9);
        let mut rule = CommunicationRule::default();
        let mut found: Vec<CommunicationBottleneck> =
            sums_by(trace, |view| rule.holds(view).then(|| view.operation()))
                .into_iter()
                .map(|(name, sum)| CommunicationBottleneck {
                    operation: name.to_owned(),
                    total_duration_us: sum.total_us,
                    ratio_of_total: sum.total_us / whole,
                    call_count: sum.count,
                    self_duration_us: sum.self_us,
                })
                .filter(|bottleneck| bottleneck.ratio_of_total >= min_ratio)
                .collect();
        found.sort_unstable_by(|a, b| {
            descending(a.ratio_of_total, b.ratio_of_total)
                .then_with(|| a.operation.cmp(&b.operation))
        });
        found
    }

    /// Stacks with their self time in microseconds, as flame graph tools read them: lines of
    /// `trace;device;outer;inner weight`, sorted, without a line break at the end.
    ///
    /// The device is that of the innermost op, `unknown` if it has none. Each entry weighs at
    /// least 1. In names `;`, `%`, spaces and control characters are written as `%3B` and so on.
    /// A stack has at most 512 ops; deeper ops count for the last one.
    pub fn flamegraph_collapsed<T: TraceView + ?Sized>(trace: &T) -> String {
        flamegraph::collapsed(trace)
    }

    /// The `n` entries that took longest, longest first. Entries of equal duration are in the order in which they
    /// began. Entries with a duration of NaN come last.
    pub fn slowest<T: EntryStorage + ?Sized>(trace: &T, n: usize) -> Vec<T::Entry<'_>> {
        let keyed = trace.views().map(|view| view.duration_us()).zip(0..);
        top_by(keyed, n)
            .into_iter()
            .map(|index| trace.entry(index))
            .collect()
    }

    /// The `n` entries with the longest self time, longest first.
    pub fn slowest_by_self<T: EntryStorage + ?Sized>(trace: &T, n: usize) -> Vec<T::Entry<'_>> {
        let nesting = Nesting::of(trace);
        let keyed = trace
            .views()
            .enumerate()
            .map(|(index, view)| (nesting.self_us(index, &view), index));
        top_by(keyed, n)
            .into_iter()
            .map(|index| trace.entry(index))
            .collect()
    }
}

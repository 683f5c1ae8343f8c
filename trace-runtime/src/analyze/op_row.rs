//! A row of an op table.

use crate::model::json_struct::json_struct;

/// All executions of one op, or of one op with the same input shapes, in nanoseconds.
///
/// Use it to rank and explain ops: it has percentiles, FLOPs, bytes and device time, separates ops of the host from
/// those of devices, and can separate shapes. [`OpSummary`](super::OpSummary) is smaller: count, time and bytes by name
/// alone, in microseconds.
///
/// Percentiles are exact, by nearest rank: the smallest duration that at least this share of the
/// executions did not exceed.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct OpRow {
    /// The op's name.
    pub operation: String,
    /// The instance of the op, such as the layer `layers.3.attn`. Only in rows by label and shapes, if the op has a
    /// label.
    pub label: Option<String>,
    /// File and line of its function, such as `src/layers.rs:12`; several if functions share a name. In the order of
    /// their first executions; empty if none is known.
    pub locations: Vec<String>,
    /// The dims of its inputs; `None` if all shapes of the op are in one row.
    pub input_shapes: Option<Vec<Vec<usize>>>,
    /// True if it ran on a device other than `cpu`. An op of the host and one of a device are never in
    /// one row, even if they have the same name: one launches the other.
    pub accelerator: bool,
    /// True if some of its executions are communication, by their kind or, without a kind, by their name.
    pub communication: bool,
    /// Number of executions.
    pub count: usize,
    /// Number of executions that did not run inside another execution of this row.
    pub outermost: usize,
    /// Time spent in it. An execution inside another one of this row adds nothing. The time in which an async op was
    /// suspended is not included either.
    pub total_ns: u64,
    /// The part of the total that was not spent in ops inside it.
    pub self_ns: u64,
    /// The part of the self time in which it only waited: for a device, another thread or a slower rank. It comes from
    /// the [causal model](super::CausalModel), so only the rows of a [`Report`](crate::report::Report) have it; 0
    /// elsewhere.
    pub waiting_ns: u64,
    /// Sum of all durations, nested and suspended time included.
    pub sum_ns: u64,
    /// The part of that sum in which async executions were suspended.
    pub suspended_ns: u64,
    /// Device time of the work that it launched itself; 0 in a row of a device. See
    /// [`DeviceTimes`](super::DeviceTimes).
    pub device_self_ns: u64,
    /// Device time of the work that the op, or an op inside it, launched.
    pub device_total_ns: u64,
    /// The shortest execution.
    pub min_ns: u64,
    /// The mean execution, rounded down.
    pub mean_ns: u64,
    /// The median: half of the executions were not longer.
    pub p50_ns: u64,
    /// The 95th percentile: 95 % of the executions were not longer.
    pub p95_ns: u64,
    /// The 99th percentile: 99 % of the executions were not longer.
    pub p99_ns: u64,
    /// The longest execution.
    pub max_ns: u64,
    /// Bytes of all outputs.
    pub memory_bytes: u64,
    /// Bytes read and written: as given, otherwise every input and output once. The size of an output that was not
    /// recorded is inferred from name and input shapes if possible. Views and allocations move nothing.
    pub bytes_moved: u64,
    /// Floating-point operations: as given, otherwise inferred from name and shapes if possible.
    pub flops: u64,
    /// True if some of the FLOPs are inferred.
    pub flops_inferred: bool,
    /// FLOPs per second of the executions whose FLOPs are known. The time is device time if they launched work on a
    /// device, otherwise their own time. `None` if that time is unknown.
    pub flops_per_s: Option<f64>,
    /// Bytes moved per second, over the same time as `flops_per_s`.
    pub bytes_per_s: Option<f64>,
    /// FLOPs per byte moved, over the executions whose FLOPs are known.
    pub arithmetic_intensity: Option<f64>,
}

json_struct!(OpRow {
    required: [
        operation,
        count,
        outermost,
        total_ns,
        self_ns,
        sum_ns,
        min_ns,
        mean_ns,
        p50_ns,
        p95_ns,
        p99_ns,
        max_ns,
        memory_bytes,
        bytes_moved,
    ],
    optional: [
        label,
        locations,
        input_shapes,
        accelerator,
        communication,
        waiting_ns,
        suspended_ns,
        device_self_ns,
        device_total_ns,
        flops,
        flops_inferred,
        flops_per_s,
        bytes_per_s,
        arithmetic_intensity,
    ],
});

impl OpRow {
    /// The self time minus the time in which the op only waited, in nanoseconds.
    pub fn working_ns(&self) -> u64 {
        self.self_ns.saturating_sub(self.waiting_ns)
    }

    /// Device time of the row: its own total on a device, else the device time of the work that it launched.
    /// `None` for a host op that launched nothing.
    pub fn device_ns(&self) -> Option<u64> {
        let ns = if self.accelerator {
            self.total_ns
        } else {
            self.device_total_ns
        };
        (self.accelerator || ns > 0).then_some(ns)
    }
}

//! Results of [`TraceAnalyzer`](super::TraceAnalyzer), in microseconds.

use crate::model::json_struct::json_struct;

/// The executions of one op, added up, in microseconds.
///
/// Grouped by name alone: all shapes together, and host and device together. [`OpRow`](super::OpRow) separates them, in
/// nanoseconds, with percentiles, FLOPs and device time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpSummary {
    /// Number of executions.
    pub count: usize,
    /// Time spent in it, in microseconds. If executions are inside each other, only the outermost counts. Time in which
    /// an async op was suspended does not count.
    pub total_duration_us: f64,
    /// The bytes of all its outputs; saturating.
    pub total_memory_bytes: usize,
    /// The part of the total that was not spent in ops inside it, in microseconds.
    pub self_duration_us: f64,
}

json_struct!(OpSummary {
    required: [count, total_duration_us, total_memory_bytes],
    optional: [self_duration_us],
});

/// The ops of one device, added up, in microseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceSummary {
    /// Number of entries on it.
    pub op_count: usize,
    /// Time spent in its ops, in microseconds. An op inside another one of the same thread and device
    /// adds nothing.
    pub total_duration_us: f64,
    /// The bytes of all outputs made on it; saturating.
    pub total_memory_bytes: usize,
    /// The sum of the self times of its ops, in microseconds. It is below the total if its ops contain
    /// ops of other devices.
    pub self_duration_us: f64,
}

json_struct!(DeviceSummary {
    required: [op_count, total_duration_us, total_memory_bytes],
    optional: [self_duration_us],
});

/// A communication op that takes a noticeable share of the time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommunicationBottleneck {
    /// The op's name.
    pub operation: String,
    /// Time spent in it, in microseconds, counted as in [`OpSummary`].
    pub total_duration_us: f64,
    /// `total_duration_us` as a share of the trace's total.
    pub ratio_of_total: f64,
    /// Number of executions.
    pub call_count: usize,
    /// The part of `total_duration_us` that was not spent in ops inside this one, in microseconds.
    pub self_duration_us: f64,
}

json_struct!(CommunicationBottleneck {
    required: [operation, total_duration_us, ratio_of_total, call_count],
    optional: [self_duration_us],
});

/// Time of each device, and how much busier than the mean the busiest is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadBalanceMetrics {
    /// Number of devices with entries.
    pub device_count: usize,
    /// The totals of all devices added up, in microseconds.
    pub total_duration_us: f64,
    /// The total divided by the number of devices, in microseconds.
    pub ideal_duration_us: f64,
    /// The total of the busiest device, in microseconds.
    pub max_duration_us: f64,
    /// `(max − ideal) / ideal`: 0 if all devices take the same time.
    pub imbalance_ratio: f64,
    /// The total of each device in microseconds, by name.
    pub per_device_duration_us: Vec<(String, f64)>,
}

json_struct!(LoadBalanceMetrics {
    required: [
        device_count,
        total_duration_us,
        ideal_duration_us,
        max_duration_us,
        imbalance_ratio,
        per_device_duration_us,
    ],
    optional: [],
});

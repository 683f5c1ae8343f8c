//! What the described analyses answer with.

use crate::model::json_struct::json_struct;

/// The executions of one op, added up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpSummary {
    /// How often it ran.
    pub count: usize,
    /// Time spent in it, in microseconds. Where it runs inside itself only the outermost execution
    /// counts, and a suspended async op does not.
    pub total_duration_us: f64,
    /// The bytes of all its outputs; saturating.
    pub total_memory_bytes: usize,
    /// Of the total, the time spent in no op inside of it, in microseconds.
    pub self_duration_us: f64,
}

json_struct!(OpSummary {
    required: [count, total_duration_us, total_memory_bytes],
    optional: [self_duration_us],
});

/// The ops of one device, added up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceSummary {
    /// How many entries ran on it.
    pub op_count: usize,
    /// Time spent in its ops, in microseconds. An op inside another one of the same thread and device
    /// adds nothing.
    pub total_duration_us: f64,
    /// The bytes of all outputs made on it; saturating.
    pub total_memory_bytes: usize,
    /// The self times of its ops added up, in microseconds: below the total where its ops wait for
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
    /// That time as a share of the trace's total.
    pub ratio_of_total: f64,
    /// How often it ran.
    pub call_count: usize,
    /// Of the time, what was spent in no op inside of it, in microseconds.
    pub self_duration_us: f64,
}

json_struct!(CommunicationBottleneck {
    required: [operation, total_duration_us, ratio_of_total, call_count],
    optional: [self_duration_us],
});

/// How evenly the work is spread over the devices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadBalanceMetrics {
    /// How many devices ran something.
    pub device_count: usize,
    /// The totals of all devices added up, in microseconds.
    pub total_duration_us: f64,
    /// What each device would take if all took the same, in microseconds.
    pub ideal_duration_us: f64,
    /// What the busiest device takes, in microseconds.
    pub max_duration_us: f64,
    /// By how much the busiest device exceeds the ideal, as a share of the ideal: 0 is even.
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

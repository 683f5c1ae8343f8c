//! The order of the rows of op tables.

use crate::analyze::OpRow;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The figure by which op tables are sorted, largest first; names alphabetically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OpSort {
    /// Self time without waiting.
    #[default]
    SelfTime,
    /// Time spent in it, ops inside included.
    Total,
    /// Device time of the work launched by it and by ops inside it; on devices the total.
    Device,
    /// Device time of the work launched by it.
    DeviceSelf,
    /// Number of executions.
    Calls,
    /// The shortest execution.
    Min,
    /// The mean execution.
    Mean,
    /// The median execution.
    P50,
    /// The 95th percentile of the executions.
    P95,
    /// The 99th percentile of the executions.
    P99,
    /// The longest execution.
    Max,
    /// Bytes of all outputs.
    Output,
    /// Bytes moved per second.
    BytesPerSecond,
    /// FLOPs per second.
    FlopsPerSecond,
    /// The name of the op.
    Name,
}

impl OpSort {
    /// Every order.
    pub const ALL: [OpSort; 15] = [
        OpSort::SelfTime,
        OpSort::Total,
        OpSort::Device,
        OpSort::DeviceSelf,
        OpSort::Calls,
        OpSort::Min,
        OpSort::Mean,
        OpSort::P50,
        OpSort::P95,
        OpSort::P99,
        OpSort::Max,
        OpSort::Output,
        OpSort::BytesPerSecond,
        OpSort::FlopsPerSecond,
        OpSort::Name,
    ];

    /// The name of the column on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            OpSort::SelfTime => "self",
            OpSort::Total => "total",
            OpSort::Device => "device",
            OpSort::DeviceSelf => "device-self",
            OpSort::Calls => "calls",
            OpSort::Min => "min",
            OpSort::Mean => "mean",
            OpSort::P50 => "p50",
            OpSort::P95 => "p95",
            OpSort::P99 => "p99",
            OpSort::Max => "max",
            OpSort::Output => "output",
            OpSort::BytesPerSecond => "bytes/s",
            OpSort::FlopsPerSecond => "flop/s",
            OpSort::Name => "op",
        }
    }

    /// Compares two rows; the one that comes first is the smaller. Rows with equal figures are in the order of their
    /// self times.
    pub(super) fn compare(self, a: &OpRow, b: &OpRow) -> Ordering {
        let by = |figure: fn(&OpRow) -> u64| figure(b).cmp(&figure(a));
        let rate = |figure: fn(&OpRow) -> Option<f64>| {
            let value = |row: &OpRow| figure(row).unwrap_or(0.0);
            value(b).total_cmp(&value(a))
        };
        let order = match self {
            OpSort::SelfTime => Ordering::Equal,
            OpSort::Total => by(|row| row.total_ns),
            OpSort::Device => by(|row| row.device_ns().unwrap_or(0)),
            OpSort::DeviceSelf => by(|row| row.device_self_ns),
            OpSort::Calls => by(|row| row.count as u64),
            OpSort::Min => by(|row| row.min_ns),
            OpSort::Mean => by(|row| row.mean_ns),
            OpSort::P50 => by(|row| row.p50_ns),
            OpSort::P95 => by(|row| row.p95_ns),
            OpSort::P99 => by(|row| row.p99_ns),
            OpSort::Max => by(|row| row.max_ns),
            OpSort::Output => by(|row| row.memory_bytes),
            OpSort::BytesPerSecond => rate(|row| row.bytes_per_s),
            OpSort::FlopsPerSecond => rate(|row| row.flops_per_s),
            OpSort::Name => a.operation.cmp(&b.operation),
        };
        order.then_with(|| b.working_ns().cmp(&a.working_ns()))
    }
}

impl fmt::Display for OpSort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for OpSort {
    type Err = String;

    fn from_str(name: &str) -> Result<OpSort, String> {
        let known = OpSort::ALL.into_iter().find(|one| one.name() == name);
        known.ok_or_else(|| {
            let names: Vec<_> = OpSort::ALL.iter().map(|one| one.name()).collect();
            format!(
                "`{name}` is not a column; expected one of {}",
                names.join(", ")
            )
        })
    }
}

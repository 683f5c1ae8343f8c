//! Ops that are too short compared with the cost of recording them.

use super::op_row::OpRow;
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use crate::model::wire::metadata::OVERHEAD_NS;

/// An op whose median duration is less than ten times the cost of recording it.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct UntrustedOp {
    /// The op's name.
    pub operation: String,
    /// Number of executions.
    pub count: usize,
    /// The median duration in nanoseconds.
    pub p50_ns: u64,
    /// The cost of recording one op, as a share of `p50_ns`.
    pub overhead_share: f64,
}

json_struct!(UntrustedOp {
    required: [operation, count, p50_ns, overhead_share],
    optional: [],
});

/// Cost of recording one op in this trace in nanoseconds; `None` if the recorder did not measure it.
pub fn overhead_ns<T: TraceView + ?Sized>(trace: &T) -> Option<u64> {
    let value: f64 = trace.metadata().get(OVERHEAD_NS)?.trim().parse().ok()?;
    (value > 0.0).then_some(value as u64)
}

/// The ops whose median duration is below ten times the cost of recording them, most frequent first.
///
/// `rows` are those of [`by_op`](super::by_op).
pub fn too_short_to_trust(rows: &[OpRow], overhead_ns: u64) -> Vec<UntrustedOp> {
    let mut list: Vec<UntrustedOp> = rows
        .iter()
        .filter(|row| row.p50_ns < overhead_ns.saturating_mul(10))
        .map(|row| UntrustedOp {
            operation: row.operation.clone(),
            count: row.count,
            p50_ns: row.p50_ns,
            overhead_share: overhead_ns as f64 / row.p50_ns.max(1) as f64,
        })
        .collect();
    list.sort_by(|a, b| {
        let frequent = b.count.cmp(&a.count);
        frequent.then_with(|| a.operation.cmp(&b.operation))
    });
    list
}

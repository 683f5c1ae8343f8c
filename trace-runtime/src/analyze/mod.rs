//! Numbers derived from a trace: by op, by device, by stack.
//!
//! Every analysis takes any [`TraceView`](crate::TraceView), so a trace that was read from a file is
//! as good as a live one; nothing here knows how a trace was recorded.

mod analyzer;
mod communication;
mod flamegraph;
mod forest;
mod grouping;
mod nesting;
mod summaries;

pub use analyzer::TraceAnalyzer;
pub(crate) use communication::CommunicationRule;
pub use summaries::{CommunicationBottleneck, DeviceSummary, LoadBalanceMetrics, OpSummary};

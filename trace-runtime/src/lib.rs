//! Records tensor ops with their shapes inferred, and answers where the time went.

pub mod analyze;
pub mod export;
pub mod model;
mod op_macro;
pub mod read;
pub mod record;
pub mod report;
pub mod tensors;

pub use analyze::{
    CommunicationBottleneck, DeviceSummary, LoadBalanceMetrics, OpSummary, TraceAnalyzer,
};
pub use model::{
    DType, Device, DeviceName, EntryView, OpKind, Outcome, RecordedExecutionTrace,
    RecordedTraceEntry, TraceError, TraceStore, TraceView,
};
pub use record::{
    Element, OpHandle, Session, SessionBuilder, SessionError, TensorLike, TensorSink,
    TraceRecorder, current_op, in_op, record, with_recorder,
};
pub use report::Report;
pub use trace_macros::{TensorLike, traced_op};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

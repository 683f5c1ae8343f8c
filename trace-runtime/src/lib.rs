//! Records tensor ops with their shapes inferred, and answers where the time went.

pub mod model;
pub mod record;

pub use model::{
    DType, Device, DeviceName, EntryView, OpKind, Outcome, RecordedExecutionTrace,
    RecordedTraceEntry, TraceError, TraceStore, TraceView,
};
pub use record::{Element, TensorLike, TensorSink};

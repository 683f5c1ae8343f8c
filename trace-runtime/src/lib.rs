//! Records tensor ops with their shapes inferred, and answers where the time went.

pub mod model;
pub mod record;

pub use model::{DType, Device, DeviceName, OpKind, Outcome};
pub use record::{TensorLike, TensorSink};

//! What expanded code names. Not for use by hand: it changes without notice.

pub use crate::model::{DType, Device, OpKind};
pub use crate::record::op::{AsyncOp, Op, begin, begin_async};
pub use crate::record::site::Site;
pub use crate::record::{TensorLike, TensorSink};

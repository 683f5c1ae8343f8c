//! What a trace is. Depends on nothing else in the crate.

mod device;
mod dtype;
mod kind;
pub(crate) mod signature;

pub use device::{Device, DeviceName};
pub use dtype::DType;
pub use kind::{OpKind, Outcome};

//! Everything that expanded code may name. Not for use by hand: it changes without notice.

pub use crate::describe::{Describe, labelled};
pub use crate::engine::{AsyncOp, Op, begin, begin_async, begin_deferred, begin_kind};
pub use crate::flow::Returns;
pub use crate::futures::{follow, running, starting};
pub use crate::probe::{outcome, probe, success};
pub use crate::site_name::{Method, Named};
// Only the trait: at the root of the crate, the derive macro has the same name.
pub use crate::tensor_like::TensorLike;
pub use crate::{DType, Device, OpKind, TensorSink};
pub use std::any::type_name;
pub use std::boxed::Box;
pub use std::option::Option::{None, Some};
pub use std::{concat, module_path};
// Expanded code uses it for methods with an unknown attribute in an annotated `impl`.
pub use trace_macros::traced_op_core as traced_op;

/// Runs a body that contains `return`. The bound `FnOnce` allows the body to return a reborrow of a captured variable.
#[allow(
    clippy::inline_always,
    reason = "also without optimisation: otherwise every level of a recursion has one more frame"
)]
#[inline(always)]
pub fn call<R, F: FnOnce() -> R>(body: F) -> R {
    body()
}

/// The value of a branch that is never taken. It gives an expression a type even if the other branch diverges.
#[cold]
pub fn unreached<R>() -> R {
    unreachable!("a branch of `if false`")
}

/// Lets the compiler infer the type of the closure's parameter.
#[inline]
pub fn described_by<F: FnOnce(&mut TensorSink)>(description: F) -> F {
    description
}

/// Ends an op whose result has a type that cannot be written in a `let`.
#[inline]
pub fn finish<R>(
    mut op: Op,
    result: R,
    sync: impl FnOnce(&mut Op),
    outputs: impl FnOnce(&R, &mut TensorSink),
) -> R {
    if op.is_recording() {
        sync(&mut op);
    }
    op.end(|sink: &mut TensorSink| outputs(&result, sink));
    result
}

/// An op whose result is not described. It ends when it is dropped.
#[derive(Debug)]
pub struct Unseen(Op);

#[inline]
pub fn unseen(op: Op) -> Unseen {
    Unseen(op)
}

impl Drop for Unseen {
    #[inline]
    fn drop(&mut self) {
        // If the thread is panicking, dropping the op records that.
        if self.0.is_recording() && !std::thread::panicking() {
            self.0.end(());
        }
    }
}

/// An async op whose result is not described. It ends when it is dropped: whether its future returned or was dropped
/// is not known.
#[derive(Debug)]
pub struct UnseenTask(AsyncOp);

#[inline]
pub fn unseen_task(op: AsyncOp) -> UnseenTask {
    UnseenTask(op)
}

impl Drop for UnseenTask {
    fn drop(&mut self) {
        if self.0.is_recording() && !std::thread::panicking() {
            self.0.take().end(());
        }
    }
}

/// A number of operations or bytes, of any numeric type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of operations or bytes",
    label = "expected an integer or a float"
)]
pub trait Count {
    fn count(self) -> u64;
}

macro_rules! counts {
    ($($type:ty)*) => {$(
        impl Count for $type {
            #[inline]
            fn count(self) -> u64 {
                u64::try_from(self).unwrap_or(if self > 0 { u64::MAX } else { 0 })
            }
        }
    )*};
}

counts!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl Count for f32 {
    #[inline]
    fn count(self) -> u64 {
        self as u64
    }
}

impl Count for f64 {
    #[inline]
    fn count(self) -> u64 {
        self as u64
    }
}

/// The value of `device = …`.
#[inline]
pub fn device(device: impl Into<Device>) -> Device {
    device.into()
}

/// The text of a value of `meta(…)`.
#[cold]
pub fn text(value: &dyn std::fmt::Display) -> String {
    value.to_string()
}

#[inline]
pub fn count(number: impl Count) -> u64 {
    number.count()
}

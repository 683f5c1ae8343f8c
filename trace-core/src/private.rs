//! What expanded code names. Not for use by hand: it changes without notice.

pub use crate::describe::Describe;
pub use crate::engine::{AsyncOp, Op, begin, begin_async, begin_deferred, begin_kind};
pub use crate::probe::{ended, probe, settled};
// The trait alone: at the root of the crate its derive has the same name.
pub use crate::tensor_like::TensorLike;
pub use crate::{DType, Device, OpKind, TensorSink};
pub use std::any::type_name;
pub use std::boxed::Box;
pub use std::option::Option::{None, Some};

use std::future::Future;
use std::marker::PhantomData;

/// Runs a body that has a `return` of its own. Taking it as `FnOnce` lets it return a reborrow.
#[inline]
pub fn call<R, F: FnOnce() -> R>(body: F) -> R {
    body()
}

/// Stands in a branch that is never taken: the compiler then takes no body to diverge, and knows its type.
#[cold]
pub fn unreached<R>() -> R {
    unreachable!("a branch behind `if false`")
}

/// The type that an async block returns, for a branch inside of it that is never taken.
#[derive(Debug)]
pub struct Returns<R>(PhantomData<fn() -> R>);

impl<R> Returns<R> {
    pub const TYPE: Returns<R> = Returns(PhantomData);

    #[cold]
    pub fn unreached(self) -> R {
        unreached()
    }
}

/// Lets a closure be one whose sink's type need not be written.
#[inline]
pub fn told<F: FnOnce(&mut TensorSink)>(description: F) -> F {
    description
}

/// Ends an op whose result has a type that cannot be written down.
#[inline]
pub fn finish<R>(
    mut op: Op,
    result: R,
    sync: impl FnOnce(),
    outputs: impl FnOnce(&R, &mut TensorSink),
) -> R {
    if op.is_recording() {
        sync();
    }
    op.end(|sink: &mut TensorSink| outputs(&result, sink));
    result
}

/// An op whose result is not looked at: it ends where its function does.
#[derive(Debug)]
pub struct Unseen(Op);

#[inline]
pub fn unseen(op: Op) -> Unseen {
    Unseen(op)
}

impl Drop for Unseen {
    #[inline]
    fn drop(&mut self) {
        // Dropped while panicking, the op records the panic itself.
        if self.0.is_recording() && !std::thread::panicking() {
            self.0.end(());
        }
    }
}

/// Records the future that an op's function returned, from its first poll.
pub async fn follow<F: Future>(
    mut op: AsyncOp,
    future: F,
    sync: impl FnOnce(),
    outputs: impl FnOnce(&F::Output, &mut TensorSink),
) -> F::Output {
    op.start();
    let result = op.run(future).await;
    if op.is_recording() {
        sync();
    }
    op.end(|sink: &mut TensorSink| outputs(&result, sink));
    result
}

/// A number of operations or bytes, of whatever type it was computed in.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number of operations or bytes",
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

#[inline]
pub fn count(number: impl Count) -> u64 {
    number.count()
}

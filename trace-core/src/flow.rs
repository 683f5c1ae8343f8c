//! Recording of functions for which only the compiler knows whether they return a boxed future.
//!
//! `Returns::<R>::TYPE.__flow()` is [`Deferred`] if `R` is a `Pin<Box<dyn Future>>` under any name, otherwise
//! [`Immediate`]. The compiler chooses the method as for the tensors in a value: an inherent method of the first type
//! in a chain of `Deref` that has one.

#![allow(
    clippy::unused_self,
    reason = "expanded code calls methods of a value whose type it does not know"
)]

use crate::describe::Describe;
use crate::engine::{AsyncOp, Op, begin, begin_deferred, begin_kind};
use crate::futures::{DescribeOutput, FollowBoxed};
use crate::site_name::SiteName;
use crate::{OpKind, TensorSink};
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::Pin;

/// The return type of a function, as a value.
#[derive(Debug)]
pub struct Returns<R>(AnyReturn<R>);

#[derive(Debug)]
pub struct AnyReturn<R>(PhantomData<fn() -> R>);

impl<R> Returns<R> {
    /// The only value.
    pub const TYPE: Returns<R> = Returns(AnyReturn(PhantomData));

    /// A value of the return type, in a branch that is never taken.
    #[cold]
    pub fn unreached(self) -> R {
        crate::__private::unreached()
    }
}

impl<R> Deref for Returns<R> {
    type Target = AnyReturn<R>;

    #[inline]
    fn deref(&self) -> &AnyReturn<R> {
        &self.0
    }
}

macro_rules! deferred {
    ($($future:ty),*) => {$(
        impl<'a, T> Returns<Pin<Box<$future>>> {
            /// The function returns a boxed future.
            #[inline]
            pub fn __flow(&self) -> Deferred {
                Deferred
            }
        }
    )*};
}

deferred!(
    dyn Future<Output = T> + 'a,
    dyn Future<Output = T> + Send + 'a,
    dyn Future<Output = T> + Send + Sync + 'a
);

impl<R> AnyReturn<R> {
    #[inline]
    pub fn __flow(&self) -> Immediate {
        Immediate
    }
}

/// The op ends when the function returns.
#[derive(Debug, Clone, Copy)]
pub struct Immediate;

impl Immediate {
    #[inline]
    pub fn begin(self, name: impl SiteName, kind: Option<OpKind>, inputs: impl Describe) -> Op {
        match kind {
            Some(kind) => begin_kind(name, kind, inputs),
            None => begin(name, inputs),
        }
    }

    #[inline]
    pub fn end<R>(self, mut op: Op, result: R, outputs: fn(&R, &mut TensorSink)) -> R {
        op.end(|sink: &mut TensorSink| outputs(&result, sink));
        result
    }
}

/// The op ends when the future that the function returned does.
#[derive(Debug, Clone, Copy)]
pub struct Deferred;

impl Deferred {
    #[inline]
    pub fn begin(
        self,
        name: impl SiteName,
        kind: Option<OpKind>,
        inputs: impl Describe,
    ) -> AsyncOp {
        begin_deferred(name, kind, inputs)
    }

    #[inline]
    pub fn end<F: FollowBoxed>(
        self,
        op: AsyncOp,
        future: F,
        outputs: DescribeOutput<F::Output>,
    ) -> F {
        future.follow_boxed(op, outputs)
    }
}

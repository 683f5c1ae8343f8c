//! Finds the tensors in a value of any type, by method resolution.
//!
//! `probe(&x).__seen()` compiles whatever `x` is. The compiler looks for `__seen` along a chain of
//! wrappers, each of which dereferences to the next, and takes the first whose impl fits: a
//! [`TensorLike`]; a slice of an [`Element`](super::Element); a slice whose element is known only by its
//! type's name; a pointer to one of these; anything at all, of which there is nothing to say. In a generic
//! function the bounds written there decide.

use super::describe::{
    AsElements, AsNothing, AsOutcome, AsPointedSlices, AsPointee, AsSlices, AsTensors, Describe,
    Seen,
};
use super::slices::{Elements, Slices};
use super::{TensorLike, TensorSink};
use std::ops::Deref;

/// Whatever tensors `value` holds: `probe(&x).__seen()`.
#[inline]
pub fn probe<T: ?Sized>(value: &T) -> Probe<'_, T> {
    Probe(OfElements(OfSlices(OfPointee(OfPointedSlices(
        OfAnything(value),
    )))))
}

/// The tensors in an op's result, or that it failed: `ended(&result).__seen()`.
#[inline]
pub fn ended<T: ?Sized>(result: &T) -> Ended<'_, T> {
    Ended(EndedTensors(EndedElements(EndedSlices(EndedAnyhow(
        probe(result),
    )))))
}

/// Goes on with what is inside a successful result: `settled(&result).__then(|value, sink| …)`.
#[inline]
pub fn settled<T: ?Sized>(result: &T) -> Settled<'_, T> {
    Settled(Plain(result))
}

macro_rules! chain {
    ($($from:ident -> $to:ident;)*) => {$(
        #[derive(Debug)]
        pub struct $from<'a, T: ?Sized>($to<'a, T>);

        impl<'a, T: ?Sized> Deref for $from<'a, T> {
            type Target = $to<'a, T>;

            #[inline]
            fn deref(&self) -> &$to<'a, T> {
                &self.0
            }
        }
    )*};
}

chain! {
    Probe -> OfElements;
    OfElements -> OfSlices;
    OfSlices -> OfPointee;
    OfPointee -> OfPointedSlices;
    OfPointedSlices -> OfAnything;

    Ended -> EndedTensors;
    EndedTensors -> EndedElements;
    EndedElements -> EndedSlices;
    EndedSlices -> EndedAnyhow;
    EndedAnyhow -> Probe;

    Settled -> Plain;
}

#[derive(Debug)]
pub struct OfAnything<'a, T: ?Sized>(&'a T);

#[derive(Debug)]
pub struct Plain<'a, T: ?Sized>(&'a T);

/// What a level of the chain sees in a value of this type.
macro_rules! seen {
    ($($level:ident<$value:ty> [$($generics:tt)*] as $as:ty;)*) => {$(
        impl<'a, $($generics)*> $level<'a, $value> {
            #[inline]
            pub fn __seen(&self) -> Seen<'a, $value, $as> {
                Seen::new(self.value())
            }
        }
    )*};
}

seen! {
    Probe<T> [T: TensorLike + ?Sized] as AsTensors;
    OfElements<T> [T: Elements + ?Sized] as AsElements;
    OfSlices<T> [T: Slices + ?Sized] as AsSlices;
    OfPointee<T> [T: Deref<Target: TensorLike> + ?Sized] as AsPointee;
    OfPointedSlices<T> [T: Deref<Target: Slices> + ?Sized] as AsPointedSlices;
    OfAnything<T> [T: ?Sized] as AsNothing;

    Ended<Result<T, E>> [T: TensorLike, E] as AsOutcome<AsTensors>;
    Ended<Option<T>> [T: TensorLike] as AsOutcome<AsTensors>;
    EndedTensors<T> [T: TensorLike + ?Sized] as AsTensors;
    EndedElements<Result<T, E>> [T: Elements, E] as AsOutcome<AsElements>;
    EndedElements<Option<T>> [T: Elements] as AsOutcome<AsElements>;
    EndedSlices<Result<T, E>> [T: Slices, E] as AsOutcome<AsSlices>;
    EndedSlices<Option<T>> [T: Slices] as AsOutcome<AsSlices>;
    EndedAnyhow<Result<T, E>> [T, E] as AsOutcome<AsNothing>;
    EndedAnyhow<Option<T>> [T] as AsOutcome<AsNothing>;
}

impl<'a, T: ?Sized> OfAnything<'a, T> {
    #[inline]
    fn value(&self) -> &'a T {
        self.0
    }
}

impl<'a, T, E> Settled<'a, Result<T, E>> {
    #[inline]
    pub fn __then<F: FnOnce(&T, &mut TensorSink)>(
        self,
        go_on: F,
    ) -> impl Describe + use<'a, T, E, F> {
        move |sink: &mut TensorSink| match self.0.0 {
            Ok(value) => go_on(value, sink),
            Err(_) => sink.__failed(),
        }
    }
}

impl<'a, T> Settled<'a, Option<T>> {
    #[inline]
    pub fn __then<F: FnOnce(&T, &mut TensorSink)>(self, go_on: F) -> impl Describe + use<'a, T, F> {
        move |sink: &mut TensorSink| match self.0.0 {
            Some(value) => go_on(value, sink),
            None => sink.__failed(),
        }
    }
}

impl<'a, T: ?Sized> Plain<'a, T> {
    #[inline]
    pub fn __then<F: FnOnce(&T, &mut TensorSink)>(
        &self,
        go_on: F,
    ) -> impl Describe + use<'a, T, F> {
        let value = self.0;
        move |sink: &mut TensorSink| go_on(value, sink)
    }
}

//! Finds the tensors in a value of any type, by method resolution.
//!
//! `probe(&x).__tensors()` compiles for every type of `x`. The compiler searches a chain of wrappers, each of which
//! dereferences to the next, for a method `__tensors`, and takes the first one whose bounds hold. In order, the bounds
//! are: a [`TensorLike`]; a slice of an [`Element`](crate::Element); a slice whose element is known only by the name of
//! its type; any other type, in which no tensors are found. In a generic function, the bounds written there decide.
//!
//! No user code runs except `TensorLike::describe`: a `Deref` of an unknown type could do anything.

use crate::describe::{AsElements, AsNothing, AsResult, AsSlices, AsTensors, Describe, Found};
use crate::slices::{Elements, Slices};
use crate::{TensorLike, TensorSink};
use std::ops::Deref;

/// The tensors in a value: `probe(&x).__tensors()`.
#[inline]
pub fn probe<T: ?Sized>(value: &T) -> Probe<'_, T> {
    Probe(OfElements(OfSlices(OfAnything(value))))
}

/// The tensors in the result of an op, or its failure: `outcome(&x).__tensors()`.
#[inline]
pub fn outcome<T: ?Sized>(value: &T) -> OfResult<'_, T> {
    OfResult(OfTensors(OfResultElements(OfResultSlices(OfAnyResult(
        probe(value),
    )))))
}

/// Describes the value in a successful result: `success(&x).__describe(|value, sink| …)`.
#[inline]
pub fn success<T: ?Sized>(result: &T) -> Success<'_, T> {
    Success(SuccessOfOption(Infallible(result)))
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
    OfSlices -> OfAnything;

    OfResult -> OfTensors;
    OfTensors -> OfResultElements;
    OfResultElements -> OfResultSlices;
    OfResultSlices -> OfAnyResult;
    OfAnyResult -> Probe;

    // Only one impl for each type: if the type has an error, two impls would be reported as ambiguous.
    Success -> SuccessOfOption;
    SuccessOfOption -> Infallible;
}

#[derive(Debug)]
pub struct OfAnything<'a, T: ?Sized>(&'a T);

#[derive(Debug)]
pub struct Infallible<'a, T: ?Sized>(&'a T);

/// The tensors that one wrapper of the chain finds in a value of this type.
macro_rules! found {
    ($($wrapper:ident<$value:ty> [$($generics:tt)*] as $as:ty;)*) => {$(
        impl<'a, $($generics)*> $wrapper<'a, $value> {
            #[inline]
            pub fn __tensors(&self) -> Found<'a, $value, $as> {
                Found::new(self.value())
            }
        }
    )*};
}

found! {
    Probe<T> [T: TensorLike + ?Sized] as AsTensors;
    OfElements<T> [T: Elements + ?Sized] as AsElements;
    OfSlices<T> [T: Slices + ?Sized] as AsSlices;
    OfAnything<T> [T: ?Sized] as AsNothing;

    OfResult<Result<T, E>> [T: TensorLike, E] as AsResult<AsTensors>;
    OfTensors<T> [T: TensorLike + ?Sized] as AsTensors;
    OfResultElements<Result<T, E>> [T: Elements, E] as AsResult<AsElements>;
    OfResultSlices<Result<T, E>> [T: Slices, E] as AsResult<AsSlices>;
    OfAnyResult<Result<T, E>> [T, E] as AsResult<AsNothing>;
}

impl<'a, T: ?Sized> OfAnything<'a, T> {
    #[inline]
    fn value(&self) -> &'a T {
        self.0
    }
}

impl<'a, T, E> Success<'a, Result<T, E>> {
    #[inline]
    pub fn __describe<F: FnOnce(&T, &mut TensorSink)>(
        &self,
        describe: F,
    ) -> impl Describe + use<'a, T, E, F> {
        let result = self.0.0.0;
        move |sink: &mut TensorSink| match result {
            Ok(value) => describe(value, sink),
            Err(_) => sink.__failed(),
        }
    }
}

impl<'a, T> SuccessOfOption<'a, Option<T>> {
    #[inline]
    pub fn __describe<F: FnOnce(&T, &mut TensorSink)>(
        &self,
        describe: F,
    ) -> impl Describe + use<'a, T, F> {
        let result = self.0.0;
        move |sink: &mut TensorSink| {
            if let Some(value) = result {
                describe(value, sink);
            }
        }
    }
}

impl<'a, T: ?Sized> Infallible<'a, T> {
    #[inline]
    pub fn __describe<F: FnOnce(&T, &mut TensorSink)>(
        &self,
        describe: F,
    ) -> impl Describe + use<'a, T, F> {
        let value = self.0;
        move |sink: &mut TensorSink| describe(value, sink)
    }
}

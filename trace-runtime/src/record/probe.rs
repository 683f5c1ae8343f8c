//! Finds the tensors in a value of any type, by method resolution.
//!
//! `probe(&x).__describe(sink)` compiles whatever `x` is. The compiler looks for `__describe` along a
//! chain of wrappers, each of which dereferences to the next, and takes the first whose impl fits: a
//! [`TensorLike`]; a slice of an [`Element`]; a slice whose element is known only by its type's name; a
//! pointer to one of these; anything at all, of which there is nothing to say. In a generic function the bounds written there decide.

use super::tensors::Dims;
use super::{Element, TensorLike, TensorSink};
use crate::model::{DType, Device};
use std::any::type_name;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// Describes whatever tensors `value` holds: `probe(&x).__describe(sink)`.
#[inline]
pub fn probe<T: ?Sized>(value: &T) -> Probe<'_, T> {
    Probe(OfElements(OfSlices(OfPointee(OfPointedSlices(
        OfAnything(value),
    )))))
}

/// Describes an op's result, or says that it failed: `ended(&result).__describe(sink)`.
#[inline]
pub fn ended<T: ?Sized>(result: &T) -> Ended<'_, T> {
    Ended(EndedTensors(EndedElements(EndedSlices(EndedAnyhow(
        probe(result),
    )))))
}

/// Goes on with what is inside a successful result: `settled(&result).__then(sink, |value, sink| …)`.
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
}

#[derive(Debug)]
pub struct OfAnything<'a, T: ?Sized>(&'a T);

impl<T: TensorLike + ?Sized> Probe<'_, T> {
    #[inline]
    pub fn __describe(&self, sink: &mut TensorSink) {
        self.value().describe(sink);
    }
}

impl<T: Elements + ?Sized> OfElements<'_, T> {
    #[inline]
    pub fn __describe(&self, sink: &mut TensorSink) {
        self.value().describe_elements(sink);
    }
}

impl<T: Slices + ?Sized> OfSlices<'_, T> {
    #[inline]
    pub fn __describe(&self, sink: &mut TensorSink) {
        self.value().describe_slices(sink);
    }
}

impl<T: Deref<Target: TensorLike> + ?Sized> OfPointee<'_, T> {
    #[inline]
    pub fn __describe(&self, sink: &mut TensorSink) {
        self.value().deref().describe(sink);
    }
}

impl<T: Deref<Target: Slices> + ?Sized> OfPointedSlices<'_, T> {
    #[inline]
    pub fn __describe(&self, sink: &mut TensorSink) {
        self.value().deref().describe_slices(sink);
    }
}

impl<'a, T: ?Sized> OfAnything<'a, T> {
    #[inline]
    #[allow(
        clippy::unused_self,
        reason = "it is called as the methods before it are"
    )]
    pub fn __describe(&self, _: &mut TensorSink) {}

    #[inline]
    fn value(&self) -> &'a T {
        self.0
    }
}

chain! {
    Ended -> EndedTensors;
    EndedTensors -> EndedElements;
    EndedElements -> EndedSlices;
    EndedSlices -> EndedAnyhow;
    EndedAnyhow -> Probe;
}

macro_rules! ended {
    ($($level:ident, $bound:path, $describe:expr;)*) => {$(
        impl<T: $bound, E> $level<'_, Result<T, E>> {
            #[inline]
            pub fn __describe(&self, sink: &mut TensorSink) {
                settled(self.value()).__then(sink, $describe);
            }
        }

        impl<T: $bound> $level<'_, Option<T>> {
            #[inline]
            pub fn __describe(&self, sink: &mut TensorSink) {
                settled(self.value()).__then(sink, $describe);
            }
        }
    )*};
}

ended! {
    Ended, TensorLike, T::describe;
    EndedElements, Elements, T::describe_elements;
    EndedSlices, Slices, T::describe_slices;
    EndedAnyhow, Sized, |_, _| {};
}

impl<T: TensorLike + ?Sized> EndedTensors<'_, T> {
    #[inline]
    pub fn __describe(&self, sink: &mut TensorSink) {
        self.value().describe(sink);
    }
}

chain! {
    Settled -> Plain;
}

#[derive(Debug)]
pub struct Plain<'a, T: ?Sized>(&'a T);

impl<T, E> Settled<'_, Result<T, E>> {
    #[inline]
    pub fn __then(&self, sink: &mut TensorSink, go_on: impl FnOnce(&T, &mut TensorSink)) {
        match self.0.0 {
            Ok(value) => go_on(value, sink),
            Err(_) => sink.__failed(),
        }
    }
}

impl<T> Settled<'_, Option<T>> {
    #[inline]
    pub fn __then(&self, sink: &mut TensorSink, go_on: impl FnOnce(&T, &mut TensorSink)) {
        match self.0.0 {
            Some(value) => go_on(value, sink),
            None => sink.__failed(),
        }
    }
}

impl<T: ?Sized> Plain<'_, T> {
    #[inline]
    pub fn __then(&self, sink: &mut TensorSink, go_on: impl FnOnce(&T, &mut TensorSink)) {
        go_on(self.0, sink);
    }
}

/// A slice of an [`Element`], or something around one: what `fn f<T: Element>(x: &[T])` knows.
pub trait Elements {
    fn describe_elements(&self, sink: &mut TensorSink);
}

/// What a slice of elements is made of: the elements themselves, or arrays of them.
pub trait Block {
    fn dtype(dims: &mut Dims) -> DType;
}

impl<E: Element> Block for E {
    #[inline]
    fn dtype(_: &mut Dims) -> DType {
        E::DTYPE
    }
}

impl<B: Block, const N: usize> Block for [B; N] {
    #[inline]
    fn dtype(dims: &mut Dims) -> DType {
        dims.push(N);
        B::dtype(dims)
    }
}

impl<B: Block> Elements for [B] {
    #[inline]
    fn describe_elements(&self, sink: &mut TensorSink) {
        let mut dims = Dims::of(self.len());
        let dtype = B::dtype(&mut dims);
        sink.tensor(dims.as_slice(), dtype, Device::Cpu);
    }
}

/// A slice of some element, or something around one: what is known in `fn f<T>(x: &[T])`.
pub trait Slices {
    fn describe_slices(&self, sink: &mut TensorSink);
}

impl<E> Slices for [E] {
    #[inline]
    fn describe_slices(&self, sink: &mut TensorSink) {
        let mut dims = Dims::of(self.len());
        let mut element = type_name::<E>();
        while let Some((inner, len)) = array(element) {
            dims.push(len);
            element = inner;
        }
        if let Some(dtype) = dtype_of(element) {
            sink.tensor(dims.as_slice(), dtype, Device::Cpu);
        }
    }
}

/// `[f32; 3]` → `f32` and 3.
fn array(name: &'static str) -> Option<(&'static str, usize)> {
    let (inner, len) = name
        .strip_prefix('[')?
        .strip_suffix(']')?
        .rsplit_once("; ")?;
    Some((inner, len.parse().ok()?))
}

/// The name is all there is: a trait would need a bound that the function does not have.
#[inline]
pub(crate) fn dtype_of(element: &str) -> Option<DType> {
    match element {
        "f32" => Some(DType::F32),
        "f64" => Some(DType::F64),
        "half::binary16::f16" | "f16" => Some(DType::F16),
        "half::bfloat::bf16" => Some(DType::BF16),
        "num_complex::Complex<f32>" => Some(DType::C64),
        "num_complex::Complex<f64>" => Some(DType::C128),
        "bool" | "u8" | "u16" | "u32" | "u64" | "u128" | "i8" | "i16" | "i32" | "i64" | "i128" => {
            DType::from_name(element)
        }
        _ => None,
    }
}

macro_rules! around {
    ($trait:ident, $method:ident, $($bound:ident)?) => {
        impl<E $(: $bound)?, const N: usize> $trait for [E; N] {
            #[inline]
            fn $method(&self, sink: &mut TensorSink) {
                self.as_slice().$method(sink);
            }
        }

        impl<E $(: $bound)?> $trait for Vec<E> {
            #[inline]
            fn $method(&self, sink: &mut TensorSink) {
                self.as_slice().$method(sink);
            }
        }

        impl<S: $trait> $trait for Option<S> {
            #[inline]
            fn $method(&self, sink: &mut TensorSink) {
                if let Some(inner) = self {
                    inner.$method(sink);
                }
            }
        }

        around!($trait, $method; &S, &mut S, Box<S>, Rc<S>, Arc<S>);
    };
    ($trait:ident, $method:ident; $($pointer:ty),*) => {$(
        impl<S: $trait + ?Sized> $trait for $pointer {
            #[inline]
            fn $method(&self, sink: &mut TensorSink) {
                (**self).$method(sink);
            }
        }
    )*};
}

around!(Elements, describe_elements, Block);
around!(Slices, describe_slices,);

//! Slices in generic functions: their element type is known by a bound, or only by its name.

use super::containers::Dims;
use super::{Element, TensorSink};
use crate::{DType, Device};
use std::any::type_name;

/// A slice of an [`Element`], or a container of one, as in `fn f<T: Element>(x: &[T])`.
pub trait Elements {
    fn describe_elements(&self, sink: &mut TensorSink);
}

/// An item of a slice: an element, or an array of elements.
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

/// A slice of any type, or a container of one, as in `fn f<T>(x: &[T])`.
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

/// The dtype for the name of a type. A trait would need a bound that the function does not have.
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
    };
}

around!(Elements, describe_elements, Block);
around!(Slices, describe_slices,);

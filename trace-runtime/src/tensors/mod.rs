//! What the tensors of other libraries say of themselves: one file and one feature per library.
//!
//! | feature | types that are recorded |
//! |---|---|
//! | `ndarray` | `ArrayBase` of every storage, `ArrayRef`, `RawRef` and `LayoutRef`, of any dimension |
//! | `candle` | `Tensor`, `Var`, `quantized::QTensor` |
//! | `burn` | `Tensor<D, K>` of every kind, on any backend |
//! | `nalgebra` | `Matrix` of every storage, and so vectors and views |
//! | `faer` | `Mat`, `MatRef`, `MatMut`, and the same for `Col` and `Row` |
//! | `half` | `f16` and `bf16` as elements |
//! | `num-complex` | `Complex<f32>` and `Complex<f64>` as elements |
//!
//! Slices, arrays and vectors of [elements](crate::Element) need no feature. Reading a tensor takes
//! a reference, copies its dims and allocates nothing.
//!
//! # A tensor of another library
//!
//! A type of your own gets one method, and is then recorded wherever it is passed or returned:
//!
//! ```
//! use trace_runtime::{DType, Device, TensorLike, TensorSink};
//!
//! struct Volume { depth: usize, height: usize, width: usize, voxels: Vec<f32> }
//!
//! impl TensorLike for Volume {
//!     fn describe(&self, sink: &mut TensorSink) {
//!         sink.tensor(&[self.depth, self.height, self.width], DType::F32, Device::Cpu);
//!     }
//! }
//! ```
//!
//! A type that *holds* tensors derives it: `#[derive(TensorLike)]`. A type of a crate that is not
//! yours goes into a newtype, because only the crate that owns the trait or the type may join the two.

/// An element of slices, arrays and vectors; by itself it is a number and no tensor.
#[cfg(any(feature = "half", feature = "num-complex"))]
macro_rules! element {
    ($element:ty => $dtype:ident) => {
        impl $crate::Element for $element {
            const DTYPE: $crate::DType = $crate::DType::$dtype;
        }

        impl $crate::TensorLike for $element {
            #[inline]
            fn describe(&self, _: &mut $crate::TensorSink) {}

            #[inline]
            fn __element(_: &mut $crate::record::Dims) -> Option<$crate::DType> {
                Some($crate::DType::$dtype)
            }
        }
    };
}

#[cfg(feature = "burn")]
mod burn;
#[cfg(feature = "candle")]
mod candle;
#[cfg(any(feature = "ndarray", feature = "nalgebra", feature = "faer"))]
mod element_name;
#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "half")]
mod half;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "num-complex")]
mod num_complex;

//! Tensors of other libraries: one feature per library.
//!
//! | feature | library | types that are recorded |
//! |---|---|---|
//! | `ndarray` | ndarray 0.17 | `ArrayBase` of every storage, `ArrayRef`, `RawRef` and `LayoutRef`, of any dimension |
//! | `ndarray-0_16` | ndarray 0.16 | `ArrayBase` of every storage and dimension |
//! | `candle` | candle-core 0.11 | `Tensor`, `Var`, `quantized::QTensor` |
//! | `burn` | burn-tensor 0.22 | `Tensor<D, K>` of every kind, on any backend |
//! | `nalgebra` | nalgebra 0.35 | `Matrix` of every storage, and so vectors and views |
//! | `faer` | faer 0.24 | `Mat`, `MatRef`, `MatMut`, and the same for `Col` and `Row` |
//! | `half` | half 2 | `f16` and `bf16` as elements |
//! | `num-complex` | num-complex 0.4 | `Complex<f32>` and `Complex<f64>` as elements |
//!
//! A plain feature name is the newest supported version of a library; an older one has its version in the name.
//! Several may be on at once. Another version of a library has other types, which are not recorded: the code
//! compiles, and its ops have no shapes.
//!
//! Slices, arrays and vectors of [elements](crate::Element) need no feature. Reading a tensor takes a reference, copies
//! its dims and allocates nothing, with one exception: burn itself allocates to return more than five dims, or the
//! device of a tensor that tracks gradients.
//!
//! # Your own tensor
//!
//! Implement one method, and the tensor is recorded wherever it is passed or returned:
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
//! A type that *holds* tensors [derives](derive@crate::TensorLike) it.
//!
//! # A tensor of another library
//!
//! Rust allows an impl only in the crate of the trait or of the type, so a type of a library without a feature here
//! gets a wrapper that borrows it, for `inputs` and `output` of the attribute. Signatures do not change:
//!
//! ```
//! # mod foreign {
//! #     pub struct Blob { pub dims: Vec<usize> }
//! # }
//! use foreign::Blob;
//! use trace_runtime::{DType, Device, TensorLike, TensorSink, record, traced_op};
//!
//! struct Seen<'a>(&'a Blob);
//!
//! impl TensorLike for Seen<'_> {
//!     fn describe(&self, sink: &mut TensorSink) {
//!         sink.tensor(&self.0.dims, DType::F32, Device::Cpu);
//!     }
//! }
//!
//! #[traced_op(inputs(Seen(x)), output(Seen(result)))]
//! fn halve(x: &Blob) -> Blob {
//!     Blob { dims: x.dims.iter().map(|dim| dim / 2).collect() }
//! }
//!
//! let (_, trace) = record(|| halve(&Blob { dims: vec![8, 4] }));
//! # #[cfg(feature = "enabled")] {
//! assert_eq!(trace.entries[0].input_shapes, [[8, 4]]);
//! assert_eq!(trace.entries[0].output_shape, [4, 2]);
//! # }
//! ```

/// Implements the traits for an element type of slices, arrays and vectors. A single value is a number, not a tensor.
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
            fn __can_panic(&self) -> bool {
                false
            }

            #[inline]
            fn __element(_: &mut $crate::containers::Dims) -> Option<$crate::DType> {
                Some($crate::DType::$dtype)
            }
        }
    };
}

#[cfg(feature = "burn")]
mod burn;
#[cfg(feature = "candle")]
mod candle;
#[cfg(any(
    feature = "ndarray",
    feature = "ndarray-0_16",
    feature = "nalgebra",
    feature = "faer"
))]
mod element_name;
#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "half")]
mod half;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "ndarray-0_16")]
mod ndarray_0_16;
#[cfg(feature = "num-complex")]
mod num_complex;

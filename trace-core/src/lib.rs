//! The small crate that tensor libraries depend on to be traced: the attribute, the trait that describes tensors, and
//! the hot path of the recorder. It does not read, analyze or write traces.
//!
//! | you write | depend on |
//! |---|---|
//! | a library: kernels, layers, a tensor type | `trace-core`, with `default-features = false` |
//! | an application that records | `trace-runtime`, which re-exports everything here |
//!
//! Both may annotate functions; their ops are in one trace, with parents across the two crates. The application
//! decides whether recording is compiled in: it turns on `trace-runtime`'s default feature `enabled`, which turns on
//! this crate's.
//!
//! ```
//! use trace_core::traced_op;
//!
//! #[traced_op]
//! pub fn scale(x: &[f32], by: f32) -> Vec<f32> {
//!     x.iter().map(|x| x * by).collect()
//! }
//! # let (_, trace) = trace_runtime::record(|| scale(&[1.0, 2.0], 2.0));
//! # #[cfg(feature = "enabled")]
//! # assert_eq!(trace.entries[0].output_shape, [2]);
//! ```
//!
//! # Features
//!
//! `enabled` (default) makes the attribute record; without it functions are left as written, and the recorder is not
//! compiled. `ndarray`, `candle`, `burn`, `nalgebra`, `faer`, `half` and `num-complex` implement [`TensorLike`] and
//! [`Element`] for the types of those libraries: see [`tensors`]. `serde` implements its traits for [`DType`],
//! [`OpKind`] and [`Outcome`]. `alloc` adds `TracedAlloc`, which
//! charges heap memory to ops. `engine` is for `trace-runtime`.

mod containers;
mod describe;
mod device;
mod dtype;
mod element;
mod flow;
mod futures;
mod kind;
mod library;
mod op_macro;
mod pointers;
mod probe;
mod site_name;
mod slices;
mod tensor_like;
pub mod tensors;
#[cfg(feature = "alloc")]
mod traced_alloc;

#[cfg(feature = "engine")]
mod engine;
#[cfg(not(feature = "engine"))]
#[path = "off.rs"]
mod engine;

pub use device::{Device, DeviceName};
pub use dtype::DType;
pub use element::Element;
/// Functions that report allocations and frees of device memory, so that the report shows the live memory and the ops
/// that held it.
pub mod memory {
    pub use crate::engine::memory::{allocated, freed};
}

pub use engine::{OpHandle, TensorSink, current_op, in_op, label_scope};
pub use kind::{OpKind, Outcome, PauseKind};
pub use tensor_like::TensorLike;
/// Implements [`TensorLike`](trait@TensorLike) for a struct or an enum that holds tensors: its fields describe theirs,
/// in order. Fields that are not tensors are skipped.
///
/// A field whose type contains a type parameter is assumed to be a tensor, and its type gets the bound `TensorLike`;
/// `#[tensor_like(skip)]` leaves a field out. `#[tensor_like(crate = path)]` on the type names this crate if it is
/// not a direct dependency called `trace_core`.
///
/// ```
/// use trace_core::TensorLike;
///
/// #[derive(TensorLike)]
/// struct Layer { weight: Vec<[f32; 4]>, bias: Option<Vec<f32>>, name: String }
/// ```
pub use trace_macros::TensorLikeCore as TensorLike;
/// Records every execution of a function: its name, the shape, dtype and device of each input and output tensor, when
/// it ran, inside which other op, and how it ended.
///
/// ```
/// use trace_core::traced_op;
///
/// #[traced_op]
/// fn matvec(rows: &[[f32; 3]], x: &[f32; 3]) -> Vec<f32> {
///     rows.iter().map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
/// }
///
/// #[traced_op(kind = communication, skip(scratch), bytes = 4 * x.len())]
/// fn all_reduce(x: &mut [f32], scratch: &mut [f32]) { /* … */ }
/// ```
///
/// The options are `name`, `kind`, `device`, `label`, `skip`, `inputs`, `output`, `flops`, `bytes`, `meta`,
/// `group`, `peer`, `tag`, `sync` and `crate`; the documentation of `trace_runtime::traced_op` explains each. Expanded
/// code names `::trace_core`; `crate = path` names this crate if it is not a direct dependency of that name.
pub use trace_macros::traced_op_core as traced_op;
#[cfg(feature = "alloc")]
pub use traced_alloc::TracedAlloc;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

/// The recorder, for trace-runtime only. It changes without notice; trace-runtime pins the exact version of this crate.
#[cfg(feature = "engine")]
#[doc(hidden)]
pub mod __engine {
    #[cfg(feature = "alloc")]
    pub use crate::engine::heap;
    pub use crate::engine::memory;
    pub use crate::engine::{
        DEFAULT_LIMIT, block, chunk, clock, extra_words, failures, filter, interner, log, overhead,
        recorder, rows, signature, signatures, state, storage, ticks,
    };
}

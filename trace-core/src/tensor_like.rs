//! The trait of tensors and of types that contain tensors.

use crate::containers::Dims;
use crate::{DType, TensorSink};

/// A tensor, or something that holds tensors.
///
/// A tensor passes its dims, dtype and device to the sink; a container lets its parts describe
/// themselves; other types do nothing. Implement it for your own tensor type, and use
/// `#[derive(TensorLike)]` for structs and enums that hold tensors.
///
/// ```
/// use trace_runtime::{DType, Device, TensorLike, TensorSink};
///
/// struct Image { width: usize, height: usize, pixels: Vec<[u8; 3]> }
///
/// impl TensorLike for Image {
///     fn describe(&self, sink: &mut TensorSink) {
///         sink.tensor(&[self.height, self.width, 3], DType::U8, Device::Cpu);
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not describe the tensors that it holds",
    label = "not a `TensorLike`",
    note = "implement `TensorLike` for it (one method), or derive it if it holds tensors: \
            `#[derive(trace_runtime::TensorLike)]`"
)]
pub trait TensorLike {
    /// Describes every tensor in `self`, in order. Called only while recording; keep it cheap: read
    /// dims, never data.
    ///
    /// A panic in it does not reach the function: the op is recorded with the tensors that were described before the
    /// panic, and the report has a note with the message.
    fn describe(&self, sink: &mut TensorSink);

    /// True if `describe` runs user code, whose panics are caught. Known at compile time for most types:
    /// catching costs about twenty instructions.
    #[doc(hidden)]
    #[inline]
    fn __can_panic(&self) -> bool {
        true
    }

    /// For a type whose slices are one tensor, its dtype. Pushes the dims of the type itself after those of the slice.
    #[doc(hidden)]
    #[inline]
    fn __element(_dims: &mut Dims) -> Option<DType>
    where
        Self: Sized,
    {
        None
    }
}

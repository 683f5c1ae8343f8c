//! The element types whose slices and arrays are tensors.

use crate::DType;

/// The element type of a tensor.
///
/// Slices, vectors and arrays of it are tensors, and so are the matrices of the libraries that trace-runtime knows.
/// `usize` and `isize` are not elements: a `&[usize]` usually has dims or indices into a tensor, not its data.
///
/// ```
/// use trace_runtime::{DType, Element};
///
/// #[derive(Clone, Copy)]
/// struct Fixed16(i16);
///
/// impl Element for Fixed16 {
///     const DTYPE: DType = DType::I16;
/// }
/// assert_eq!(Fixed16::DTYPE.bytes(4), 8);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known as an element of tensors",
    label = "not an `Element`",
    note = "implement `Element` for it (one constant, its `DType`); `f16`, `bf16` and complex \
            numbers need the feature `half` or `num-complex` of trace-runtime"
)]
pub trait Element {
    /// The dtype of a tensor of such elements.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($element:ty => $dtype:ident,)*) => {
        $(impl Element for $element {
            const DTYPE: DType = DType::$dtype;
        })*
    };
}

elements! {
    bool => Bool,
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    u128 => U128,
    i8 => I8,
    i16 => I16,
    i32 => I32,
    i64 => I64,
    i128 => I128,
    f32 => F32,
    f64 => F64,
}

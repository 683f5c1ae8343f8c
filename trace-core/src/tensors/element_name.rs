//! The element type of a generic tensor that has no bound `Element`.

use crate::DType;
use crate::slices;
use std::any::type_name;

/// The element type `T`, recognised by its name; `Unknown` for any other.
///
/// A bound `T: Element` would be exact, but generic numeric code does not have it (`fn norm<A: NdFloat>(x:
/// &Array2<A>)`), so its tensors would not be recorded. Names need no bound.
#[inline]
pub(super) fn dtype_of<T>() -> DType {
    match type_name::<T>() {
        // In a slice, these types are dims; in an array of a library they are data.
        "usize" if usize::BITS == 32 => DType::U32,
        "usize" => DType::U64,
        "isize" if usize::BITS == 32 => DType::I32,
        "isize" => DType::I64,
        name => slices::dtype_of(name).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::dtype_of;
    use crate::DType;
    use crate::Element;

    fn agrees<T: Element>() -> bool {
        dtype_of::<T>() == T::DTYPE
    }

    #[test]
    fn a_name_and_the_element_trait_give_the_same_type() {
        assert!(agrees::<bool>() && agrees::<f32>() && agrees::<f64>());
        assert!(agrees::<u8>() && agrees::<u16>() && agrees::<u32>() && agrees::<u64>());
        assert!(agrees::<i8>() && agrees::<i16>() && agrees::<i32>() && agrees::<i64>());
        assert!(agrees::<u128>() && agrees::<i128>());
    }

    #[cfg(feature = "half")]
    #[test]
    fn half_floats_are_known_by_name() {
        assert!(agrees::<half::f16>() && agrees::<half::bf16>());
    }

    #[cfg(feature = "num-complex")]
    #[test]
    fn complex_numbers_are_known_by_name() {
        use num_complex::Complex;
        assert!(agrees::<Complex<f32>>() && agrees::<Complex<f64>>());
    }

    #[test]
    fn a_type_with_a_familiar_last_name_is_not_mistaken_for_it() {
        #[expect(non_camel_case_types, reason = "that is the trap")]
        struct f32;
        assert_eq!(dtype_of::<f32>(), DType::Unknown);
        assert_eq!(dtype_of::<&[u8]>(), DType::Unknown);
    }
}

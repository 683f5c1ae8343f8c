//! The element types a tensor can have.

use std::fmt;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $bits:literal;)*) => {
        /// The element type of a tensor.
        ///
        /// Prints, and is written to JSON, as its short name: `f32`, `bf16`, `i64`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum DType {
            /// The element type is not known; an element counts as 8 bytes.
            #[default]
            Unknown = 0,
            $($(#[$doc])* $variant,)*
        }

        impl DType {
            const ALL: &[DType] = &[DType::Unknown, $(DType::$variant,)*];

            /// The short name, as printed and written to JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    DType::Unknown => "unknown",
                    $(DType::$variant => $name,)*
                }
            }

            /// The size of one element in bits; 64 if the type is unknown.
            pub const fn bits(self) -> usize {
                match self {
                    DType::Unknown => 64,
                    $(DType::$variant => $bits,)*
                }
            }
        }
    };
}

dtypes! {
    /// One byte, true or false.
    Bool = "bool", 8;
    /// Unsigned 8-bit integer.
    U8 = "u8", 8;
    /// Unsigned 16-bit integer.
    U16 = "u16", 16;
    /// Unsigned 32-bit integer.
    U32 = "u32", 32;
    /// Unsigned 64-bit integer.
    U64 = "u64", 64;
    /// Unsigned 128-bit integer.
    U128 = "u128", 128;
    /// Signed 8-bit integer.
    I8 = "i8", 8;
    /// Signed 16-bit integer.
    I16 = "i16", 16;
    /// Signed 32-bit integer.
    I32 = "i32", 32;
    /// Signed 64-bit integer.
    I64 = "i64", 64;
    /// Signed 128-bit integer.
    I128 = "i128", 128;
    /// IEEE half precision.
    F16 = "f16", 16;
    /// Brain float: the upper half of an `f32`.
    BF16 = "bf16", 16;
    /// IEEE single precision.
    F32 = "f32", 32;
    /// IEEE double precision.
    F64 = "f64", 64;
    /// 8-bit float, 4 exponent and 3 mantissa bits.
    F8E4M3 = "f8e4m3", 8;
    /// 8-bit float, 5 exponent and 2 mantissa bits.
    F8E5M2 = "f8e5m2", 8;
    /// 8-bit scale factor, exponent only.
    F8E8M0 = "f8e8m0", 8;
    /// 6-bit float, 2 exponent and 3 mantissa bits.
    F6E2M3 = "f6e2m3", 6;
    /// 6-bit float, 3 exponent and 2 mantissa bits.
    F6E3M2 = "f6e3m2", 6;
    /// 4-bit float.
    F4 = "f4", 4;
    /// Signed 4-bit integer.
    I4 = "i4", 4;
    /// Unsigned 4-bit integer.
    U4 = "u4", 4;
    /// Signed 2-bit integer.
    I2 = "i2", 2;
    /// Complex number of two `f32`.
    C64 = "c64", 64;
    /// Complex number of two `f64`.
    C128 = "c128", 128;
    /// Elements packed by a quantisation scheme; counted as one byte each.
    Quantized = "quantized", 8;
}

impl DType {
    /// The type with this short name, if there is one.
    pub fn from_name(name: &str) -> Option<DType> {
        Self::ALL.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// Bytes that `elements` of this type take, rounded up to whole bytes, saturating.
    pub const fn bytes(self, elements: usize) -> usize {
        match elements.checked_mul(self.bits()) {
            Some(bits) => bits.div_ceil(8),
            None => elements.saturating_mul(self.bits().div_ceil(8)),
        }
    }

    #[cfg(feature = "engine")]
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    #[cfg(feature = "engine")]
    pub(crate) fn from_code(code: u8) -> DType {
        Self::ALL
            .get(usize::from(code))
            .copied()
            .unwrap_or_default()
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(feature = "serde")]
mod by_name {
    use super::DType;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl Serialize for DType {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(self.name())
        }
    }

    /// A name from a newer version is read as [`DType::Unknown`], so that one dtype does not make a trace unreadable.
    impl<'de> Deserialize<'de> for DType {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
            Ok(DType::from_name(&name).unwrap_or_default())
        }
    }
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_lead_back_to_their_type() {
        for &dtype in DType::ALL {
            assert_eq!(DType::from_code(dtype.code()), dtype);
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        }
        assert_eq!(DType::from_code(255), DType::Unknown);
    }

    #[test]
    fn sub_byte_types_round_up_and_huge_counts_saturate() {
        assert_eq!(DType::F4.bytes(3), 2);
        assert_eq!(DType::F32.bytes(3), 12);
        assert_eq!(DType::Unknown.bytes(3), 24);
        assert_eq!(DType::F64.bytes(usize::MAX), usize::MAX);
    }
}

//! The element types of an entry's tensors.

use super::DType;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Element types, one for each tensor of an entry: a vector that needs no allocation if it is short.
///
/// ```
/// use trace_runtime::{DType, model::DTypes};
///
/// let mut dtypes = DTypes::from([DType::F32, DType::BF16]);
/// dtypes.push(DType::I64);
/// assert_eq!(dtypes, [DType::F32, DType::BF16, DType::I64]);
/// assert_eq!(dtypes.first(), Some(&DType::F32));
/// ```
#[derive(Clone)]
pub struct DTypes(Held);

/// Most entries have one to three tensors, so a short list is stored without an allocation, which would be most of the
/// cost of an entry.
#[derive(Clone)]
enum Held {
    Few(u8, [DType; FEW]),
    #[allow(
        clippy::box_collection,
        reason = "a third of the size, for all that are few"
    )]
    Many(Box<Vec<DType>>),
}

const FEW: usize = 14;

impl DTypes {
    /// An empty list.
    pub const fn new() -> DTypes {
        DTypes(Held::Few(0, [DType::Unknown; FEW]))
    }

    /// Appends an element type.
    pub fn push(&mut self, dtype: DType) {
        match &mut self.0 {
            Held::Few(len, few) => {
                if let Some(next) = few.get_mut(usize::from(*len)) {
                    *next = dtype;
                    *len += 1;
                } else {
                    let mut many = few.to_vec();
                    many.push(dtype);
                    self.0 = Held::Many(Box::new(many));
                }
            }
            Held::Many(many) => many.push(dtype),
        }
    }
}

impl Deref for DTypes {
    type Target = [DType];

    fn deref(&self) -> &[DType] {
        match &self.0 {
            Held::Few(len, few) => &few[..usize::from(*len)],
            Held::Many(many) => many,
        }
    }
}

impl DerefMut for DTypes {
    fn deref_mut(&mut self) -> &mut [DType] {
        match &mut self.0 {
            Held::Few(len, few) => &mut few[..usize::from(*len)],
            Held::Many(many) => many,
        }
    }
}

impl Default for DTypes {
    fn default() -> Self {
        DTypes::new()
    }
}

impl fmt::Debug for DTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Extend<DType> for DTypes {
    fn extend<I: IntoIterator<Item = DType>>(&mut self, dtypes: I) {
        dtypes.into_iter().for_each(|dtype| self.push(dtype));
    }
}

impl FromIterator<DType> for DTypes {
    fn from_iter<I: IntoIterator<Item = DType>>(dtypes: I) -> Self {
        let mut collected = DTypes::new();
        collected.extend(dtypes);
        collected
    }
}

impl<const N: usize> From<[DType; N]> for DTypes {
    fn from(dtypes: [DType; N]) -> Self {
        dtypes.into_iter().collect()
    }
}

impl From<Vec<DType>> for DTypes {
    fn from(dtypes: Vec<DType>) -> Self {
        dtypes.into_iter().collect()
    }
}

impl<'a> IntoIterator for &'a DTypes {
    type Item = &'a DType;
    type IntoIter = std::slice::Iter<'a, DType>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for DTypes {
    fn eq(&self, other: &DTypes) -> bool {
        self[..] == other[..]
    }
}

impl Eq for DTypes {}

macro_rules! equal_to {
    ($($(#[$generics:ident])? $type:ty),*) => {$(
        impl $(<const $generics: usize>)? PartialEq<$type> for DTypes {
            fn eq(&self, other: &$type) -> bool {
                self[..] == other[..]
            }
        }
    )*};
}

equal_to!(
    #[N]
    [DType; N],
    [DType],
    Vec<DType>
);

impl Serialize for DTypes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for DTypes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(DTypes::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lists_behave_the_same() {
        let mut dtypes = DTypes::new();
        let mut expected = Vec::new();
        for index in 0..3 * FEW {
            assert_eq!(dtypes, expected);
            assert_eq!(dtypes.clone(), DTypes::from(expected.clone()));
            let dtype = [DType::F32, DType::BF16, DType::U8][index % 3];
            dtypes.push(dtype);
            expected.push(dtype);
        }
        dtypes[FEW] = DType::Bool;
        assert_ne!(dtypes, expected);
        assert_eq!(size_of::<DTypes>(), 16);
    }
}

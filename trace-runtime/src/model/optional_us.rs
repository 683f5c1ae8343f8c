//! An optional time in eight bytes.

use super::json_struct::OnWire;
use serde::{Deserializer, Serializer};
use std::fmt;

/// An optional time in microseconds. It has half the size of an `Option<f64>`, and converts to and compares with one.
///
/// ```
/// use trace_runtime::model::OptionalUs;
///
/// let start = OptionalUs::from(Some(2.5));
/// assert_eq!(start.get(), Some(2.5));
/// assert_eq!(OptionalUs::default(), None);
/// ```
// `None` is one particular NaN, which no arithmetic returns. If a time is another NaN, it becomes the usual NaN.
#[derive(Clone, Copy)]
pub struct OptionalUs(f64);

const NOTHING: u64 = 0x7ff8_6e6f_7468_696e;

impl OptionalUs {
    /// The time; `None` if it is not known.
    #[inline]
    pub fn get(self) -> Option<f64> {
        (self.0.to_bits() != NOTHING).then_some(self.0)
    }
}

impl From<Option<f64>> for OptionalUs {
    #[inline]
    fn from(us: Option<f64>) -> Self {
        match us {
            None => OptionalUs(f64::from_bits(NOTHING)),
            Some(us) if us.is_nan() => OptionalUs(f64::NAN),
            Some(us) => OptionalUs(us),
        }
    }
}

impl Default for OptionalUs {
    fn default() -> Self {
        OptionalUs::from(None)
    }
}

impl PartialEq for OptionalUs {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl PartialEq<Option<f64>> for OptionalUs {
    fn eq(&self, other: &Option<f64>) -> bool {
        self.get() == *other
    }
}

impl fmt::Debug for OptionalUs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl OnWire for OptionalUs {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().write(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::read(deserializer).map(OptionalUs::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_kept_and_none_is_different_from_all() {
        for start in [0.0, -7.5, 1e300, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(OptionalUs::from(Some(start)).get(), Some(start));
        }
        for nan in [f64::NAN, -f64::NAN, f64::from_bits(NOTHING)] {
            assert!(OptionalUs::from(Some(nan)).get().is_some_and(f64::is_nan));
        }
        assert_eq!(OptionalUs::from(None).get(), None);
        assert_eq!(size_of::<OptionalUs>(), 8);
    }
}

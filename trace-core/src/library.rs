//! Tensor libraries whose types are recognised by name, so that a trace can report tensors that were not recorded.

/// A tensor library that has a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
#[cfg_attr(
    not(feature = "engine"),
    allow(unreachable_pub, reason = "trace-runtime reads it from signatures")
)]
pub enum Library {
    Ndarray = 1,
    Candle = 2,
    Burn = 3,
    Nalgebra = 4,
    Faer = 5,
}

impl Library {
    /// The library that a type belongs to, if it is a tensor or contains tensors directly. `name` is the result of
    /// [`type_name`](std::any::type_name), which is a constant, so an optimised build has none of this code.
    #[inline]
    pub(crate) fn of(name: &str) -> Option<Library> {
        let name = without(name, "&");
        let name = without(name, "mut ");
        let name = without(name, "alloc::vec::Vec<");
        let name = without(name, "core::option::Option<");
        let name = without(name, "[");
        let name = without(name, "&");
        if name.starts_with("ndarray::Array") {
            Some(Library::Ndarray)
        } else if name.starts_with("candle_core::tensor::Tensor") {
            Some(Library::Candle)
        } else if name.starts_with("burn_tensor::tensor::api::base::Tensor") {
            Some(Library::Burn)
        } else if name.starts_with("nalgebra::base::matrix::Matrix") {
            Some(Library::Nalgebra)
        } else if name.starts_with("faer::mat::")
            || name.starts_with("faer::col::")
            || name.starts_with("faer::row::")
        {
            Some(Library::Faer)
        } else {
            None
        }
    }
}

#[cfg(feature = "engine")]
impl Library {
    const ALL: [Library; 5] = [
        Library::Ndarray,
        Library::Candle,
        Library::Burn,
        Library::Nalgebra,
        Library::Faer,
    ];

    pub(crate) fn from_code(code: u16) -> Option<Library> {
        Library::ALL
            .into_iter()
            .find(|library| *library as u16 == code)
    }

    /// The name of its feature.
    pub fn name(self) -> &'static str {
        match self {
            Library::Ndarray => "ndarray",
            Library::Candle => "candle",
            Library::Burn => "burn",
            Library::Nalgebra => "nalgebra",
            Library::Faer => "faer",
        }
    }
}

#[inline]
fn without<'a>(name: &'a str, prefix: &str) -> &'a str {
    name.strip_prefix(prefix).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::Library;

    #[test]
    fn tensors_are_recognised_through_references_and_lists() {
        let array = "ndarray::ArrayBase<ndarray::data_repr::OwnedRepr<f32>, …>";
        for name in [
            array.to_owned(),
            format!("&{array}"),
            format!("&mut {array}"),
            format!("&alloc::vec::Vec<{array}>"),
            format!("core::option::Option<&{array}>"),
            format!("&[{array}]"),
        ] {
            assert_eq!(Library::of(&name), Some(Library::Ndarray), "{name}");
        }
        assert_eq!(Library::of("&candle_core::device::Device"), None);
        assert_eq!(Library::of("my_crate::ndarray::ArrayBase"), None);
        assert_eq!(Library::of("f32"), None);
    }

    #[cfg(feature = "engine")]
    #[test]
    fn codes_are_distinct() {
        for library in Library::ALL {
            assert_eq!(Library::from_code(library as u16), Some(library));
        }
        assert_eq!(Library::from_code(0), None);
    }
}

//! The name and the source location of an annotated function or block, as expanded code passes them.
//!
//! Everything here is a constant of the program: an op passes it at no cost, and its address identifies the op. The
//! texts are parsed when a thread first records the op.

/// The last segment of the path of an item inside a method. A macro on a method does not know the method's type, but
/// the compiler does.
const HERE: &str = "::__Here";

/// The name of a site, in one of four forms:
///
/// | form | for |
/// |---|---|
/// | `"matmul\0net::nn\0src/nn.rs:12"` | a literal name: name, module and location in one text |
/// | `&Method(type_name::<__Here>, "net::nn\0src/nn.rs:12")` | a method whose type only the compiler knows |
/// | `const { &Named(NAME, "net::nn\0src/nn.rs:12") }` | a name that is a constant |
/// | `(name, "net::nn\0src/nn.rs:12")` | a name that may be known only at run time |
#[diagnostic::on_unimplemented(
    message = "the name of an op must be a `&'static str`",
    label = "`name`, or the first argument of `op!`, has another type"
)]
pub trait SiteName: Copy {
    /// Distinguishes this site from all others. Copies of one site may have different identities.
    #[doc(hidden)]
    fn identity(self) -> Identity;

    /// The texts of the site.
    #[doc(hidden)]
    fn texts(self) -> Texts;
}

/// A method: the path of an item in it, and its module and location.
#[derive(Debug)]
pub struct Method(pub fn() -> &'static str, pub &'static str);

/// A name that is a constant, and the module and location of the site.
#[derive(Debug)]
pub struct Named(pub &'static str, pub &'static str);

/// The address of a constant, with more facts if several sites may share the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub(crate) address: usize,
    pub(crate) len: usize,
    /// Address of module and location if several sites may share the name; else 0.
    pub(crate) origin: usize,
}

/// The name, module and location of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Texts {
    pub(crate) name: &'static str,
    /// The name is the path of an item in a method.
    pub(crate) is_path: bool,
    /// Empty if it is not known.
    pub(crate) module: &'static str,
    /// File and line; empty if they are not known.
    pub(crate) location: &'static str,
}

impl SiteName for &'static str {
    #[inline]
    fn identity(self) -> Identity {
        Identity {
            address: self.as_ptr().addr(),
            len: self.len(),
            origin: 0,
        }
    }

    fn texts(self) -> Texts {
        // Split from the end, because the name may contain the separator.
        let mut parts = self.rsplitn(3, '\0');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(location), Some(module), Some(name)) => Texts {
                name,
                is_path: false,
                module,
                location,
            },
            _ => Texts {
                name: self,
                is_path: false,
                module: "",
                location: "",
            },
        }
    }
}

impl SiteName for &'static Method {
    #[inline]
    fn identity(self) -> Identity {
        of_constant(self)
    }

    fn texts(self) -> Texts {
        let Method(path, origin) = self;
        let path = path();
        let name = path.strip_suffix(HERE);
        with_origin(name.unwrap_or(path), name.is_some(), origin)
    }
}

impl SiteName for &'static Named {
    #[inline]
    fn identity(self) -> Identity {
        of_constant(self)
    }

    fn texts(self) -> Texts {
        with_origin(self.0, false, self.1)
    }
}

#[inline]
fn of_constant<T>(constant: &'static T) -> Identity {
    /// Used in place of the length of a name. No literal has this length.
    const NOT_A_TEXT: usize = 1 << 31;
    Identity {
        // The lowest bits of all addresses are 0, and would be useless in a hash table.
        address: std::ptr::from_ref(constant).addr() / align_of::<T>(),
        len: NOT_A_TEXT,
        origin: 0,
    }
}

impl SiteName for (&'static str, &'static str) {
    #[inline]
    fn identity(self) -> Identity {
        let (name, origin) = self;
        Identity {
            origin: origin.as_ptr().addr(),
            ..name.identity()
        }
    }

    fn texts(self) -> Texts {
        with_origin(self.0, false, self.1)
    }
}

fn with_origin(name: &'static str, is_path: bool, origin: &'static str) -> Texts {
    let (module, location) = origin.split_once('\0').unwrap_or(("", origin));
    Texts {
        name,
        is_path,
        module,
        location,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(name: impl SiteName) -> (&'static str, bool, &'static str, &'static str) {
        let Texts {
            name,
            is_path,
            module,
            location,
        } = name.texts();
        (name, is_path, module, location)
    }

    #[test]
    fn each_form_has_name_module_and_location() {
        const METHOD: &Method = &Method(|| "net::Linear::forward::__Here", "net\0src/nn.rs:1");
        let known = ("matmul", false, "net::nn", "src/nn.rs:12");
        assert_eq!(texts("matmul\0net::nn\0src/nn.rs:12"), known);
        assert_eq!(texts(("matmul", "net::nn\0src/nn.rs:12")), known);
        assert_eq!(
            texts(const { &Named("matmul", "net::nn\0src/nn.rs:12") }),
            known
        );
        let method = ("net::Linear::forward", true, "net", "src/nn.rs:1");
        assert_eq!(texts(METHOD), method);
    }

    #[test]
    fn a_name_may_contain_the_separator_or_come_alone() {
        assert_eq!(texts("a\0b\0m\0f:1"), ("a\0b", false, "m", "f:1"));
        assert_eq!(texts("idle"), ("idle", false, "", ""));
        assert_eq!(texts("matmul\0net\0"), ("matmul", false, "net", ""));
        assert_eq!(texts(("", "\0")), ("", false, "", ""));
    }
}

//! An annotated function, as a static.

use crate::model::OpKind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// An annotated function: its name and kind, and the number it gets when it first records.
#[derive(Debug)]
pub struct Site {
    name: &'static str,
    kind: Option<OpKind>,
    /// Says the path of something inside a method, which names the method's type.
    within: Option<fn() -> &'static str>,
    /// 0 until registered.
    number: AtomicU32,
}

static SITES: Mutex<Vec<(&'static str, Option<OpKind>)>> = Mutex::new(Vec::new());

impl Site {
    /// A site of no stated kind.
    pub const fn new(name: &'static str) -> Site {
        Site {
            name,
            kind: None,
            within: None,
            number: AtomicU32::new(0),
        }
    }

    /// The same site, of this kind.
    #[must_use]
    pub const fn with_kind(self, kind: OpKind) -> Site {
        Site {
            name: self.name,
            kind: Some(kind),
            within: self.within,
            number: AtomicU32::new(0),
        }
    }

    /// The same site in a method, whose type goes in front of its name. `path` is that of an item inside
    /// the site's static: a macro on a method is not told the type, but the compiler knows it.
    #[must_use]
    pub const fn within(self, path: fn() -> &'static str) -> Site {
        Site {
            name: self.name,
            kind: self.kind,
            within: Some(path),
            number: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn number(&'static self) -> u32 {
        match self.number.load(Ordering::Relaxed) {
            0 => self.register(),
            number => number,
        }
    }

    #[cold]
    #[inline(never)]
    fn register(&'static self) -> u32 {
        let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        // Two threads may come here at once; the second finds the first one's number.
        let known = self.number.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        sites.push((self.full_name(), self.kind));
        let number = sites.len() as u32;
        self.number.store(number, Ordering::Relaxed);
        number
    }

    /// The name and kind behind a number.
    pub(crate) fn by_number(number: u32) -> Option<(&'static str, Option<OpKind>)> {
        let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        sites.get(number.checked_sub(1)? as usize).copied()
    }

    /// Made once per site, and kept as long as the static it is the name of.
    fn full_name(&self) -> &'static str {
        match self
            .within
            .and_then(|path| type_of_method(path(), self.name))
        {
            Some(owner) => format!("{owner}::{}", self.name).leak(),
            None => self.name,
        }
    }
}

/// `Linear` for the path `net::nn::Linear<_>::forward::SITE::Here` of something inside `forward`.
fn type_of_method<'a>(path: &'a str, method: &str) -> Option<&'a str> {
    let (path, _here) = path.rsplit_once("::")?;
    let (mut path, _site) = path.rsplit_once("::")?;
    while let Some(outside) = path.strip_suffix("::{{closure}}") {
        path = outside;
    }
    let owner = path.strip_suffix(method)?;
    let owner = owner
        .strip_suffix("r#")
        .unwrap_or(owner)
        .strip_suffix("::")?;
    let ty = if let Some((_, ty)) = owner.rsplit_once("<impl ") {
        ty.strip_suffix('>')?
    } else if let Some(ty) = owner.strip_prefix('<') {
        ty.rsplit_once(" as ")?.0
    } else {
        owner
    };
    let ty = ty
        .trim_start_matches(['&', '('])
        .trim_start_matches("mut ")
        .trim_start_matches("dyn ");
    let ty = ty.split('<').next()?;
    let name = ty.rsplit("::").next()?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::type_of_method;

    #[test]
    fn the_type_is_found_in_every_kind_of_path() {
        let forward = |path| type_of_method(path, "forward");
        assert_eq!(
            forward("net::nn::Linear<_>::forward::SITE::Here"),
            Some("Linear")
        );
        assert_eq!(
            forward("net::nn::Layer::forward::SITE::Here"),
            Some("Layer")
        );
        assert_eq!(
            forward("<net::nn::Linear<_> as net::nn::Layer>::forward::SITE::Here"),
            Some("Linear")
        );
        assert_eq!(
            forward("net::fast::<impl net::nn::Linear<u8>>::forward::SITE::Here"),
            Some("Linear")
        );
        assert_eq!(
            forward("net::nn::Linear<_>::forward::{{closure}}::SITE::Here"),
            Some("Linear")
        );
        assert_eq!(
            forward(
                "<&alloc::vec::Vec<net::nn::Linear<f32>> as net::nn::Layer>::forward::SITE::Here"
            ),
            Some("Vec")
        );
        assert_eq!(
            type_of_method("net::Loss::r#type::SITE::Here", "type"),
            Some("Loss")
        );
    }

    #[test]
    fn a_type_without_a_name_gives_none() {
        assert_eq!(
            type_of_method("<[f32] as net::nn::Layer>::forward::SITE::Here", "forward"),
            None
        );
        assert_eq!(type_of_method("nothing like it", "forward"), None);
    }
}

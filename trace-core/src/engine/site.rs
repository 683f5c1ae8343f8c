//! Annotated functions, and the numbers of their ops on one thread.

use crate::OpKind;
use crate::site_name::{Identity, SiteName};

/// An annotated function, or a block: its name as a constant, and its kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<N> {
    pub(crate) name: N,
    pub(crate) kind: KindCode,
}

/// The op of a site, with its module and location.
#[derive(Debug)]
pub(crate) struct Operation {
    /// `Linear::forward` for a method.
    pub(crate) name: String,
    pub(crate) kind: Option<OpKind>,
    /// Empty if it is not known.
    pub(crate) module: &'static str,
    /// File and line; empty if they are not known.
    pub(crate) location: &'static str,
}

/// [`NO_KIND`], or the index of the kind plus one.
pub(crate) type KindCode = u8;

pub(crate) const NO_KIND: KindCode = 0;

#[inline]
pub(crate) const fn kind_code(kind: OpKind) -> KindCode {
    kind as KindCode + 1
}

impl<N: SiteName> Site<N> {
    pub(crate) fn operation(self) -> Operation {
        let texts = self.name.texts();
        let kind = OpKind::ALL.get(usize::from(self.kind).wrapping_sub(1));
        Operation {
            name: if texts.is_path {
                name_of_method(texts.name)
            } else {
                texts.name.to_owned()
            },
            kind: kind.copied(),
            module: texts.module,
            location: texts.location,
        }
    }

    /// Equal constants may have one address or several.
    #[inline]
    pub(crate) fn key(self) -> SiteKey {
        let Identity {
            address,
            len,
            origin,
        } = self.name.identity();
        let has_origin = if origin == 0 { 0 } else { HAS_ORIGIN };
        SiteKey {
            address,
            len_and_kind: len as u64 | u64::from(self.kind) << KIND_SHIFT | has_origin,
            origin,
        }
    }
}

/// The address of a name, its length and the kind: cheaper to compare than the text. Several sites may have the same
/// name at run time, so the address of their origin is compared too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SiteKey {
    address: usize,
    len_and_kind: u64,
    /// 0 without [`HAS_ORIGIN`].
    origin: usize,
}

impl SiteKey {
    /// The compiler knows whether this key has an origin. If it has none, only two words are compared.
    #[inline]
    fn is(self, known: SiteKey) -> bool {
        known.address == self.address
            && known.len_and_kind == self.len_and_kind
            && (self.origin == 0 || known.origin == self.origin)
    }
}

const KIND_SHIFT: u32 = 56;
const HAS_ORIGIN: u64 = 1 << 62;
/// Set in the key of a site whose op has no signature yet: it is not found at first look.
const HIDDEN: u64 = 1 << 63;

/// The sites that a thread knows: open addressing by the address of their names, at most a quarter full.
#[derive(Debug)]
pub(crate) struct Sites {
    slots: Vec<Slot>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    key: SiteKey,
    op: u32,
}

const EMPTY: Slot = Slot {
    // No literal has this address.
    key: SiteKey {
        address: 0,
        len_and_kind: 0,
        origin: 0,
    },
    op: 0,
};
const FIRST_SLOTS: usize = 16;

impl Sites {
    pub(crate) const fn new() -> Sites {
        Sites {
            slots: Vec::new(),
            len: 0,
        }
    }

    /// The number of the site's op, if it is in the first slot of its key and was [shown](Self::show).
    #[inline]
    pub(crate) fn at_first_look(&self, key: SiteKey) -> Option<u32> {
        let slot = self.slots.get(first_slot(key, self.slots.len()))?;
        key.is(slot.key).then_some(slot.op)
    }

    /// The number of the site's op.
    pub(crate) fn find(&self, key: SiteKey) -> Option<u32> {
        let slot = self.slots.get(self.probe(key)?)?;
        (slot.key.address == key.address).then_some(slot.op)
    }

    /// Adds a site that is not among them. It is hidden.
    pub(crate) fn add(&mut self, key: SiteKey, op: u32) {
        if (self.len + 1) * 4 > self.slots.len() {
            let grown = vec![EMPTY; (self.slots.len() * 2).max(FIRST_SLOTS)];
            for slot in std::mem::replace(&mut self.slots, grown) {
                if slot.key != EMPTY.key {
                    self.place(slot);
                }
            }
        }
        let len_and_kind = key.len_and_kind | HIDDEN;
        let key = SiteKey {
            len_and_kind,
            ..key
        };
        self.place(Slot { key, op });
        self.len += 1;
    }

    /// Lets a site be found at first look.
    pub(crate) fn show(&mut self, key: SiteKey) {
        if let Some(slot) = self.probe(key).and_then(|at| self.slots.get_mut(at)) {
            slot.key = key;
        }
    }

    /// Bytes that one more site may take, in a table that grows.
    pub(crate) const SITE_BYTES: usize = 8 * size_of::<Slot>();

    fn place(&mut self, new: Slot) {
        if let Some(slot) = self.probe(new.key).and_then(|at| self.slots.get_mut(at)) {
            *slot = new;
        }
    }

    /// The slot that has this key, hidden or not, or the empty slot for it.
    fn probe(&self, key: SiteKey) -> Option<usize> {
        let mut at = first_slot(key, self.slots.len());
        // Ends at an empty slot: most of them are.
        loop {
            let known = self.slots.get(at)?.key;
            let is_it = known.address == key.address
                && (known.len_and_kind ^ key.len_and_kind) & !HIDDEN == 0
                && known.origin == key.origin;
            if is_it || known == EMPTY.key {
                return Some(at);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

/// Constants are next to each other in memory, so their addresses are spread well enough.
#[inline]
fn first_slot(key: SiteKey, slots: usize) -> usize {
    (key.address ^ key.origin) & slots.wrapping_sub(1)
}

/// `Linear::forward` for the path `net::nn::Linear<_>::forward`.
fn name_of_method(mut path: &str) -> String {
    while let Some(outside) = path.strip_suffix("::{{closure}}") {
        path = outside;
    }
    let (owner, method) = path.rsplit_once("::").unwrap_or(("", path));
    let method = method.strip_prefix("r#").unwrap_or(method);
    match name_of_type(owner) {
        Some(owner) => format!("{owner}::{method}"),
        None => method.to_owned(),
    }
}

fn name_of_type(owner: &str) -> Option<&str> {
    let ty = if let Some((_, ty)) = owner.rsplit_once("<impl ") {
        ty.strip_suffix('>')?
    } else if let Some(ty) = owner.strip_prefix('<') {
        ty.rsplit_once(" as ")?.0
    } else {
        owner
    };
    let ty = ty
        .trim_start_matches('&')
        .trim_start_matches("mut ")
        .trim_start_matches("(dyn ")
        .trim_start_matches("dyn ");
    let ty = ty.split(['<', ' ', ')']).next()?;
    let name = ty.rsplit("::").next()?;
    // A tuple, an array or a function pointer has no name. The name of one of its parts would be misleading.
    let is_name = ty
        .chars()
        .all(|c| c.is_alphanumeric() || c == '_' || c == ':');
    (is_name && !name.is_empty() && !ty.starts_with("fn(")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_named_with_its_type_in_every_kind_of_path() {
        for path in [
            "net::nn::Linear<_>::forward",
            "net::nn::Linear::forward",
            "<net::nn::Linear<_> as net::nn::Layer>::forward",
            "net::fast::<impl net::nn::Linear<u8>>::forward",
            "net::nn::Linear<_>::forward::{{closure}}",
            "<&net::nn::Linear<f32> as net::nn::Layer>::forward",
        ] {
            assert_eq!(name_of_method(path), "Linear::forward", "{path}");
        }
        assert_eq!(name_of_method("net::Loss::r#type"), "Loss::type");
    }

    #[test]
    fn a_type_without_a_name_is_left_out() {
        assert_eq!(
            name_of_method("<[f32] as net::nn::Layer>::forward"),
            "forward"
        );
        assert_eq!(
            name_of_method("<(f32, alloc::vec::Vec<f32>) as net::Layer>::forward"),
            "forward"
        );
        assert_eq!(
            name_of_method("<(dyn net::Layer + 'static) as net::Run>::forward"),
            "Layer::forward"
        );
        assert_eq!(name_of_method("forward"), "forward");
    }

    #[test]
    fn every_site_is_found_again_also_if_others_share_its_address() {
        // Adjacent literals, as in a program, and a few that begin at one address.
        let text: &'static str = "x".repeat(1 << 15).leak();
        let all: Vec<Site<&'static str>> = (0..text.len() - 8)
            .step_by(8)
            .map(|at| (&text[at..at + 8], 0))
            .chain((1..99).map(|len| (&text[..len], 0)))
            .chain([1, 2, 5].map(|kind| (&text[..8], kind)))
            .map(|(name, kind)| Site { name, kind })
            .collect();
        let mut sites = Sites::new();
        let number = |sites: &mut Sites, site: &Site<&'static str>| {
            let key = site.key();
            sites.find(key).unwrap_or_else(|| {
                let op = sites.len as u32;
                sites.add(key, op);
                assert_eq!(sites.at_first_look(key), None, "it is hidden");
                sites.show(key);
                op
            })
        };
        let first: Vec<u32> = all.iter().map(|site| number(&mut sites, site)).collect();
        let again: Vec<u32> = all.iter().map(|site| number(&mut sites, site)).collect();
        assert_eq!(first, again);
        // The literal of eight bytes at the start of the text is in both lists.
        assert_eq!(sites.len, all.len() - 1);
        let found = all.iter().zip(&first).filter(|(site, number)| {
            let at_first_look = sites.at_first_look(site.key());
            assert!(at_first_look.is_none_or(|found| found == **number));
            at_first_look.is_some()
        });
        assert!(found.count() > all.len() / 2);
    }
}

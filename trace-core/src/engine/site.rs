//! Annotated functions, and the numbers of their ops on one thread.

use super::signatures::{FILTERED, Latest};
use crate::OpKind;
use crate::site_name::{Identity, SiteName};
use std::ptr::NonNull;
use std::sync::Arc;

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

/// The sites that a thread knows: open addressing by the address of their names, at most a quarter full, and less if
/// that lets all be found at first look.
#[derive(Debug)]
pub(crate) struct Sites {
    slots: Vec<Slot>,
    /// The first of the slots, or [`NO_SLOT`].
    first: NonNull<Slot>,
    /// The number of slots minus one; 0 if there are none.
    mask: usize,
    len: usize,
}

#[derive(Debug, Clone)]
struct Slot {
    key: SiteKey,
    /// None if the session's filter leaves the op out.
    latest: Option<Arc<Latest>>,
}

impl Slot {
    #[inline]
    fn op(&self) -> SiteOp<'_> {
        match &self.latest {
            Some(latest) => SiteOp::Recorded(latest),
            None => SiteOp::LeftOut,
        }
    }
}

/// The op of a site on this thread.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SiteOp<'a> {
    Recorded(&'a Latest),
    /// The session's filter leaves it out.
    LeftOut,
}

impl SiteOp<'_> {
    /// The number of the op, or [`FILTERED`].
    #[inline]
    pub(crate) fn number(self) -> u32 {
        match self {
            SiteOp::Recorded(latest) => latest.op(),
            SiteOp::LeftOut => FILTERED,
        }
    }
}

const EMPTY: Slot = Slot {
    // No literal has this address.
    key: SiteKey {
        address: 0,
        len_and_kind: 0,
        origin: 0,
    },
    latest: None,
};
const FIRST_SLOTS: usize = 16;
/// A site that is not found at first look costs as much as four that are, so tables grow for it up to this size.
const MOST_SLOTS_PER_SITE: usize = 16;

/// The slot of a table that has none.
static NO_SLOT: Slot = EMPTY;

impl Sites {
    #[allow(unsafe_code, reason = "see below")]
    pub(crate) const fn new() -> Sites {
        Sites {
            slots: Vec::new(),
            // SAFETY: the address of a static is not null.
            first: unsafe { NonNull::new_unchecked((&raw const NO_SLOT).cast_mut()) },
            mask: 0,
            len: 0,
        }
    }

    /// The op of a site, if it is found at first look and was [shown](Self::show).
    #[inline]
    #[allow(
        unsafe_code,
        reason = "checking the index takes a tenth of the instructions of an op"
    )]
    pub(crate) fn at_first_look(&self, key: SiteKey) -> Option<SiteOp<'_>> {
        // SAFETY: the index is at most the mask, so it is that of one of the slots, or 0 if there are none. `first` is set
        // whenever the vector has been replaced, and its slots are changed only through `&mut self`.
        let slot = unsafe { self.first.add(first_slot(key, self.mask)).as_ref() };
        key.is(slot.key).then(|| slot.op())
    }

    /// The op of a site.
    pub(crate) fn find(&self, key: SiteKey) -> Option<SiteOp<'_>> {
        let slot = self.slots.get(self.probe(key)?)?;
        (slot.key.address == key.address).then(|| slot.op())
    }

    /// Adds a site that is not among them. It is hidden.
    pub(crate) fn add(&mut self, key: SiteKey, latest: Option<Arc<Latest>>) {
        while (self.len + 1) * 4 > self.slots.len() || self.is_taken(key) {
            let mut grown = vec![EMPTY; (self.slots.len() * 2).max(FIRST_SLOTS)];
            self.mask = grown.len() - 1;
            std::mem::swap(&mut self.slots, &mut grown);
            for slot in grown {
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
        self.place(Slot { key, latest });
        self.len += 1;
        self.first = NonNull::from(self.slots.as_slice()).cast();
    }

    /// True if another site has the first slot of this one, and the table may grow so that both are found at first look.
    fn is_taken(&self, key: SiteKey) -> bool {
        let first = self.slots.get(first_slot(key, self.mask));
        let is_other = first.is_some_and(|slot| slot.key != EMPTY.key);
        is_other && (self.len + 1) * MOST_SLOTS_PER_SITE > self.slots.len()
    }

    /// Lets a site be found at first look.
    pub(crate) fn show(&mut self, key: SiteKey) {
        if let Some(slot) = self.probe(key).and_then(|at| self.slots.get_mut(at)) {
            slot.key = key;
            self.first = NonNull::from(self.slots.as_slice()).cast();
        }
    }

    /// Bytes that one more site may take, in a table that grows.
    pub(crate) const SITE_BYTES: usize = 2 * MOST_SLOTS_PER_SITE * size_of::<Slot>();

    fn place(&mut self, new: Slot) {
        if let Some(slot) = self.probe(new.key).and_then(|at| self.slots.get_mut(at)) {
            *slot = new;
        }
    }

    /// The slot that has this key, hidden or not, or the empty slot for it.
    fn probe(&self, key: SiteKey) -> Option<usize> {
        let mut at = first_slot(key, self.mask);
        // Ends at an empty slot: most of them are.
        loop {
            let known = self.slots.get(at)?.key;
            let is_it = known.address == key.address
                && (known.len_and_kind ^ key.len_and_kind) & !HIDDEN == 0
                && known.origin == key.origin;
            if is_it || known == EMPTY.key {
                return Some(at);
            }
            at = (at + 1) & self.mask;
        }
    }
}

// SAFETY: the pointer is to a slot of its own vector, or to a static that is never written.
#[allow(unsafe_code, reason = "see above")]
unsafe impl Send for Sites {}

/// Constants are next to each other in memory, so their addresses are spread well enough.
#[inline]
fn first_slot(key: SiteKey, mask: usize) -> usize {
    (key.address ^ key.origin) & mask
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
            if let Some(known) = sites.find(key) {
                return known.number();
            }
            let op = sites.len as u32;
            sites.add(key, Some(Arc::new(Latest::of(op))));
            assert!(sites.at_first_look(key).is_none(), "it is hidden");
            sites.show(key);
            op
        };
        let first: Vec<u32> = all.iter().map(|site| number(&mut sites, site)).collect();
        let again: Vec<u32> = all.iter().map(|site| number(&mut sites, site)).collect();
        assert_eq!(first, again);
        // The literal of eight bytes at the start of the text is in both lists.
        assert_eq!(sites.len, all.len() - 1);
        let found = all.iter().zip(&first).filter(|(site, number)| {
            let at_first_look = sites.at_first_look(site.key());
            assert!(at_first_look.is_none_or(|found| found.number() == **number));
            at_first_look.is_some()
        });
        assert!(found.count() > all.len() / 2);
    }
}

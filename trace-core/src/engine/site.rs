//! Annotated functions, and the numbers of their ops on one thread.

use crate::OpKind;

/// An annotated function, or a block: its name as a literal, and its kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    pub(crate) name: &'static str,
    pub(crate) kind: KindCode,
}

/// [`NO_KIND`], or one more than the place of the kind among all: compared in one go.
pub(crate) type KindCode = u8;

pub(crate) const NO_KIND: KindCode = 0;

#[inline]
pub(crate) fn kind_code(kind: OpKind) -> KindCode {
    kind as KindCode + 1
}

/// Ends the name of a site whose name is the path of an item in the function. A macro on a method does not
/// know the method's type, but the compiler does.
const HERE: &str = "::__Here";

impl Site {
    /// The name of the op: `Linear::forward` where the name is a path inside of that method.
    pub(crate) fn operation(self) -> (String, Option<OpKind>) {
        let name = match self.name.strip_suffix(HERE) {
            Some(path) => name_of_method(path),
            None => self.name.to_owned(),
        };
        let kind = OpKind::ALL.get(usize::from(self.kind).wrapping_sub(1));
        (name, kind.copied())
    }

    /// Equal literals may have one address or several.
    #[inline]
    fn key(self) -> Key {
        Key {
            address: self.name.as_ptr().addr(),
            len: self.name.len(),
            kind: self.kind,
        }
    }
}

/// The address of a name, and the kind: cheaper to compare than the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    address: usize,
    len: usize,
    kind: KindCode,
}

/// The sites that a thread knows: open addressing by the address of their names, at most a quarter full.
#[derive(Debug)]
pub(crate) struct Sites {
    slots: Vec<Slot>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    key: Key,
    op: u32,
}

const EMPTY: Slot = Slot {
    // No literal has this address.
    key: Key {
        address: 0,
        len: 0,
        kind: NO_KIND,
    },
    op: 0,
};
const FIRST_SLOTS: usize = 256;

impl Sites {
    pub(crate) const fn new() -> Sites {
        Sites {
            slots: Vec::new(),
            len: 0,
        }
    }

    /// The number of the site's op, where it is found at first look. [`find`](Self::find) looks on.
    #[inline]
    pub(crate) fn at_first_look(&self, site: Site) -> Option<u32> {
        let key = site.key();
        let slot = self.slots.get(first_slot(key, self.slots.len()))?;
        (slot.key == key).then_some(slot.op)
    }

    /// The number of the site's op, which `number` gives if the site is new.
    #[cold]
    #[inline(never)]
    pub(crate) fn find(&mut self, site: Site, number: impl FnOnce() -> u32) -> u32 {
        let key = site.key();
        if let Some(slot) = self.probe(key).filter(|slot| slot.key == key) {
            return slot.op;
        }
        let op = number();
        if (self.len + 1) * 4 > self.slots.len() {
            let grown = vec![EMPTY; (self.slots.len() * 2).max(FIRST_SLOTS)];
            for slot in std::mem::replace(&mut self.slots, grown) {
                if slot.key != EMPTY.key {
                    self.place(slot);
                }
            }
        }
        self.place(Slot { key, op });
        self.len += 1;
        op
    }

    fn place(&mut self, new: Slot) {
        if let Some(slot) = self.probe(new.key) {
            *slot = new;
        }
    }

    /// The slot that has this key, or the empty one where it belongs.
    fn probe(&mut self, key: Key) -> Option<&mut Slot> {
        let mut at = first_slot(key, self.slots.len());
        // Ends at an empty slot: most of them are.
        while self.slots.get(at)?.key != EMPTY.key && self.slots[at].key != key {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots.get_mut(at)
    }
}

/// Names are next to each other in memory, so their addresses are spread well enough.
#[inline]
fn first_slot(key: Key, slots: usize) -> usize {
    key.address & slots.wrapping_sub(1)
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
    // A tuple, an array, a function pointer: named by one of its parts, it would be taken for that type.
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
        // As in a program, one literal after the other; and a few that begin at one address.
        let text: &'static str = "x".repeat(1 << 15).leak();
        let all: Vec<Site> = (0..text.len() - 8)
            .step_by(8)
            .map(|at| (&text[at..at + 8], 0))
            .chain((1..99).map(|len| (&text[..len], 0)))
            .chain([1, 2, 5].map(|kind| (&text[..8], kind)))
            .map(|(name, kind)| Site { name, kind })
            .collect();
        let mut sites = Sites::new();
        let mut next = 0..;
        let mut number =
            |sites: &mut Sites, site| sites.find(site, || next.next().unwrap_or_default());
        let first: Vec<u32> = all.iter().map(|site| number(&mut sites, *site)).collect();
        let again: Vec<u32> = all.iter().map(|site| number(&mut sites, *site)).collect();
        assert_eq!(first, again);
        // The literal of eight that begins the text is among both.
        assert_eq!(sites.len, all.len() - 1);
        let found = all.iter().zip(&first).filter(|(site, number)| {
            let at_first_look = sites.at_first_look(**site);
            assert!(at_first_look.is_none_or(|found| found == **number));
            at_first_look.is_some()
        });
        assert!(found.count() > all.len() / 2);
    }
}

//! The labels of ops: instances such as the layer `layers.3.attn`.
//!
//! A labelled op has its own number, so that its latest signature is found like that of any other op, even if the
//! instances of a function take turns. Nothing is formatted or allocated for a label that the thread has used before.

use super::log::{Room, Shared};
use super::signatures::{FILTERED, REFUSED};
use super::site::Sites;

/// The number of a label on one thread; [`NO_LABEL`] for none.
pub(crate) type LabelNumber = u32;

pub(crate) const NO_LABEL: LabelNumber = 0;
/// A label that did not fit into the memory limit. Ops that have it are dropped and counted.
pub(crate) const REFUSED_LABEL: LabelNumber = u32::MAX;

/// The labels that a thread has used, and the numbers of the ops that have them.
#[derive(Debug)]
pub(crate) struct Labels {
    /// By number, from 1 on.
    known: Vec<Label>,
    /// By the hash of scope and text: open addressing, at most half full.
    slots: Vec<Slot>,
    /// Labelled ops by op and label: open addressing, at most half full.
    ops: Vec<LabelledOp>,
    op_count: usize,
    /// By label number, the sites of the ops that have the label. The recorder has those of the current scope instead.
    sites: Vec<Sites>,
}

#[derive(Debug)]
struct Label {
    /// With the labels of the scopes around it: `layers.3.attn`.
    path: Box<str>,
    /// Bytes of the path that this label added.
    own: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    key: Key,
    number: LabelNumber,
    hash: u32,
}

/// Scope and length of a label's text, and its first and last bytes. They contain the whole text if it has at most
/// [`WHOLE`] bytes, as most labels do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Key {
    scope_and_len: u64,
    first: u64,
    last: u64,
}

/// Bytes of the longest text that fits into a [`Key`] completely.
const WHOLE: usize = 16;

impl Key {
    #[inline]
    fn new(scope: LabelNumber, text: &str) -> Key {
        let bytes = text.as_bytes();
        let (first, last) = if let (Some(first), Some(last)) =
            (bytes.first_chunk::<8>(), bytes.last_chunk::<8>())
        {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else {
            let word = bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            (word, 0)
        };
        Key {
            scope_and_len: u64::from(scope) | (text.len() as u64) << 32,
            first,
            last,
        }
    }

    #[inline]
    fn hash(self, text: &str) -> u32 {
        let mix =
            |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut sum = mix(self.first ^ self.last.rotate_left(23), self.scope_and_len);
        if text.len() > WHOLE {
            // Texts that differ in the middle only.
            for word in text.as_bytes().as_chunks::<8>().0 {
                sum = mix(sum, u64::from_le_bytes(*word));
            }
        }
        (sum >> 32) as u32
    }
}

#[derive(Debug, Clone, Copy)]
struct LabelledOp {
    op: u32,
    label: LabelNumber,
    number: u32,
}

const EMPTY: LabelledOp = LabelledOp {
    op: 0,
    label: NO_LABEL,
    number: 0,
};
const FIRST_SLOTS: usize = 64;

impl Labels {
    pub(crate) const fn new() -> Labels {
        Labels {
            known: Vec::new(),
            slots: Vec::new(),
            ops: Vec::new(),
            op_count: 0,
            sites: Vec::new(),
        }
    }

    /// The sites of the ops that have a label, if it was not refused, and its path.
    #[inline]
    pub(crate) fn sites_and_path(&mut self, label: LabelNumber) -> (Option<&mut Sites>, &str) {
        if label as usize >= self.sites.len() && self.add_sites(label).is_none() {
            return (None, "");
        }
        let path = path(&self.known, label);
        (self.sites.get_mut(label as usize), path)
    }

    /// The sites of the ops that have a label, if there are any.
    #[inline]
    pub(crate) fn known_sites(&self, label: LabelNumber) -> Option<&Sites> {
        self.sites.get(label as usize)
    }

    #[cold]
    fn add_sites(&mut self, label: LabelNumber) -> Option<()> {
        if label == REFUSED_LABEL {
            return None;
        }
        self.sites.resize_with(self.known.len() + 1, Sites::new);
        Some(())
    }

    /// Stores `sites` as those of `outer`, and replaces them by those of `inner`.
    pub(crate) fn exchange_sites(
        &mut self,
        sites: &mut Sites,
        outer: LabelNumber,
        inner: LabelNumber,
    ) {
        let away = std::mem::replace(sites, Sites::new());
        if let Some(outer) = self.sites_and_path(outer).0 {
            *outer = away;
        }
        if let Some(inner) = self.sites_and_path(inner).0 {
            *sites = std::mem::replace(inner, Sites::new());
        }
    }

    /// The number of a label inside the scope of another. An empty text is the label of that scope.
    pub(crate) fn number(&mut self, scope: LabelNumber, text: &str, room: &Room) -> LabelNumber {
        if text.is_empty() || scope == REFUSED_LABEL {
            return scope;
        }
        let key = Key::new(scope, text);
        let hash = key.hash(text);
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash as usize & mask;
        // Ends at an empty slot, because at most half of the slots are used.
        while let Some(known) = self.slots.get(slot)
            && known.number != NO_LABEL
        {
            if known.key == key
                && (text.len() <= WHOLE || self.known[known.number as usize - 1].ends_in(text))
            {
                return known.number;
            }
            slot = (slot + 1) & mask;
        }
        self.add(scope, text, (key, hash), room)
    }

    /// The path of a label: `layers.3.attn`.
    pub(crate) fn path(&self, label: LabelNumber) -> &str {
        path(&self.known, label)
    }

    #[cold]
    #[inline(never)]
    fn add(
        &mut self,
        scope: LabelNumber,
        text: &str,
        (key, hash): (Key, u32),
        room: &Room,
    ) -> LabelNumber {
        let path = match self.path(scope) {
            "" => text.to_owned(),
            scope => format!("{scope}.{text}"),
        };
        let bytes = 2 * (size_of::<Label>() + size_of::<Sites>()) + path.len() + 32;
        if !room.take(bytes) {
            return REFUSED_LABEL;
        }
        self.known.push(Label {
            path: path.into(),
            own: text.len(),
        });
        let number = self.known.len() as LabelNumber;
        if self.known.len() * 2 > self.slots.len() {
            let grown = vec![Slot::default(); (self.slots.len() * 2).max(FIRST_SLOTS)];
            for slot in std::mem::replace(&mut self.slots, grown) {
                if slot.number != NO_LABEL {
                    self.place(slot);
                }
            }
        }
        self.place(Slot { key, number, hash });
        number
    }

    fn place(&mut self, new: Slot) {
        let mask = self.slots.len() - 1;
        let mut slot = new.hash as usize & mask;
        while self.slots[slot].number != NO_LABEL {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = new;
    }

    /// The number of an op with a label, for an op that is named at run time.
    pub(crate) fn labelled(&mut self, shared: &Shared, op: u32, label: LabelNumber) -> u32 {
        if op == FILTERED || op == REFUSED {
            return op;
        }
        if label == REFUSED_LABEL {
            return REFUSED;
        }
        if let Some(number) = self.op(op, label) {
            return number;
        }
        let number = shared
            .signatures
            .labelled(op, self.path(label), &shared.room);
        self.add_op(op, label, number, &shared.room);
        number
    }

    fn op(&self, op: u32, label: LabelNumber) -> Option<u32> {
        let mask = self.ops.len().wrapping_sub(1);
        let mut slot = first_slot(op, label) & mask;
        loop {
            let known = self.ops.get(slot)?;
            if known.op == op && known.label == label {
                return Some(known.number);
            }
            if known.label == NO_LABEL {
                return None;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn add_op(&mut self, op: u32, label: LabelNumber, number: u32, room: &Room) {
        // Ops of a refused label are not stored, because there may be as many as the program has ops.
        if !room.take(4 * size_of::<LabelledOp>()) {
            return;
        }
        self.op_count += 1;
        if self.op_count * 2 > self.ops.len() {
            let grown = vec![EMPTY; (self.ops.len() * 2).max(FIRST_SLOTS)];
            for known in std::mem::replace(&mut self.ops, grown) {
                if known.label != NO_LABEL {
                    self.place_op(known);
                }
            }
        }
        self.place_op(LabelledOp { op, label, number });
    }

    fn place_op(&mut self, new: LabelledOp) {
        let mask = self.ops.len() - 1;
        let mut slot = first_slot(new.op, new.label) & mask;
        while self.ops[slot].label != NO_LABEL {
            slot = (slot + 1) & mask;
        }
        self.ops[slot] = new;
    }
}

fn path(known: &[Label], label: LabelNumber) -> &str {
    let index = (label as usize).wrapping_sub(1);
    known.get(index).map_or("", |label| &label.path)
}

impl Label {
    fn ends_in(&self, text: &str) -> bool {
        self.path.as_bytes()[self.path.len() - self.own..] == *text.as_bytes()
    }
}

#[inline]
fn first_slot(op: u32, label: LabelNumber) -> usize {
    // Labels of one op are often numbered one after the other, and so are the ops of one label.
    (op.wrapping_mul(0x9E37_79B9) ^ label.wrapping_mul(0x85EB_CA6B)) as usize >> 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_found_again_by_its_scope_and_text() {
        let shared = Shared::new(1 << 20, None, 1);
        let mut labels = Labels::new();
        let texts: Vec<String> = (0..500).map(|layer| format!("layers.{layer}")).collect();
        let number =
            |labels: &mut Labels, scope, text: &str| labels.number(scope, text, &shared.room);
        let first: Vec<_> = texts
            .iter()
            .map(|text| number(&mut labels, 0, text))
            .collect();
        let again: Vec<_> = texts
            .iter()
            .map(|text| number(&mut labels, 0, text))
            .collect();
        assert_eq!(first, again);
        assert_eq!(first, (1..=500).collect::<Vec<_>>());
        let inner = number(&mut labels, first[3], "attn");
        assert_eq!(labels.path(inner), "layers.3.attn");
        assert_ne!(number(&mut labels, first[4], "attn"), inner);
        assert_eq!(number(&mut labels, first[3], "attn"), inner);
        assert_eq!(number(&mut labels, inner, ""), inner);
        // Longer than the part that is compared first; they differ only in the middle, or by a zero.
        let long = [
            "encoder.layers.0.attention",
            "encoder.layers.1.attention",
            "a",
            "a\0",
            "\0a",
        ];
        let first = long.map(|text| number(&mut labels, 0, text));
        assert_eq!(first, long.map(|text| number(&mut labels, 0, text)));
        let paths = first.map(|label| labels.path(label));
        assert_eq!(paths, long);
    }

    #[test]
    fn labelled_ops_are_found_again() {
        let shared = Shared::new(1 << 20, None, 1);
        let mut labels = Labels::new();
        let pairs = || (0..30).flat_map(|op| (1..30).map(move |label| (op, label)));
        for (number, (op, label)) in pairs().enumerate() {
            assert_eq!(labels.op(op, label), None);
            labels.add_op(op, label, number as u32, &shared.room);
        }
        for (number, (op, label)) in pairs().enumerate() {
            assert_eq!(labels.op(op, label), Some(number as u32));
        }
    }

    #[test]
    fn labels_past_the_limit_are_refused() {
        let shared = Shared::new(1000, None, 1);
        let mut labels = Labels::new();
        let last = (0..100)
            .map(|layer| labels.number(NO_LABEL, &layer.to_string(), &shared.room))
            .last();
        assert_eq!(last, Some(REFUSED_LABEL));
        assert_eq!(
            labels.number(REFUSED_LABEL, "x", &shared.room),
            REFUSED_LABEL
        );
    }
}

//! The labels of ops: instances such as the layer `layers.3.attn`.
//!
//! A labelled op has a number of its own, so that its latest signature is found like that of any other op, also where
//! the instances of a function run in turn. Nothing is formatted or allocated for a label that the thread knows.

use super::log::Room;

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
    /// Numbers by the hash of scope and text: open addressing, at most half full.
    slots: Vec<LabelNumber>,
    /// Labelled ops by op and label: open addressing, at most half full.
    ops: Vec<LabelledOp>,
    op_count: usize,
}

#[derive(Debug)]
struct Label {
    /// With the labels of the scopes around it: `layers.3.attn`.
    path: Box<str>,
    /// Bytes of the path that this label added.
    own: usize,
    scope: LabelNumber,
    hash: u32,
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
        }
    }

    /// The number of a label inside the scope of another. An empty label is that scope's.
    pub(crate) fn number(&mut self, scope: LabelNumber, text: &str, room: &Room) -> LabelNumber {
        if text.is_empty() || scope == REFUSED_LABEL {
            return scope;
        }
        let hash = hash(scope, text);
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash as usize & mask;
        // Ends at an empty slot: at most half of them are taken.
        while let Some(&number) = self.slots.get(slot)
            && number != NO_LABEL
        {
            let known = &self.known[number as usize - 1];
            if known.hash == hash && known.is(scope, text) {
                return number;
            }
            slot = (slot + 1) & mask;
        }
        self.add(scope, text, hash, room)
    }

    /// The path of a label: `layers.3.attn`.
    pub(crate) fn path(&self, label: LabelNumber) -> &str {
        let index = (label as usize).wrapping_sub(1);
        self.known.get(index).map_or("", |label| &label.path)
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, scope: LabelNumber, text: &str, hash: u32, room: &Room) -> LabelNumber {
        let path = match self.path(scope) {
            "" => text.to_owned(),
            scope => format!("{scope}.{text}"),
        };
        if !room.take(2 * size_of::<Label>() + path.len() + 32) {
            return REFUSED_LABEL;
        }
        self.known.push(Label {
            path: path.into(),
            own: text.len(),
            scope,
            hash,
        });
        let number = self.known.len() as LabelNumber;
        if self.known.len() * 2 > self.slots.len() {
            self.slots = vec![NO_LABEL; (self.slots.len() * 2).max(FIRST_SLOTS)];
            for number in 1..=number {
                self.place(number);
            }
        } else {
            self.place(number);
        }
        number
    }

    fn place(&mut self, number: LabelNumber) {
        let mask = self.slots.len() - 1;
        let mut slot = self.known[number as usize - 1].hash as usize & mask;
        while self.slots[slot] != NO_LABEL {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = number;
    }

    /// The number of an op with a label, if the thread knows it.
    #[inline]
    pub(crate) fn op(&self, op: u32, label: LabelNumber) -> Option<u32> {
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

    pub(crate) fn add_op(&mut self, op: u32, label: LabelNumber, number: u32, room: &Room) {
        // Ops of a refused label are not kept: they would be as many as the ops of the program.
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

impl Label {
    fn is(&self, scope: LabelNumber, text: &str) -> bool {
        self.scope == scope
            && self.own == text.len()
            && self.path.as_bytes()[self.path.len() - self.own..] == *text.as_bytes()
    }
}

#[inline]
fn first_slot(op: u32, label: LabelNumber) -> usize {
    // Labels of one op are often numbered one after the other, and so are the ops of one label.
    (op.wrapping_mul(0x9E37_79B9) ^ label.wrapping_mul(0x85EB_CA6B)) as usize >> 7
}

/// Eight bytes at a time: labels are some ten bytes long.
fn hash(scope: LabelNumber, text: &str) -> u32 {
    let mix = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut sum = mix(u64::from(scope), text.len() as u64);
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    for word in words {
        sum = mix(sum, u64::from_le_bytes(*word));
    }
    let rest = rest
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte));
    (mix(sum, rest) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::log::Shared;

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

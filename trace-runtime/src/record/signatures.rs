//! Numbers for signatures: a table that all threads of a session share, and a cache in front of it.

use super::site::Site;
use crate::model::chunk::MAX_SIGNATURES;
use crate::model::signature::{Fact, Header, Parts, Role, push_tensor};
use crate::model::store::Interner;
use crate::model::{Device, OpKind};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Set in the number of an op that was named at run time instead of by a [`Site`].
const NAMED_AT_RUN_TIME: u32 = 1 << 31;

/// Every signature of a session, numbered in the order in which they were first seen.
#[derive(Debug, Default)]
pub(crate) struct Signatures(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    interner: Interner,
    names: Vec<String>,
    name_numbers: HashMap<String, u32>,
    scratch: Vec<usize>,
}

impl Signatures {
    /// The number of an op that is named at run time.
    pub(crate) fn name(&self, name: &str) -> u32 {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = table.name_numbers.get(name) {
            return number;
        }
        let number = table.names.len() as u32 | NAMED_AT_RUN_TIME;
        table.names.push(name.to_owned());
        table.name_numbers.insert(name.to_owned(), number);
        number
    }

    /// The number of a signature; none when there are too many.
    fn intern(&self, words: &[usize]) -> Option<u32> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let table = &mut *table;
        let (&op, words) = words.split_first()?;
        let (name, kind) = op_of(&table.names, op as u32);
        let operation = table.interner.string(name);
        let device = match device_of(words) {
            Device::Unknown => None,
            device => Some(table.interner.string(&device.to_string())),
        };
        table.scratch.clear();
        copy_without_device(words, &mut table.scratch);
        let number = table
            .interner
            .signature(operation, kind, device, &table.scratch);
        (number < MAX_SIGNATURES).then_some(number)
    }

    /// Runs `f` on what is known so far.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Interner) -> R) -> R {
        f(&mut self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .interner)
    }

    pub(crate) fn take(&self) -> Interner {
        std::mem::take(
            &mut self
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .interner,
        )
    }
}

fn op_of(names: &[String], op: u32) -> (&str, Option<OpKind>) {
    if op & NAMED_AT_RUN_TIME == 0 {
        Site::by_number(op).unwrap_or(("?", None))
    } else {
        let name = names.get((op & !NAMED_AT_RUN_TIME) as usize);
        (name.map_or("?", String::as_str), None)
    }
}

/// The device that was stated, else the first output's, else the first input's.
fn device_of(words: &[usize]) -> Device {
    let find = |wanted: fn(Header) -> bool| {
        Parts::new(words)
            .filter(|(header, _)| wanted(*header))
            .map(|(header, _)| header.device())
            .find(|device| *device != Device::Unknown)
    };
    find(|header| header.is_fact(Fact::Device))
        .or_else(|| find(|header| header.role() == Role::Output))
        .or_else(|| find(|header| header.role() == Role::Input))
        .unwrap_or_default()
}

/// The stated device is the entry's own from here on.
fn copy_without_device(words: &[usize], copy: &mut Vec<usize>) {
    for (header, dims) in Parts::new(words) {
        match header.role() {
            Role::Fact if header.is_fact(Fact::Device) => {}
            Role::Fact => {
                copy.push(header.0);
                copy.extend_from_slice(dims);
            }
            role => push_tensor(copy, role, dims, header.dtype(), header.device()),
        }
    }
}

/// What one thread has already asked the shared table for. Open addressing, at most half full.
#[derive(Debug, Default)]
pub(crate) struct SignatureCache {
    slots: Vec<Slot>,
    used: usize,
    words: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: usize,
    first: u32,
    /// 0 for an empty slot: a signature has at least its op.
    len: u32,
    number: u32,
}

const EMPTY: Slot = Slot {
    hash: 0,
    first: 0,
    len: 0,
    number: 0,
};
const FIRST_SLOTS: usize = 64;
/// Spreads the sum of words over the high bits.
const SPREAD: usize = 0x9E37_79B9_7F4A_7C15_u64 as usize;

impl SignatureCache {
    pub(crate) const fn new() -> SignatureCache {
        SignatureCache {
            slots: Vec::new(),
            used: 0,
            words: Vec::new(),
        }
    }

    /// The number of this signature; none when the session has too many.
    #[inline]
    pub(crate) fn number(&mut self, words: &[usize], shared: &Signatures) -> Option<u32> {
        let hash = hash(words);
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash & mask;
        // Ends at an empty slot: the table is at most half full.
        while let Some(slot) = self.slots.get(at) {
            if slot.hash == hash && slot.len as usize == words.len() {
                let first = slot.first as usize;
                let known = self
                    .words
                    .get(first..first + words.len())
                    .unwrap_or_default();
                // Compared by hand: nine words are fewer than a call to `memcmp` costs.
                if known.iter().zip(words).all(|(a, b)| a == b) {
                    return Some(slot.number);
                }
            } else if slot.len == 0 {
                break;
            }
            at = (at + 1) & mask;
        }
        self.add(words, hash, shared)
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, words: &[usize], hash: usize, shared: &Signatures) -> Option<u32> {
        let number = shared.intern(words)?;
        if (self.used + 1) * 2 > self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![EMPTY; (old.len() * 2).max(FIRST_SLOTS)];
            for slot in old.into_iter().filter(|slot| slot.len > 0) {
                self.place(slot);
            }
        }
        let first = self.words.len() as u32;
        self.words.extend_from_slice(words);
        self.place(Slot {
            hash,
            first,
            len: words.len() as u32,
            number,
        });
        self.used += 1;
        Some(number)
    }

    fn place(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = slot.hash & mask;
        while self.slots[at].len > 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
}

/// A sum that a processor adds up in one step per word; collisions only cost a second look.
#[inline]
fn hash(words: &[usize]) -> usize {
    let sum = words
        .iter()
        .fold(0usize, |sum, word| sum.wrapping_mul(9).wrapping_add(*word));
    sum.wrapping_mul(SPREAD).rotate_left(usize::BITS / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_get_one_number_and_others_another() {
        let (shared, mut cache) = (Signatures::default(), SignatureCache::new());
        let op = shared.name("op") as usize;
        let number = |cache: &mut SignatureCache, dim: usize| {
            let mut words = vec![op];
            push_tensor(
                &mut words,
                Role::Input,
                &[dim],
                crate::model::DType::F32,
                Device::Cpu,
            );
            cache.number(&words, &shared).unwrap()
        };
        let first: Vec<u32> = (0..1000).map(|dim| number(&mut cache, dim)).collect();
        let again: Vec<u32> = (0..1000).map(|dim| number(&mut cache, dim)).collect();
        assert_eq!(first, (0..1000).collect::<Vec<_>>());
        assert_eq!(first, again);
        let mut other = SignatureCache::new();
        assert_eq!(number(&mut other, 7), 7, "threads share the numbers");
    }
}

//! Numbers for signatures: a table that all threads of a session share, and a cache in front of it.

use super::chunk::facts;
use super::log::{Room, Shared};
use super::storage::{Storage, TableEntry};
use crate::engine::interner::{Interner, KnownOp};
use crate::engine::signature::{Fact, Header, Parts, Role, push_tensor};
use crate::{Device, OpKind, Outcome};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Every signature of a session, numbered in the order of their first use.
#[derive(Debug, Default)]
pub struct Signatures(Mutex<Table>);

/// The storage that tables are published in, if there is one.
type Published = Option<Arc<dyn Storage>>;

#[derive(Debug, Default)]
struct Table {
    interner: Interner,
    ops: Vec<KnownOp>,
    op_numbers: HashMap<KnownOp, u32>,
    scratch: Vec<usize>,
    storage: Published,
    /// The codes of named devices that are published.
    devices: HashSet<u16>,
}

/// The number of an op whose name did not fit into the memory limit. It has no signatures, so every execution of it
/// is dropped when it ends, and counted.
pub(crate) const REFUSED: u32 = u32::MAX;

/// The number of an op that the session's filter leaves out.
pub(crate) const FILTERED: u32 = u32::MAX - 1;

/// Bytes of a new string: twice its text, two allocations, and its slots in tables that may be half empty.
fn string_bytes(string: &str) -> usize {
    2 * string.len() + 160
}

/// Bytes of a new op without its name.
const OP_BYTES: usize = 96;

/// Bytes of a new signature of `words` words in the shared table.
fn signature_bytes(words: usize) -> usize {
    24 * words + 288
}

/// Bytes of a new signature of `words` words in the table of a thread.
fn known_bytes(words: usize) -> usize {
    16 * words + 128
}

impl Signatures {
    pub(crate) fn in_storage(storage: Arc<dyn Storage>) -> Signatures {
        Signatures(Mutex::new(Table {
            storage: Some(storage),
            ..Table::default()
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of an op. All sites with the same name, kind and location share it. [`REFUSED`] if it is new and does
    /// not fit.
    pub(crate) fn op(
        &self,
        name: &str,
        kind: Option<OpKind>,
        location: Option<&str>,
        room: &Room,
    ) -> u32 {
        let mut table = self.lock();
        let Some(name) = table.string(name, room) else {
            return REFUSED;
        };
        let location = match location.map(|location| table.string(location, room)) {
            Some(None) => return REFUSED,
            location => location.flatten(),
        };
        let op = KnownOp {
            kind,
            location,
            ..KnownOp::new(name)
        };
        table.number(op, room)
    }

    /// The number of an op with a label. [`REFUSED`] if it is new and does not fit.
    pub(crate) fn labelled(&self, op: u32, label: &str, room: &Room) -> u32 {
        let mut table = self.lock();
        let Some(&op) = table.ops.get(op as usize) else {
            return REFUSED;
        };
        let Some(label) = table.string(label, room) else {
            return REFUSED;
        };
        let label = Some(label);
        table.number(KnownOp { label, ..op }, room)
    }

    /// The number of a signature; `None` if it is new and does not fit.
    fn intern(&self, words: &[usize], room: &Room) -> Option<u32> {
        let mut table = self.lock();
        let table = &mut *table;
        let (&op, words) = words.split_first()?;
        let &op = table.ops.get(op)?;
        // Named devices are few: `Device::named` keeps at most 4,096.
        let device = match device_of(words) {
            Device::Unknown => None,
            device => Some(table.add_string(&device.to_string())?),
        };
        table.scratch.clear();
        copy_without_device(words, &mut table.scratch);
        let (storage, words) = (&table.storage, &table.scratch);
        publish_devices(storage, &mut table.devices, words)?;
        table
            .interner
            .signature(op, device, words, |number, signature| {
                room.take(signature_bytes(words.len()))
                    && publish(
                        storage,
                        TableEntry::Signature {
                            number,
                            signature,
                            words,
                        },
                    )
            })
    }

    /// The name of the op of a signature.
    pub(crate) fn operation(&self, signature: u32) -> Option<String> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let signature = table.interner.signatures.get(signature as usize)?;
        let name = table.interner.strings.get(signature.operation as usize)?;
        Some(name.to_string())
    }

    /// Runs `f` on the tables so far.
    pub fn with<R>(&self, f: impl FnOnce(&mut Interner) -> R) -> R {
        f(&mut self.lock().interner)
    }

    /// A copy of the tables so far. It is made in parts, so threads that record wait for one part at most.
    pub fn copy(&self) -> Interner {
        let mut copy = Interner::default();
        while self.with(|known| copy.copy_some_of(known)) {}
        copy
    }

    pub fn take(&self) -> Interner {
        std::mem::take(&mut self.lock().interner)
    }
}

impl Table {
    /// The number of a string, or `None` if it is new and does not fit.
    fn string(&mut self, string: &str, room: &Room) -> Option<u32> {
        match self.interner.find_string(string) {
            Some(known) => Some(known),
            None if room.take(string_bytes(string)) => self.add_string(string),
            None => None,
        }
    }

    /// The number of a string that does not count towards the memory limit. `None` if it cannot be published.
    fn add_string(&mut self, text: &str) -> Option<u32> {
        if let Some(known) = self.interner.find_string(text) {
            return Some(known);
        }
        let number = self.interner.strings.len() as u32;
        publish(&self.storage, TableEntry::String { number, text })
            .then(|| self.interner.string(text))
    }

    fn number(&mut self, op: KnownOp, room: &Room) -> u32 {
        if let Some(&number) = self.op_numbers.get(&op) {
            return number;
        }
        if !room.take(OP_BYTES) {
            return REFUSED;
        }
        let number = self.ops.len() as u32;
        let KnownOp {
            name, kind, label, ..
        } = op;
        let entry = TableEntry::Op {
            number,
            name,
            kind,
            label,
        };
        if !publish(&self.storage, entry) {
            return REFUSED;
        }
        self.ops.push(op);
        self.op_numbers.insert(op, number);
        number
    }
}

fn publish(storage: &Published, entry: TableEntry<'_>) -> bool {
    storage
        .as_ref()
        .is_none_or(|storage| storage.publish(entry))
}

/// Publishes the names of devices whose codes are valid only in this process. `None` if one does not fit.
fn publish_devices(
    storage: &Published,
    published: &mut HashSet<u16>,
    words: &[usize],
) -> Option<()> {
    if storage.is_none() {
        return Some(());
    }
    for (header, _) in Parts::new(words) {
        let device = header.device();
        let Device::Named(name) = device else {
            continue;
        };
        let entry = TableEntry::Device {
            code: device.code(),
            name: name.as_str(),
        };
        if !published.contains(&device.code()) {
            publish(storage, entry).then_some(())?;
            published.insert(device.code());
        }
    }
    Some(())
}

/// The device that an option gives, else that of the first output, else that of the first input.
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

/// Copies the words except the device from the options: that device is stored in the entry instead.
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

/// The signatures that one thread knows, and the latest of each op.
#[derive(Debug)]
pub(crate) struct KnownSignatures {
    /// The words of all signatures, each followed by its [end](Header::end).
    words: Vec<usize>,
    /// The signatures, in the order of their words.
    known: Vec<Known>,
    /// By op number.
    latest: Vec<Latest>,
    /// By the hash of the words: open addressing, at most half full.
    slots: Vec<u32>,
}

/// The latest signature of an op.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Latest {
    /// Index of the word after the op number; 0 if the op has no signature.
    pub(crate) at: usize,
    pub(crate) expected: Expected,
}

impl Latest {
    pub(crate) const NONE: Latest = Latest {
        at: 0,
        expected: Expected(0),
    };
}

/// The signature that an op will have if the rest of its words are as expected: the number of the signature, and how
/// many words remain. Packed into one word, in which the number has the same bits as in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Expected(u64);

impl Expected {
    fn new(number: u32, words: u32) -> Expected {
        Expected(facts(0, number, Outcome::Ok) | u64::from(words))
    }

    /// What is expected after `words` further words. After more words than remain, it has no [row](Self::facts).
    #[inline]
    pub(crate) fn after(self, words: usize) -> Expected {
        Expected(self.0.wrapping_sub(words as u64))
    }

    /// The signature's number, at the same bits as in a row.
    #[inline]
    pub(crate) fn signature(self) -> u64 {
        self.0 >> 32 << 32
    }

    /// The facts word of the row of an op that ended with this signature and without an error: no more words are
    /// expected. The duration is below [`LONG_DURATION`](super::chunk::LONG_DURATION).
    #[inline]
    pub(crate) fn facts(self, duration: u64) -> Option<u64> {
        (self.0 as u32 == 0).then_some(self.0 | duration)
    }
}

#[derive(Debug, Clone, Copy)]
struct Known {
    first: u32,
    end: u32,
    number: u32,
    hash: u32,
}

const NONE: u32 = u32::MAX;
const FIRST_SLOTS: usize = 64;

impl KnownSignatures {
    pub(crate) const fn new() -> KnownSignatures {
        KnownSignatures {
            words: Vec::new(),
            known: Vec::new(),
            latest: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// The latest signature of an op. Its `at` is 0 if there is none yet. `None` for an op that is not recorded.
    #[inline]
    pub(crate) fn latest_of(&self, op: u32) -> Option<Latest> {
        self.latest.get(op as usize).copied()
    }

    #[inline]
    pub(crate) fn words_at<const N: usize>(&self, at: u32) -> Option<&[usize; N]> {
        // `at` has 32 bits, so the sum cannot overflow: one comparison is enough.
        let at = at as usize;
        self.words.get(at..at + N)?.first_chunk()
    }

    /// The words of a signature up to an index after its first word.
    pub(crate) fn words_up_to(&self, at: u32) -> &[usize] {
        let after = self.known.partition_point(|known| known.first < at);
        let first = after
            .checked_sub(1)
            .and_then(|index| self.known.get(index))
            .map_or(at, |known| known.first);
        self.words
            .get(first as usize..at as usize)
            .unwrap_or_default()
    }

    /// The number of the signature that ends there, if one does.
    #[inline]
    pub(crate) fn ends_at(&self, at: u32) -> Option<u32> {
        let &word = self.words.get(at as usize)?;
        Header(word).ended()
    }

    /// The number of this signature; `None` if it is new and the session has no room for it.
    pub(crate) fn number_of(&mut self, words: &[usize], shared: &Shared) -> Option<u32> {
        let known = self.index_of(words, shared)?;
        Some(self.known[known as usize].number)
    }

    fn index_of(&mut self, words: &[usize], shared: &Shared) -> Option<u32> {
        let hash = hash(words);
        match self.find(words, hash) {
            Some(known) => Some(known),
            None => self.add(words, hash, shared),
        }
    }

    /// The number of this signature, which becomes the latest of its op; `None` if it is new and the session
    /// has no room for it.
    pub(crate) fn number(&mut self, words: &[usize], shared: &Shared) -> Option<u32> {
        let known = self.index_of(words, shared)?;
        let op = *words.first()?;
        if op >= self.latest.len() {
            self.latest.resize(op + 1, Latest::NONE);
        }
        let known = self.known[known as usize];
        self.latest[op] = Latest {
            at: known.first as usize + 1,
            expected: Expected::new(known.number, known.end - known.first - 1),
        };
        Some(known.number)
    }

    fn find(&self, words: &[usize], hash: u32) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash as usize & mask;
        // Ends at an empty slot: the table is at most half full.
        while let Some(&index) = self.slots.get(slot) {
            let known = self.known.get(index as usize)?;
            if known.hash == hash
                && self.words.get(known.first as usize..known.end as usize) == Some(words)
            {
                return Some(index);
            }
            slot = (slot + 1) & mask;
        }
        None
    }

    fn add(&mut self, words: &[usize], hash: u32, shared: &Shared) -> Option<u32> {
        let index = self.known.len() as u32;
        let first = u32::try_from(self.words.len()).ok()?;
        let end = first.checked_add(words.len() as u32)?;
        if !shared.room.take(known_bytes(words.len())) {
            return None;
        }
        let number = shared.signatures.intern(words, &shared.room)?;
        self.words.extend_from_slice(words);
        self.words.push(Header::end(number).0);
        self.known.push(Known {
            first,
            end,
            number,
            hash,
        });
        if self.known.len() * 2 > self.slots.len() {
            self.slots = vec![NONE; (self.slots.len() * 2).max(FIRST_SLOTS)];
            for index in 0..=index {
                self.place(index);
            }
        } else {
            self.place(index);
        }
        Some(index)
    }

    fn place(&mut self, index: u32) {
        let mask = self.slots.len() - 1;
        let mut slot = self.known[index as usize].hash as usize & mask;
        while self.slots[slot] != NONE {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = index;
    }
}

fn hash(words: &[usize]) -> u32 {
    let mix = |sum: u64, word: &usize| {
        (sum.rotate_left(5) ^ *word as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    (words.iter().fold(0, mix) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_get_one_number_and_others_another() {
        let (shared, mut cache) = (Shared::new(1 << 20, None, 1), KnownSignatures::new());
        let op = shared.signatures.op("op", None, None, &shared.room) as usize;
        let number = |cache: &mut KnownSignatures, dim: usize| {
            let mut words = vec![op];
            push_tensor(
                &mut words,
                Role::Input,
                &[dim],
                crate::DType::F32,
                Device::Cpu,
            );
            cache.number(&words, &shared).unwrap()
        };
        let first: Vec<u32> = (0..1000).map(|dim| number(&mut cache, dim)).collect();
        let again: Vec<u32> = (0..1000).map(|dim| number(&mut cache, dim)).collect();
        assert_eq!(first, (0..1000).collect::<Vec<_>>());
        assert_eq!(first, again);
        let mut other = KnownSignatures::new();
        assert_eq!(number(&mut other, 7), 7, "threads share the numbers");
    }
}

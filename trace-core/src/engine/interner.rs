//! Strings and signatures, each kept once.

use super::chunk::MAX_SIGNATURES;
use super::signature::{Parts, Role, elements};
use crate::OpKind;
use std::collections::HashMap;

/// An op without its tensors. Name, label and location are strings of the interner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KnownOp {
    pub name: u32,
    pub kind: Option<OpKind>,
    pub label: Option<u32>,
    pub location: Option<u32>,
}

impl KnownOp {
    /// An op with only its name known.
    pub fn new(name: u32) -> KnownOp {
        KnownOp {
            name,
            kind: None,
            label: None,
            location: None,
        }
    }
}

/// An op with its tensors.
#[derive(Debug, Clone)]
pub struct Signature {
    pub operation: u32,
    pub kind: Option<OpKind>,
    pub label: Option<u32>,
    pub location: Option<u32>,
    pub device: Option<u32>,
    pub first_word: u32,
    pub word_count: u32,
    pub elements: usize,
    pub bytes: usize,
}

impl Signature {
    /// A signature of these words, which begin at `first_word` among those of all signatures.
    pub fn new(op: KnownOp, device: Option<u32>, first_word: u32, words: &[usize]) -> Signature {
        let (elements, bytes) = Parts::new(words)
            .filter(|(header, _)| header.role() == Role::Output)
            .fold((0usize, 0usize), |(count, bytes), (header, dims)| {
                let elements = elements(dims);
                (
                    count.saturating_add(elements),
                    bytes.saturating_add(header.dtype().bytes(elements)),
                )
            });
        Signature {
            operation: op.name,
            kind: op.kind,
            label: op.label,
            location: op.location,
            device,
            first_word,
            word_count: words.len() as u32,
            elements,
            bytes,
        }
    }
}

/// The signatures of a trace that is being built, each kept once.
#[derive(Debug, Clone, Default)]
pub struct Interner {
    pub strings: Vec<Box<str>>,
    string_ids: HashMap<Box<str>, u32>,
    pub signatures: Vec<Signature>,
    signature_ids: HashMap<Box<[usize]>, u32>,
    pub words: Vec<usize>,
    key: Vec<usize>,
}

impl Interner {
    /// Copies some of the entries of `other` that are missing here, in order; false if none are missing. A table that
    /// other threads use can be copied in several calls, so that they can use it in between.
    pub fn copy_some_of(&mut self, other: &Interner) -> bool {
        const AT_ONCE: usize = 4096;
        let strings = other.strings.iter().skip(self.strings.len());
        for string in strings.take(AT_ONCE) {
            let number = self.strings.len() as u32;
            self.strings.push(string.clone());
            self.string_ids.insert(string.clone(), number);
        }
        let first = self.signatures.len();
        let end = other.signatures.len().min(first + AT_ONCE);
        self.signatures
            .extend_from_slice(&other.signatures[first..end]);
        if let Some(last) = self.signatures.last() {
            let words = self.words.len()..(last.first_word + last.word_count) as usize;
            self.words.extend_from_slice(&other.words[words]);
        }
        self.strings.len() < other.strings.len() || end < other.signatures.len()
    }

    /// The number of this string, if it is known.
    pub fn find_string(&self, string: &str) -> Option<u32> {
        self.string_ids.get(string).copied()
    }

    pub fn string(&mut self, string: &str) -> u32 {
        if let Some(id) = self.find_string(string) {
            return id;
        }
        let id = self.strings.len() as u32;
        self.strings.push(string.into());
        self.string_ids.insert(string.into(), id);
        id
    }

    /// The number of this signature, or `None` if it is new and there is no room for another one. `words` are
    /// headers and dims, without the op. `has_room` is called once, for a new signature, with its number.
    pub fn signature(
        &mut self,
        op: KnownOp,
        device: Option<u32>,
        words: &[usize],
        has_room: impl FnOnce(u32, &Signature) -> bool,
    ) -> Option<u32> {
        self.key.clear();
        let plus_one = |number: Option<u32>| number.map_or(0, |number| number as usize + 1);
        self.key.extend([
            op.name as usize,
            op.kind.map_or(0, |kind| kind as usize + 1),
            plus_one(op.label),
            plus_one(op.location),
            plus_one(device),
        ]);
        self.key.extend_from_slice(words);
        if let Some(&id) = self.signature_ids.get(self.key.as_slice()) {
            return Some(id);
        }
        let id = self.signatures.len() as u32;
        if id > MAX_SIGNATURES {
            return None;
        }
        let first_word = self.words.len() as u32;
        let signature = Signature::new(op, device, first_word, words);
        if !has_room(id, &signature) {
            return None;
        }
        self.signature_ids.insert(self.key.as_slice().into(), id);
        self.signatures.push(signature);
        self.words.extend_from_slice(words);
        Some(id)
    }
}

//! Strings and signatures, each kept once.

use super::chunk::MAX_SIGNATURES;
use super::signature::{Parts, Role, elements};
use crate::OpKind;
use std::collections::HashMap;

/// An op with its tensors.
#[derive(Debug, Clone)]
pub struct Signature {
    pub operation: u32,
    pub kind: Option<OpKind>,
    pub label: Option<u32>,
    pub device: Option<u32>,
    pub first_word: u32,
    pub word_count: u32,
    pub elements: usize,
    pub bytes: usize,
}

/// The signatures of a trace being put together, each kept once.
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

    /// The number of this signature, or none if it is new and there is no room for another one. `words` are
    /// headers and dims, without the op. `has_room` is asked once, for a new signature.
    pub fn signature(
        &mut self,
        operation: u32,
        kind: Option<OpKind>,
        label: Option<u32>,
        device: Option<u32>,
        words: &[usize],
        has_room: impl FnOnce() -> bool,
    ) -> Option<u32> {
        self.key.clear();
        self.key.push(operation as usize);
        self.key.push(kind.map_or(0, |kind| kind as usize + 1));
        self.key.push(label.map_or(0, |label| label as usize + 1));
        self.key
            .push(device.map_or(0, |device| device as usize + 1));
        self.key.extend_from_slice(words);
        if let Some(&id) = self.signature_ids.get(self.key.as_slice()) {
            return Some(id);
        }
        let id = self.signatures.len() as u32;
        if id > MAX_SIGNATURES || !has_room() {
            return None;
        }
        self.signature_ids.insert(self.key.as_slice().into(), id);
        let (count, bytes) = Parts::new(words)
            .filter(|(header, _)| header.role() == Role::Output)
            .fold((0usize, 0usize), |(count, bytes), (header, dims)| {
                let elements = elements(dims);
                (
                    count.saturating_add(elements),
                    bytes.saturating_add(header.dtype().bytes(elements)),
                )
            });
        self.signatures.push(Signature {
            operation,
            kind,
            label,
            device,
            first_word: self.words.len() as u32,
            word_count: words.len() as u32,
            elements: count,
            bytes,
        });
        self.words.extend_from_slice(words);
        Some(id)
    }
}

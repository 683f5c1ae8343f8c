//! The stream of tables: entries that rows refer to by number, as words.
//!
//! An entry contains its number, so entries can be read in any order and more than once.

use crate::model::OpKind;
use trace_core::__engine::extra_words::push_bytes;
use trace_core::__engine::rows::Thread;
use trace_core::__engine::storage::TableEntry;

const STRING: u64 = 1;
const OP: u64 = 2;
const SIGNATURE: u64 = 3;
const DEVICE: u64 = 4;
const THREAD: u64 = 5;
const METADATA: u64 = 6;
const STEP: u64 = 7;
const LOCATION: u64 = 8;

/// The words of an entry, or of two entries if a signature has a location. The first word consists of the kind, the
/// number of words and the number of the entry.
pub(crate) fn encode(entry: TableEntry<'_>) -> Vec<u64> {
    match entry {
        TableEntry::String { number, text } => with_text(STRING, number, &[], text),
        TableEntry::Op {
            number,
            name,
            kind,
            label,
        } => finish(
            OP,
            number,
            vec![0, pair(name, plus_one(label)), kind_code(kind)],
        ),
        TableEntry::Signature {
            number,
            signature,
            words,
        } => {
            let mut all = vec![
                0,
                pair(signature.operation, plus_one(signature.label)),
                kind_code(signature.kind) | u64::from(plus_one(signature.device)) << 32,
            ];
            all.extend(words.iter().map(|word| *word as u64));
            let mut entries = finish(SIGNATURE, number, all);
            // The location is a separate entry, which older readers skip.
            if let Some(location) = signature.location {
                entries.extend(finish(LOCATION, number, vec![0, u64::from(location)]));
            }
            entries
        }
        TableEntry::Device { code, name } => with_text(DEVICE, u32::from(code), &[], name),
        TableEntry::Thread { log, thread } => {
            let id = thread.id.map_or(0, |id| id.saturating_add(1));
            let rank = thread.rank.map_or(0, |rank| u64::from(rank) + 1);
            let has_name = u64::from(thread.name.is_some());
            let name = thread.name.as_deref().unwrap_or_default();
            with_text(THREAD, log, &[id, rank, has_name], name)
        }
    }
}

/// The words of a fact about the run.
pub(crate) fn encode_metadata(key: &str, value: &str) -> Vec<u64> {
    let text = format!("{key}{value}");
    with_text(METADATA, key.len() as u32, &[], &text)
}

/// The words of a marked step, with its ends in ticks.
pub(crate) fn encode_step(number: u64, start: u64, end: u64) -> Vec<u64> {
    finish(STEP, 0, vec![0, number, start, end])
}

fn with_text(kind: u64, number: u32, facts: &[u64], text: &str) -> Vec<u64> {
    let mut words = vec![0];
    words.extend_from_slice(facts);
    words.push(text.len() as u64);
    push_bytes(&mut words, text.as_bytes());
    finish(kind, number, words)
}

fn finish(kind: u64, number: u32, mut words: Vec<u64>) -> Vec<u64> {
    words[0] = kind | (words.len() as u64) << 8 | u64::from(number) << 32;
    words
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn plus_one(number: Option<u32>) -> u32 {
    number.map_or(0, |number| number + 1)
}

fn kind_code(kind: Option<OpKind>) -> u64 {
    kind.map_or(0, |kind| kind as u64 + 1)
}

/// An entry that was read.
#[derive(Debug, PartialEq)]
pub(crate) enum Decoded {
    String(u32, String),
    Op {
        number: u32,
        name: u32,
        kind: Option<OpKind>,
        label: Option<u32>,
    },
    Signature {
        number: u32,
        operation: u32,
        kind: Option<OpKind>,
        label: Option<u32>,
        device: Option<u32>,
        words: Vec<usize>,
    },
    /// The location of a signature: a string.
    Location {
        signature: u32,
        location: u32,
    },
    Device(u16, String),
    Thread(u32, Thread),
    Metadata(String, String),
    Step {
        number: u64,
        start: u64,
        end: u64,
    },
}

/// The entries in these words of the stream, which begin with an entry. Ends at words that are not an entry.
pub(crate) fn decode(mut words: &[u64]) -> impl Iterator<Item = Decoded> + '_ {
    std::iter::from_fn(move || {
        loop {
            let &first = words.first()?;
            let len = (first >> 8 & 0xff_ffff) as usize;
            if len == 0 {
                return None;
            }
            let (own, rest) = words.split_at_checked(len)?;
            words = rest;
            // Entries of an unknown kind come from a newer version and are skipped.
            if let Some(entry) = entry(first & 0xff, (first >> 32) as u32, &own[1..]) {
                return Some(entry);
            }
        }
    })
}

fn entry(kind: u64, number: u32, words: &[u64]) -> Option<Decoded> {
    let low = |word: u64| word as u32;
    let high = |word: u64| (word >> 32) as u32;
    let option = |number: u32| number.checked_sub(1);
    let op_kind = |code: u64| {
        OpKind::ALL
            .get((low(code) as usize).wrapping_sub(1))
            .copied()
    };
    Some(match (kind, words) {
        (STRING, text) => Decoded::String(number, text_of(text)?),
        (OP, &[name, kind, ..]) => Decoded::Op {
            number,
            name: low(name),
            label: option(high(name)),
            kind: op_kind(kind),
        },
        (SIGNATURE, [name, facts, words @ ..]) => Decoded::Signature {
            number,
            operation: low(*name),
            label: option(high(*name)),
            kind: op_kind(*facts),
            device: option(high(*facts)),
            words: words
                .iter()
                .map(|word| usize::try_from(*word).unwrap_or(usize::MAX))
                .collect(),
        },
        (DEVICE, text) => Decoded::Device(u16::try_from(number).ok()?, text_of(text)?),
        (THREAD, [id, rank, has_name, text @ ..]) => {
            let name = text_of(text)?;
            let thread = Thread {
                id: id.checked_sub(1),
                rank: rank
                    .checked_sub(1)
                    .and_then(|rank| u32::try_from(rank).ok()),
                name: (*has_name != 0).then_some(name),
            };
            Decoded::Thread(number, thread)
        }
        (METADATA, text) => {
            let text = text_of(text)?;
            let (key, value) = text.split_at_checked(number as usize)?;
            Decoded::Metadata(key.to_owned(), value.to_owned())
        }
        (LOCATION, &[location, ..]) => Decoded::Location {
            signature: number,
            location: u32::try_from(location).ok()?,
        },
        (STEP, &[number, start, end]) => Decoded::Step { number, start, end },
        _ => return None,
    })
}

/// A length in bytes and the bytes.
fn text_of(words: &[u64]) -> Option<String> {
    let (&len, words) = words.split_first()?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let bytes = bytes.get(..usize::try_from(len).ok()?)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::interner::{KnownOp, Signature};

    #[test]
    fn entries_are_read_back() {
        let thread = Thread {
            id: Some(0),
            rank: Some(3),
            name: Some(String::new()),
        };
        let op = KnownOp {
            kind: Some(OpKind::Compute),
            label: Some(7),
            location: Some(5),
            ..KnownOp::new(4)
        };
        let signature = Signature::new(op, Some(0), 0, &[]);
        let mut stream = Vec::new();
        stream.extend(encode(TableEntry::String {
            number: 4,
            text: "matmul ä",
        }));
        stream.extend(encode(TableEntry::Thread {
            log: 2,
            thread: &thread,
        }));
        stream.extend(encode(TableEntry::Signature {
            number: 9,
            signature: &signature,
            words: &[1, 2, 3],
        }));
        stream.extend(encode_metadata("key", "värde"));
        stream.extend(encode_step(3, 10, 20));
        let read: Vec<Decoded> = decode(&stream).collect();
        assert_eq!(
            read,
            [
                Decoded::String(4, "matmul ä".into()),
                Decoded::Thread(2, thread),
                Decoded::Signature {
                    number: 9,
                    operation: 4,
                    kind: Some(OpKind::Compute),
                    label: Some(7),
                    device: Some(0),
                    words: vec![1, 2, 3],
                },
                Decoded::Location {
                    signature: 9,
                    location: 5,
                },
                Decoded::Metadata("key".into(), "värde".into()),
                Decoded::Step {
                    number: 3,
                    start: 10,
                    end: 20
                },
            ]
        );
    }

    #[test]
    fn any_words_are_read_without_harm() {
        let mut stream = encode_metadata("key", "value");
        stream.extend(encode(TableEntry::String {
            number: 0,
            text: "x",
        }));
        for len in 0..stream.len() {
            assert!(decode(&stream[..len]).count() <= 1);
        }
        for (at, bit) in (0..stream.len()).flat_map(|at| (0..64).map(move |bit| (at, bit))) {
            let mut damaged = stream.clone();
            damaged[at] ^= 1 << bit;
            assert!(decode(&damaged).count() <= 2);
        }
    }
}

//! Extras as words, for chunks in a region: the extra of a row is in the row's block.

use super::rows::{OpRef, Pauses, RawExtra, RawPause};
use crate::PauseKind;
use std::borrow::Cow;

const DURATION: u64 = 1;
const SUSPENDED: u64 = 1 << 1;
const PARENT_ON_THREAD: u64 = 1 << 2;
const PARENT_TASK: u64 = 1 << 3;
const TASK: u64 = 1 << 4;
/// A word with the number of pauses, then three words for each.
const PAUSES: u64 = 1 << 5;

/// Encodes an extra in at most `most` words; values of `meta` that do not fit are cut short. The first word has the
/// step, flags for the words that follow, and the number of words.
pub fn encode(extra: &RawExtra, most: usize) -> Vec<u64> {
    let mut words = vec![0];
    let mut flags = 0;
    let mut add = |flag: u64, word: u64, words: &mut Vec<u64>| {
        flags |= flag;
        words.push(word);
    };
    if let Some(duration) = extra.duration {
        add(DURATION, duration, &mut words);
    }
    if extra.suspended > 0 {
        add(SUSPENDED, extra.suspended, &mut words);
    }
    match extra.parent {
        Some(OpRef::OnThread { uid, step }) => {
            let word = u64::from(uid) << 32 | u64::from(step);
            add(PARENT_ON_THREAD, word, &mut words);
        }
        Some(OpRef::Task(task)) => add(PARENT_TASK, u64::from(task), &mut words),
        None => {}
    }
    if let Some(task) = extra.task {
        add(TASK, u64::from(task), &mut words);
    }
    if let Some(Pauses(pauses)) = extra
        .pauses
        .as_deref()
        .filter(|pauses| !pauses.0.is_empty())
    {
        let fit = most.saturating_sub(words.len() + 1) / 3;
        let pauses = &pauses[..pauses.len().min(fit)];
        add(PAUSES, pauses.len() as u64, &mut words);
        for pause in pauses {
            let kind = PauseKind::ALL.iter().position(|kind| *kind == pause.kind);
            words.extend([kind.unwrap_or(0) as u64, pause.from, pause.until]);
        }
    }
    let mut room = most.min(usize::from(u16::MAX)).saturating_sub(words.len()) * 8;
    let mut bytes = Vec::new();
    for (key, value) in &extra.meta {
        let Some(left) = room.checked_sub(8 + key.len()) else {
            break;
        };
        let value = &value[..value.floor_char_boundary_at(left)];
        for len in [key.len(), value.len()] {
            bytes.extend_from_slice(&(len as u32).to_le_bytes());
        }
        bytes.extend_from_slice(key.as_bytes());
        bytes.extend_from_slice(value.as_bytes());
        room = left - value.len();
    }
    push_bytes(&mut words, &bytes);
    words[0] = u64::from(extra.step) | flags << 32 | (words.len() as u64) << 48;
    words
}

/// The extra at the front of these words, and the words after it. `None` if they are not an extra.
pub fn decode(words: &[u64]) -> Option<(RawExtra, &[u64])> {
    let &first = words.first()?;
    let (own, rest) = words.split_at_checked((first >> 48) as usize)?;
    let mut own = own.get(1..)?;
    let flags = first >> 32 & 0xffff;
    let mut next = |flag: u64| -> Option<Option<u64>> {
        if flags & flag == 0 {
            return Some(None);
        }
        let (&word, after) = own.split_first()?;
        own = after;
        Some(Some(word))
    };
    let duration = next(DURATION)?;
    let suspended = next(SUSPENDED)?.unwrap_or(0);
    let on_thread = next(PARENT_ON_THREAD)?.map(|word| OpRef::OnThread {
        uid: (word >> 32) as u32,
        step: word as u32,
    });
    let in_task = next(PARENT_TASK)?.map(|task| OpRef::Task(task as u32));
    let task = next(TASK)?.map(|task| task as u32);
    let count = next(PAUSES)?;
    let pauses = match count {
        Some(count) => {
            let (listed, after) =
                own.split_at_checked(usize::try_from(count).ok()?.checked_mul(3)?)?;
            own = after;
            Some(Box::new(decode_pauses(listed)))
        }
        None => None,
    };
    let extra = RawExtra {
        step: first as u32,
        duration,
        suspended,
        pauses,
        parent: on_thread.or(in_task),
        task,
        meta: decode_meta(own),
    };
    Some((extra, rest))
}

/// Pauses of a kind that this version does not know are left out.
fn decode_pauses(words: &[u64]) -> Pauses {
    let (listed, _) = words.as_chunks::<3>();
    let pauses = listed.iter().filter_map(|&[kind, from, until]| {
        let kind = *PauseKind::ALL.get(usize::try_from(kind).ok()?)?;
        Some(RawPause { kind, from, until })
    });
    Pauses(pauses.collect())
}

fn decode_meta(words: &[u64]) -> Vec<(Cow<'static, str>, String)> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut left = bytes.as_slice();
    let mut meta = Vec::new();
    while let Some((lens, after)) = left.split_first_chunk::<8>() {
        let lens = u64::from_le_bytes(*lens);
        let (key, value) = (lens as u32 as usize, (lens >> 32) as usize);
        // Zeros fill the last word: a key is never empty.
        let Some((key, after)) = after.split_at_checked(key).filter(|_| key > 0) else {
            break;
        };
        let Some((value, after)) = after.split_at_checked(value) else {
            break;
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        meta.push((text(key).into(), text(value)));
        left = after;
    }
    meta
}

/// Appends bytes, eight to a word. Zeros fill the last one.
pub fn push_bytes(words: &mut Vec<u64>, bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    words.extend(whole.iter().map(|bytes| u64::from_le_bytes(*bytes)));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        words.push(u64::from_le_bytes(last));
    }
}

trait CutText {
    /// The largest length up to `most` that ends between two characters.
    fn floor_char_boundary_at(&self, most: usize) -> usize;
}

impl CutText for str {
    fn floor_char_boundary_at(&self, most: usize) -> usize {
        let mut at = most.min(self.len());
        while !self.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> RawExtra {
        RawExtra {
            step: 7,
            duration: Some(u64::MAX),
            suspended: 3,
            pauses: Some(Box::new(Pauses(vec![RawPause {
                kind: PauseKind::Sync,
                from: 5,
                until: u64::MAX,
            }]))),
            parent: Some(OpRef::OnThread { uid: 1, step: 2 }),
            task: Some(9),
            meta: vec![("batch".into(), "32".into()), ("text".into(), "äöü".into())],
        }
    }

    #[test]
    fn extras_are_read_back() {
        let in_task = RawExtra {
            step: u32::MAX,
            parent: Some(OpRef::Task(4)),
            ..RawExtra::default()
        };
        let mut words = encode(&whole(), 100);
        words.extend(encode(&in_task, 100));
        let (first, rest) = decode(&words).expect("whole");
        assert_eq!(first, whole());
        let (second, rest) = decode(rest).expect("whole");
        assert_eq!((second, rest.len()), (in_task, 0));
    }

    #[test]
    fn texts_are_cut_to_the_room() {
        for most in 0..20 {
            let words = encode(&whole(), most);
            assert!(words.len() <= most.max(6), "{most}: {}", words.len());
            let (extra, _) = decode(&words).expect("an extra");
            assert_eq!(extra.task, Some(9));
            for (cut, text) in extra.meta.iter().zip(whole().meta) {
                assert!(cut.0 == text.0 && text.1.starts_with(&cut.1));
            }
        }
    }

    #[test]
    fn any_words_decode_to_an_extra_or_none() {
        let words = encode(&whole(), 100);
        for len in 0..words.len() {
            assert!(decode(&words[..len]).is_none());
        }
        for (at, bit) in (0..words.len()).flat_map(|at| (0..64).map(move |bit| (at, bit))) {
            let mut damaged = words.clone();
            damaged[at] ^= 1 << bit;
            let _ = decode(&damaged);
        }
    }
}

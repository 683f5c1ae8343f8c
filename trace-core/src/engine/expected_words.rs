//! The words of the signatures that a thread knows, which the descriptions of its ops are compared with.
//!
//! They never move, so the place of the next expected word is one pointer, and comparing a tensor takes no check of bounds.
//! `unsafe` is needed to read through that pointer. The proof is in two rules. An [`At`] is always in front of a header or
//! of the [end](Header::end) of a signature, and it advances only past words that are equal: a header and as many words as
//! that header has after it. A header is never equal to an end, so an `At` never leaves its signature.

use super::signature::{Header, LONG_RANK};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Words in the first slab; each further one is twice as large.
const FIRST_WORDS: usize = 128;

/// Signatures one after the other, each followed by its end.
#[derive(Debug)]
pub(crate) struct ExpectedWords {
    slabs: Vec<Slab>,
}

/// Words that neither move nor change once they are used.
#[derive(Debug)]
struct Slab {
    words: NonNull<[usize]>,
    used: usize,
    /// Index of its first word among those of all slabs.
    first: usize,
}

impl ExpectedWords {
    pub(crate) const fn new() -> ExpectedWords {
        ExpectedWords { slabs: Vec::new() }
    }

    /// Adds a signature and its end. Returns the index of its first word, or `None` if the indices have run out.
    pub(crate) fn add(&mut self, words: &[usize], end: Header) -> Option<u32> {
        let needed = words.len() + 1;
        let last = self.slabs.last();
        if last.is_none_or(|last| last.words.len() - last.used < needed) {
            let (first, len) = last.map_or((0, FIRST_WORDS / 2), |last| {
                (last.first + last.words.len(), last.words.len())
            });
            self.slabs.push(Slab::new(first, (2 * len).max(needed)));
        }
        let slab = self.slabs.last_mut()?;
        let index = slab.first + slab.used;
        u32::try_from(index + needed).ok()?;
        slab.push(words);
        slab.push(&[end.0]);
        Some(index as u32)
    }

    /// Words of one signature, by their indices.
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn get(&self, words: std::ops::Range<usize>) -> Option<&[usize]> {
        let slab = self.slab_of(words.start)?;
        // SAFETY: the slab has as many words, and those that are used do not change. They are freed when `self` is
        // dropped.
        let used =
            unsafe { std::slice::from_raw_parts(slab.words.cast::<usize>().as_ptr(), slab.used) };
        used.get(words.start - slab.first..words.end.checked_sub(slab.first)?)
    }

    fn slab_of(&self, index: usize) -> Option<&Slab> {
        let after = self.slabs.partition_point(|slab| slab.first <= index);
        self.slabs.get(after.checked_sub(1)?)
    }

    /// The place of a word.
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn at(&self, index: usize) -> At {
        match self.slab_of(index) {
            // SAFETY: the word is in the slab.
            Some(slab) if index - slab.first < slab.used => {
                At(unsafe { slab.words.cast::<usize>().add(index - slab.first) })
            }
            _ => At::NOWHERE,
        }
    }

    /// The index of a place.
    pub(crate) fn index_of(&self, at: At) -> Option<usize> {
        self.slabs.iter().rev().find_map(|slab| {
            let bytes = at.0.addr().get().wrapping_sub(slab.words.addr().get());
            let offset = bytes / size_of::<usize>();
            (offset < slab.used).then_some(slab.first + offset)
        })
    }
}

impl Slab {
    fn new(first: usize, words: usize) -> Slab {
        Slab {
            words: NonNull::from(Box::leak(vec![0; words].into_boxed_slice())),
            used: 0,
            first,
        }
    }

    /// Adds words. There is room for them.
    #[allow(unsafe_code, reason = "see the module")]
    fn push(&mut self, words: &[usize]) {
        assert!(words.len() <= self.words.len() - self.used);
        // SAFETY: there is room for them, and nothing refers to words that are not used yet.
        unsafe {
            let unused = self.words.cast::<usize>().add(self.used);
            unused.copy_from_nonoverlapping(NonNull::from(words).cast(), words.len());
        }
        self.used += words.len();
    }
}

impl Drop for Slab {
    #[allow(unsafe_code, reason = "see the module")]
    fn drop(&mut self) {
        // SAFETY: the words are those of a box, and only this slab frees them.
        drop(unsafe { Box::from_raw(self.words.as_ptr()) });
    }
}

// SAFETY: a slab owns its words.
#[allow(unsafe_code, reason = "see above")]
unsafe impl Send for Slab {}
// SAFETY: as above; shared, its words are only read.
#[allow(unsafe_code, reason = "see above")]
unsafe impl Sync for Slab {}

/// The place of the next expected word: a header, or the end of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At(NonNull<usize>);

/// Neither a header that a description has, nor an end.
static NO_WORD: usize = Header::NONE.0;

impl At {
    /// No word is expected: the op differs from its latest signature.
    #[allow(unsafe_code, reason = "see the module")]
    // SAFETY: the address of a static is not null.
    pub(crate) const NOWHERE: At =
        At(unsafe { NonNull::new_unchecked((&raw const NO_WORD).cast_mut()) });

    #[inline]
    pub(crate) fn is_nowhere(self) -> bool {
        self == At::NOWHERE
    }

    /// A number that no other place of the same [`ExpectedWords`] has.
    pub(crate) fn address(self) -> usize {
        self.0.addr().get()
    }

    /// The place after a header and the words that belong to it, if they are the expected ones.
    ///
    /// # Safety
    ///
    /// The [`ExpectedWords`] that this place is in exist. `header` has `N` words after it in every signature.
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) unsafe fn after<const N: usize>(
        self,
        header: Header,
        words: [usize; N],
    ) -> Option<At> {
        // SAFETY: a place is in front of a word.
        if unsafe { self.0.read() } != header.0 {
            return None;
        }
        for (index, word) in words.into_iter().enumerate() {
            // SAFETY: the header is the same one, so `N` words and at least the end of the signature are after it.
            if unsafe { self.0.add(1 + index).read() } != word {
                return None;
            }
        }
        // SAFETY: as above.
        Some(At(unsafe { self.0.add(1 + N) }))
    }

    /// The place after a header and its dims, if they are the expected ones.
    ///
    /// # Safety
    ///
    /// The [`ExpectedWords`] that this place is in exist. `header` is that of a tensor with these dims.
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) unsafe fn after_long(self, header: Header, dims: &[usize]) -> Option<At> {
        // SAFETY: a place is in front of a word.
        if unsafe { self.0.read() } != header.0 {
            return None;
        }
        // SAFETY: the header is the same one, so as many dims are after it, below `LONG_RANK`. From there on their number
        // is, and the dims only if it is the same.
        unsafe {
            let mut next = self.0.add(1);
            if dims.len() >= LONG_RANK {
                if next.read() != dims.len() {
                    return None;
                }
                next = next.add(1);
            }
            for (index, dim) in dims.iter().enumerate() {
                if next.add(index).read() != *dim {
                    return None;
                }
            }
            Some(At(next.add(dims.len())))
        }
    }

    /// The [facts](super::chunk::facts) of the row of an op that went well, whose signature ends here. None if it does not.
    /// The duration is below [`LONG_DURATION`](super::chunk::LONG_DURATION).
    ///
    /// # Safety
    ///
    /// As for [`after`](Self::after).
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) unsafe fn facts(self, duration: u64) -> Option<u64> {
        // SAFETY: a place is in front of a word.
        Header(unsafe { self.0.read() }).facts_at_end(duration)
    }

    /// The number of the signature that ends here. None if none does.
    ///
    /// # Safety
    ///
    /// As for [`after`](Self::after).
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) unsafe fn ended(self) -> Option<u32> {
        // SAFETY: a place is in front of a word.
        Header(unsafe { self.0.read() }).ended()
    }

    /// The number of the signature that this place is in, which is not [`NOWHERE`](Self::NOWHERE), at the bits that it has
    /// in a row.
    ///
    /// # Safety
    ///
    /// As for [`after`](Self::after).
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) unsafe fn signature(mut self) -> u64 {
        loop {
            // SAFETY: a place is in front of a word, and the words of a header are after it.
            unsafe {
                let header = Header(self.0.read());
                if let Some(facts) = header.facts_at_end(0) {
                    return facts;
                }
                let words = header.words_after(|| self.0.add(1).read());
                self = At(self.0.add(1 + words));
            }
        }
    }
}

// SAFETY: it is an address. What reads through it states when it may.
#[allow(unsafe_code, reason = "see above")]
unsafe impl Send for At {}
// SAFETY: as above.
#[allow(unsafe_code, reason = "see above")]
unsafe impl Sync for At {}

/// A place that changes. Only one thread writes it, so that reading it costs no more than a load.
#[derive(Debug)]
pub(crate) struct AtCell(AtomicPtr<usize>);

impl AtCell {
    pub(crate) const fn nowhere() -> AtCell {
        AtCell(AtomicPtr::new(At::NOWHERE.0.as_ptr()))
    }

    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn get(&self) -> At {
        // SAFETY: only places are stored.
        At(unsafe { NonNull::new_unchecked(self.0.load(Ordering::Relaxed)) })
    }

    #[inline]
    pub(crate) fn set(&self, at: At) {
        self.0.store(at.0.as_ptr(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::signature::{Role, push_tensor};
    use crate::{DType, Device};

    fn header(rank: usize) -> Header {
        Header::tensor(Role::Input, rank, DType::F32, Device::Cpu)
    }

    #[test]
    #[allow(unsafe_code, reason = "the words exist")]
    fn a_place_advances_past_equal_words_up_to_the_end() {
        let mut known = ExpectedWords::new();
        let first = known.add(&[7, header(2).0, 3, 4, header(0).0], Header::end(5));
        let at = known.at(first.unwrap() as usize + 1);
        // SAFETY: `known` exists, and ranks are those of the words.
        unsafe {
            assert_eq!(at.signature(), at.signature());
            assert!(at.after(header(2), [3, 5]).is_none());
            assert!(at.after(header(1), [3]).is_none());
            assert!(at.facts(9).is_none());
            let at = at.after(header(2), [3, 4]).unwrap();
            assert_eq!(known.index_of(at), Some(4));
            let at = at.after(header(0), []).unwrap();
            assert!(at.after(header(0), []).is_none());
            assert_eq!(at.ended(), Some(5));
            assert_eq!(at.facts(9), Some(at.signature() | 9));
            assert!(At::NOWHERE.ended().is_none() && At::NOWHERE.facts(0).is_none());
        }
        assert_eq!(known.index_of(At::NOWHERE), None);
    }

    #[test]
    #[allow(unsafe_code, reason = "the words exist")]
    fn words_do_not_move_when_others_are_added() {
        let mut known = ExpectedWords::new();
        let mut places = Vec::new();
        for number in 0..500 {
            let dims = vec![number as usize; number as usize % 80];
            let mut words = vec![number as usize];
            push_tensor(&mut words, Role::Input, &dims, DType::F32, Device::Cpu);
            let first = known.add(&words, Header::end(number)).unwrap() as usize;
            places.push((first, words, known.at(first + 1)));
        }
        for (number, (first, words, at)) in places.iter().enumerate() {
            assert_eq!(known.get(*first..first + words.len()), Some(&words[..]));
            assert_eq!(known.index_of(*at), Some(first + 1));
            assert_eq!(known.at(first + 1), *at);
            let rank = words[1] & LONG_RANK;
            assert!(rank == LONG_RANK || rank + 2 == words.len());
            // SAFETY: `known` exists.
            let signature = unsafe { at.signature() };
            assert_eq!(
                signature,
                crate::engine::chunk::facts(0, number as u32, crate::Outcome::Ok)
            );
        }
    }
}

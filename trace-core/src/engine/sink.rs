//! What a tensor says of itself while an op is recorded.

use super::log::Shared;
use super::signatures::KnownSignatures;
use crate::describe::Describe;
use crate::engine::signature::{Fact, Header, LONG_RANK, Role};
use crate::library::Library;
use crate::{DType, Device};

/// Takes the descriptions of an op's tensors.
///
/// An op mostly says what it said the last time. So each word is first compared with the last
/// signature of the same function, and nothing is stored while they agree. From the first word that
/// differs on, words are put on a stack: an op's inputs lie below everything its children say, and its
/// outputs follow once the children are gone, so that each op's words end up side by side.
#[derive(Debug)]
pub struct TensorSink {
    known: KnownSignatures,
    /// Where in `known` the next word is expected, or [`NOWHERE`]. It fits 32 bits; were it stored in them,
    /// it would be loaded together with its neighbour, and that waits for the stores of both.
    at: usize,
    role: Role,
    failed: bool,
    said: Words,
    meta: Vec<(&'static str, String)>,
}

/// What an op has said so far, so that it can go on after its children.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said {
    at: u32,
    base: u32,
    top: u32,
}

/// Past the end of everything known: an op has said something else than the last time.
const NOWHERE: usize = u32::MAX as usize;
/// Room for some forty tensors before the first allocation.
const FIRST_WORDS: usize = 128;

impl TensorSink {
    pub(crate) const fn new() -> TensorSink {
        TensorSink {
            known: KnownSignatures::new(),
            at: NOWHERE,
            role: Role::Input,
            failed: false,
            said: Words::new(),
            meta: Vec::new(),
        }
    }

    /// One tensor: its dims, outermost first, its element type and where it lives.
    ///
    /// A scalar tensor has no dims.
    #[inline]
    pub fn tensor(&mut self, dims: &[usize], dtype: DType, device: Device) {
        let header = Header::tensor(self.role, dims.len(), dtype, device);
        // A short rank is handled by hand: a loop or a call to `memcpy` costs more than the words.
        match *dims {
            [] => self.say([header.0]),
            [a] => self.say([header.0, a]),
            [a, b] => self.say([header.0, a, b]),
            [a, b, c] => self.say([header.0, a, b, c]),
            [a, b, c, d] => self.say([header.0, a, b, c, d]),
            _ => self.long(header, dims),
        }
    }

    #[inline(never)]
    fn long(&mut self, header: Header, dims: &[usize]) {
        self.say([header.0]);
        if dims.len() >= LONG_RANK {
            self.say([dims.len()]);
        }
        for &dim in dims {
            self.say([dim]);
        }
    }

    /// Nothing is written while an op says what it said the last time.
    #[inline]
    fn say<const N: usize>(&mut self, words: [usize; N]) {
        // Looking past the end of the signature does no harm: `number` asks for its exact end.
        if let Some(known) = self.known.words_at::<N>(self.at as u32) {
            // Word by word: comparing arrays stores `words` and loads them in other widths, which
            // waits for the stores each time.
            let mut differing = 0;
            for (known, word) in known.iter().zip(words) {
                differing |= known ^ word;
            }
            if differing == 0 {
                self.at += N;
                return;
            }
        }
        // In registers: an array would be stored here even when everything agrees.
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        self.say_otherwise(N, word(0), word(1), word(2), word(3), word(4));
    }

    #[cold]
    #[inline(never)]
    #[allow(
        clippy::many_single_char_names,
        reason = "they are the words, in order"
    )]
    fn say_otherwise(&mut self, n: usize, a: usize, b: usize, c: usize, d: usize, e: usize) {
        self.disagree();
        self.said.push(&[a, b, c, d, e][..n.min(5)]);
    }

    /// Puts what agreed so far on the stack, to go on from there.
    fn disagree(&mut self) {
        if self.at == NOWHERE {
            return;
        }
        self.said.push(self.known.words_up_to(self.at as u32));
        self.at = NOWHERE;
    }

    /// Opens a new op's words with its number; what is described next are its inputs.
    #[inline]
    pub(crate) fn begin(&mut self, op: u32) -> u32 {
        self.role = Role::Input;
        let base = self.said.top as u32;
        self.at = match self.known.latest_of(op) {
            0 => self.begin_unexpected(op),
            at => at as usize,
        };
        base
    }

    #[cold]
    #[inline(never)]
    fn begin_unexpected(&mut self, op: u32) -> usize {
        self.said.push(&[op as usize]);
        NOWHERE
    }

    /// Lets tensors of the op whose words begin at `base` describe themselves. If that panics, it has said
    /// nothing.
    #[inline]
    pub(crate) fn tell(&mut self, base: u32, tensors: impl Describe) {
        struct Undo<'a>(&'a mut TensorSink, u32);
        impl Drop for Undo<'_> {
            #[inline]
            fn drop(&mut self) {
                self.0.said.top = self.1 as usize;
                self.0.meta.clear();
            }
        }
        let undo = Undo(self, base);
        tensors.describe(undo.0);
        std::mem::forget(undo);
    }

    /// What is described next are inputs, said at the end of an op.
    pub(crate) fn begin_inputs(&mut self) {
        self.role = Role::Input;
    }

    /// What is described next are outputs.
    #[inline]
    pub(crate) fn begin_outputs(&mut self) {
        self.role = Role::Output;
        self.failed = false;
    }

    /// What the op whose words begin at `base` has said, to be [taken up](Self::resume) again.
    #[inline]
    pub(crate) fn said(&self, base: u32) -> Said {
        Said {
            at: self.at as u32,
            base,
            top: self.said.top as u32,
        }
    }

    /// Goes on where an op stood before its children began.
    #[inline]
    pub(crate) fn resume(&mut self, said: Said) {
        self.at = said.at as usize;
    }

    /// Takes back what an op began to say after that.
    pub(crate) fn rewind(&mut self, said: Said) {
        self.said.top = said.top as usize;
        self.resume(said);
    }

    /// Ends an op's words: the number of their signature, or none when the session has too many.
    #[inline]
    pub(crate) fn number(&mut self, said: Said, shared: &Shared) -> Option<u32> {
        if let Some(number) = self.known.ends_at(self.at as u32) {
            self.said.top = said.base as usize;
            return Some(number);
        }
        self.look_up(said, shared)
    }

    #[inline(never)]
    fn look_up(&mut self, said: Said, shared: &Shared) -> Option<u32> {
        self.disagree();
        let base = said.base as usize;
        let words = self.said.words.get(base..self.said.top).unwrap_or_default();
        self.said.top = base;
        self.known.number(words, shared)
    }

    /// The words of an op that is not on this thread's stack, and takes them off it.
    pub(crate) fn take_words(&mut self, base: u32) -> Vec<usize> {
        self.disagree();
        let words = self
            .said
            .words
            .get(base as usize..self.said.top)
            .unwrap_or_default()
            .to_vec();
        self.said.top = base as usize;
        words
    }

    /// Puts words said elsewhere on the stack.
    pub(crate) fn restore(&mut self, words: &[usize]) -> u32 {
        let base = self.said.top as u32;
        self.at = NOWHERE;
        self.said.push(words);
        base
    }

    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    pub(crate) fn take_meta(&mut self) -> Vec<(&'static str, String)> {
        std::mem::take(&mut self.meta)
    }

    #[inline]
    pub(crate) fn has_meta(&self) -> bool {
        !self.meta.is_empty()
    }

    /// The op's result is an error: its outcome is `error`. Said instead of an output.
    #[doc(hidden)]
    #[inline]
    pub fn __failed(&mut self) {
        self.failed = true;
    }

    /// The op has a tensor of this library that is not recorded.
    pub(crate) fn unrecorded(&mut self, library: Library) {
        self.say([Header::unrecorded(library).0]);
    }

    #[doc(hidden)]
    pub fn __device(&mut self, device: impl Into<Device>) {
        let header = Header::fact(Fact::Device, 0, device.into());
        self.say([header.0]);
    }

    #[doc(hidden)]
    pub fn __flops(&mut self, flops: u64) {
        self.number_fact(Fact::Flops, flops);
    }

    #[doc(hidden)]
    pub fn __bytes(&mut self, bytes: u64) {
        self.number_fact(Fact::BytesMoved, bytes);
    }

    fn number_fact(&mut self, fact: Fact, value: u64) {
        let header = Header::fact(fact, 1, Device::Unknown);
        self.say([header.0, usize::try_from(value).unwrap_or(usize::MAX)]);
    }

    #[doc(hidden)]
    #[cold]
    pub fn __meta(&mut self, key: &'static str, value: &dyn std::fmt::Display) {
        self.meta.push((key, value.to_string()));
    }
}

/// Words of ops that said something else than the last time, on top of each other. Never shrinks.
#[derive(Debug)]
struct Words {
    top: usize,
    words: Vec<usize>,
}

impl Words {
    const fn new() -> Words {
        Words {
            top: 0,
            words: Vec::new(),
        }
    }

    fn push(&mut self, words: &[usize]) {
        let end = self.top + words.len();
        if end > self.words.len() {
            let len = (self.words.len() * 2).max(end).max(FIRST_WORDS);
            self.words.resize(len, 0);
        }
        self.words[self.top..end].copy_from_slice(words);
        self.top = end;
    }
}

#[cfg(test)]
impl TensorSink {
    /// Everything said since the sink was made.
    pub(crate) fn since(&self, base: usize) -> &[usize] {
        &self.said.words[base..self.said.top]
    }
}

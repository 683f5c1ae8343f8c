//! Receives the descriptions of an op's tensors while it is recorded.

use super::log::Shared;
use super::signatures::KnownSignatures;
use crate::describe::Describe;
use crate::engine::signature::{Fact, Header, LONG_RANK, Role};
use crate::library::Library;
use crate::{DType, Device};

/// Takes the descriptions of an op's tensors.
///
/// Most executions of an op have the same tensors as the one before. So each word of a description is first compared
/// with the latest signature of the same op, and nothing is stored while they are equal. From the first word that
/// differs, words are put on a stack. The words of an op's inputs are below those of its children, which are removed
/// when the children end, so that the words of its outputs follow those of its inputs.
#[derive(Debug)]
pub struct TensorSink {
    known: KnownSignatures,
    /// Where in `known` the next word is expected, or [`NOWHERE`]. It fits 32 bits; were it stored in them,
    /// it would be loaded together with its neighbour, and that waits for the stores of both.
    at: usize,
    role: Role,
    failed: bool,
    stack: WordStack,
    meta: Vec<(&'static str, String)>,
}

/// How far an op has been described, to continue after its children.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpWords {
    at: u32,
    base: u32,
    top: u32,
}

/// Past the end of all known signatures: the op differs from its latest signature.
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
            stack: WordStack::new(),
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
            [] => self.write([header.0]),
            [a] => self.write([header.0, a]),
            [a, b] => self.write([header.0, a, b]),
            [a, b, c] => self.write([header.0, a, b, c]),
            [a, b, c, d] => self.write([header.0, a, b, c, d]),
            _ => self.long(header, dims),
        }
    }

    #[inline(never)]
    fn long(&mut self, header: Header, dims: &[usize]) {
        self.write([header.0]);
        if dims.len() >= LONG_RANK {
            self.write([dims.len()]);
        }
        for &dim in dims {
            self.write([dim]);
        }
    }

    /// Stores nothing while the words are those of the op's latest signature.
    #[inline]
    fn write<const N: usize>(&mut self, words: [usize; N]) {
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
        self.write_new(N, word(0), word(1), word(2), word(3), word(4));
    }

    #[cold]
    #[inline(never)]
    #[allow(
        clippy::many_single_char_names,
        reason = "they are the words, in order"
    )]
    fn write_new(&mut self, n: usize, a: usize, b: usize, c: usize, d: usize, e: usize) {
        self.leave_known();
        self.stack.push(&[a, b, c, d, e][..n.min(5)]);
    }

    /// Puts the words that were equal so far on the stack, and continues there.
    fn leave_known(&mut self) {
        if self.at == NOWHERE {
            return;
        }
        self.stack.push(self.known.words_up_to(self.at as u32));
        self.at = NOWHERE;
    }

    /// Opens a new op's words with its number; what is described next are its inputs.
    #[inline]
    pub(crate) fn begin(&mut self, op: u32) -> u32 {
        self.role = Role::Input;
        let base = self.stack.top as u32;
        self.at = match self.known.latest_of(op) {
            0 => self.begin_unexpected(op),
            at => at as usize,
        };
        base
    }

    #[cold]
    #[inline(never)]
    fn begin_unexpected(&mut self, op: u32) -> usize {
        self.stack.push(&[op as usize]);
        NOWHERE
    }

    /// Lets tensors of the op whose words begin at `base` describe themselves. If that panics, it is as
    /// if they had not.
    #[inline]
    pub(crate) fn describe(&mut self, base: u32, tensors: impl Describe) {
        struct Undo<'a>(&'a mut TensorSink, u32);
        impl Drop for Undo<'_> {
            #[inline]
            fn drop(&mut self) {
                self.0.stack.top = self.1 as usize;
                self.0.meta.clear();
            }
        }
        let undo = Undo(self, base);
        tensors.describe(undo.0);
        std::mem::forget(undo);
    }

    /// The next descriptions are of inputs, at the end of an op.
    pub(crate) fn begin_inputs(&mut self) {
        self.role = Role::Input;
    }

    /// The next descriptions are of outputs.
    #[inline]
    pub(crate) fn begin_outputs(&mut self) {
        self.role = Role::Output;
        self.failed = false;
    }

    /// How far the op whose words begin at `base` has been described, for [`resume`](Self::resume).
    #[inline]
    pub(crate) fn op_words(&self, base: u32) -> OpWords {
        OpWords {
            at: self.at as u32,
            base,
            top: self.stack.top as u32,
        }
    }

    /// Continues with an op after its children.
    #[inline]
    pub(crate) fn resume(&mut self, op: OpWords) {
        self.at = op.at as usize;
    }

    /// Removes the descriptions that an op got after that.
    pub(crate) fn rewind(&mut self, op: OpWords) {
        self.stack.top = op.top as usize;
        self.resume(op);
    }

    /// Ends an op's words: the number of their signature, or none when the session has too many.
    #[inline]
    pub(crate) fn number(&mut self, op: OpWords, shared: &Shared) -> Option<u32> {
        if let Some(number) = self.known.ends_at(self.at as u32) {
            self.stack.top = op.base as usize;
            return Some(number);
        }
        self.look_up(op, shared)
    }

    #[inline(never)]
    fn look_up(&mut self, op: OpWords, shared: &Shared) -> Option<u32> {
        self.leave_known();
        let base = op.base as usize;
        let words = self
            .stack
            .words
            .get(base..self.stack.top)
            .unwrap_or_default();
        self.stack.top = base;
        self.known.number(words, shared)
    }

    /// Removes the words of an op from the stack and returns them: the op may end on another thread.
    pub(crate) fn take_words(&mut self, base: u32) -> Vec<usize> {
        self.leave_known();
        let words = self
            .stack
            .words
            .get(base as usize..self.stack.top)
            .unwrap_or_default()
            .to_vec();
        self.stack.top = base as usize;
        words
    }

    /// Puts words from elsewhere on the stack.
    pub(crate) fn restore(&mut self, words: &[usize]) -> u32 {
        let base = self.stack.top as u32;
        self.at = NOWHERE;
        self.stack.push(words);
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

    /// The op's result is an error: its outcome is `error`. OpWords instead of an output.
    #[doc(hidden)]
    #[inline]
    pub fn __failed(&mut self) {
        self.failed = true;
    }

    /// The op has a tensor of this library that is not recorded.
    pub(crate) fn unrecorded(&mut self, library: Library) {
        self.write([Header::unrecorded(library).0]);
    }

    #[doc(hidden)]
    pub fn __device(&mut self, device: impl Into<Device>) {
        let header = Header::fact(Fact::Device, 0, device.into());
        self.write([header.0]);
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
        self.write([header.0, usize::try_from(value).unwrap_or(usize::MAX)]);
    }

    #[doc(hidden)]
    #[cold]
    pub fn __meta(&mut self, key: &'static str, value: &dyn std::fmt::Display) {
        self.meta.push((key, value.to_string()));
    }
}

/// The words of ops that differ from their latest signature, the innermost op's on top. Never shrinks.
#[derive(Debug)]
struct WordStack {
    top: usize,
    words: Vec<usize>,
}

impl WordStack {
    const fn new() -> WordStack {
        WordStack {
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
    /// All words since the sink was made.
    pub(crate) fn since(&self, base: usize) -> &[usize] {
        &self.stack.words[base..self.stack.top]
    }
}

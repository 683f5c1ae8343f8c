//! Receives the descriptions of an op's tensors while it is recorded.

use super::failures::{self, expression};
use super::log::Shared;
use super::rows::Meta;
use super::signatures::{Expected, KnownSignatures, Latest};
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
    /// A cache: the number of the signature that consists only of an op's inputs, found by the index in `known` at
    /// which the inputs end.
    inputs: Vec<(u32, u32)>,
    known: KnownSignatures,
    /// Index in `known` of the next expected word, or [`NOWHERE`]. It would fit 32 bits, but then it would be loaded
    /// together with its neighbour, and that load waits for the stores of both.
    at: usize,
    role: Role,
    /// Flags of the outputs: [`FAILED`] and [`PANICKED`].
    unusual: u8,
    /// The latest signature of the op that [`begin`](Self::begin) began.
    latest: Latest,
    /// Index on the stack of the first word of the op that is being described, if `at` is [`NOWHERE`].
    base: usize,
    stack: WordStack,
    meta: Meta,
}

/// The words of an op that have been described so far, to continue after its children.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpWords {
    /// Index of the next word in the known signatures, or [`NOWHERE`].
    pub(crate) at: usize,
    /// The words of the op on the stack; empty if they are those of a known signature.
    base: u32,
    top: u32,
}

impl OpWords {
    /// The words of an op that agree with a known signature so far. `top` is the end of the words of the ops around it.
    pub(crate) fn known(at: usize, top: u32) -> OpWords {
        OpWords { at, base: top, top }
    }

    /// Top of the stack after the op's inputs.
    pub(crate) fn top(self) -> u32 {
        self.top
    }
}

/// Past the end of all known signatures: the op differs from its latest signature.
pub(crate) const NOWHERE: usize = usize::MAX;
const RECENT_INPUTS: usize = 64;
/// The op's result is an error.
const FAILED: u8 = 1;
/// The user's code panicked while it described the outputs.
const PANICKED: u8 = 2;
/// Room for about forty tensors before the first allocation.
const FIRST_WORDS: usize = 128;

impl TensorSink {
    pub(crate) const fn new() -> TensorSink {
        TensorSink {
            inputs: Vec::new(),
            known: KnownSignatures::new(),
            at: NOWHERE,
            role: Role::Input,
            unusual: 0,
            latest: Latest::NONE,
            base: 0,
            stack: WordStack::new(),
            meta: Vec::new(),
        }
    }

    /// Describes one tensor: its dims, outermost first, its element type and its device.
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
        // Reading past the end of the signature is harmless: `number` checks for its exact end.
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
        // Kept in registers: an array would be written to memory here, even if all words agree.
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
        self.base = self.stack.top;
        self.stack.push(self.known.words_up_to(self.at as u32));
        self.at = NOWHERE;
    }

    /// Lets the inputs of an op describe themselves. `at` is the index of its latest signature. Returns the index after
    /// the inputs, or [`NOWHERE`] if they differ from that signature or include more than tensors.
    #[inline]
    pub(crate) fn describe_inputs(&mut self, at: usize, inputs: impl Describe) -> usize {
        self.role = Role::Input;
        self.at = at;
        inputs.describe(self);
        self.at
    }

    /// Lets the outputs of an op describe themselves. `at` is the index after its inputs. Returns the index after
    /// them, or [`NOWHERE`] if they differ or the op has failed.
    #[inline]
    pub(crate) fn describe_outputs(&mut self, at: usize, outputs: impl Describe) -> usize {
        self.role = Role::Output;
        self.unusual = 0;
        self.at = at;
        outputs.describe(self);
        self.at
    }

    /// The latest signature of an op.
    #[inline]
    pub(crate) fn latest_of(&self, op: u32) -> Option<Latest> {
        self.known.latest_of(op)
    }

    /// Begins the words of an op. Its inputs are described next.
    pub(crate) fn begin(&mut self, op: u32) {
        self.role = Role::Input;
        self.at = match self.known.latest_of(op) {
            Some(latest) if latest.at != 0 => {
                self.latest = latest;
                latest.at
            }
            _ => {
                self.base = self.stack.top;
                self.stack.push(&[op as usize]);
                NOWHERE
            }
        };
    }

    /// Runs the user's code that describes a part of an op. If it panics, the op is recorded with the tensors that it
    /// had described before, and the failure is kept with the op's metadata.
    #[inline]
    pub(crate) fn catch(&mut self, describe: impl FnOnce(&mut TensorSink)) {
        if let Err(message) = failures::catch(|| describe(self)) {
            let expression = match self.role {
                Role::Output => expression::OUTPUT,
                _ => expression::INPUTS,
            };
            self.note_failure(expression, message);
        }
    }

    /// [`catch`](Self::catch) for code that describes a type of the user: the failure names `describe`.
    #[inline]
    pub(crate) fn catch_tensors(&mut self, describe: impl FnOnce(&mut TensorSink)) {
        if let Err(message) = failures::catch(|| describe(self)) {
            self.note_failure(expression::DESCRIBE, message);
        }
    }

    /// Runs the user's code before there is a sink to use. Returns the message if it panics.
    #[inline]
    pub(crate) fn caught<R>(run: impl FnOnce() -> R) -> Result<R, String> {
        failures::catch(run)
    }

    /// Keeps a failure with the metadata of the op that is being described.
    #[cold]
    #[inline(never)]
    fn note_failure(&mut self, expression: &'static str, message: String) {
        if self.role == Role::Output {
            self.unusual |= PANICKED;
        }
        self.meta.push((expression.into(), message));
        // The op has more than a row.
        self.leave_known();
    }

    /// The label of the op that is being described panicked with this message.
    pub(crate) fn label_failed(&mut self, message: String) {
        self.note_failure(expression::LABEL, message);
    }

    /// The value of an option, or `None` if its expression panicked.
    #[inline]
    fn value<R>(&mut self, expression: &'static str, value: impl FnOnce() -> R) -> Option<R> {
        match failures::catch(value) {
            Ok(value) => Some(value),
            Err(message) => {
                self.note_failure(expression, message);
                None
            }
        }
    }

    /// The next descriptions are of inputs, at the end of an op.
    pub(crate) fn begin_inputs(&mut self) {
        self.role = Role::Input;
    }

    /// The next descriptions are of outputs.
    #[inline]
    pub(crate) fn begin_outputs(&mut self) {
        self.role = Role::Output;
        self.unusual = 0;
    }

    /// The words that have been described so far, for [`resume`](Self::resume).
    pub(crate) fn op_words(&self) -> OpWords {
        let base = if self.at == NOWHERE {
            self.base
        } else {
            self.stack.top
        };
        OpWords {
            at: self.at,
            base: base as u32,
            top: self.stack.top as u32,
        }
    }

    /// Continues with an op after its children. Removes the descriptions that the op got after that.
    pub(crate) fn resume(&mut self, op: OpWords) {
        self.at = op.at;
        self.base = op.base as usize;
        self.stack.top = op.top as usize;
    }

    /// Removes the words on the stack from this index on.
    pub(crate) fn set_top(&mut self, top: u32) {
        self.stack.top = top as usize;
    }

    /// Continues at a place in the known signatures, with an op that has not failed.
    pub(crate) fn at_known(&mut self, at: usize) {
        self.at = at;
        self.unusual = 0;
    }

    /// The signature of the op that [`begin`](Self::begin) began, if it is known so far.
    pub(crate) fn expected(&self, words: OpWords) -> Expected {
        self.latest
            .expected
            .after(words.at.wrapping_sub(self.latest.at))
    }

    /// Ends an op's words: the number of their signature, or `None` if the session has too many.
    pub(crate) fn number(&mut self, shared: &Shared) -> Option<u32> {
        match self.known.ends_at(self.at as u32) {
            Some(number) => Some(number),
            None => self.look_up(shared),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, shared: &Shared) -> Option<u32> {
        self.leave_known();
        let words = self.stack.words.get(self.base..self.stack.top);
        self.stack.top = self.base;
        self.known.number(words.unwrap_or_default(), shared)
    }

    /// The number of the signature of an op's inputs alone, while it is open and not being described.
    pub(crate) fn number_of_inputs(&mut self, op: OpWords, shared: &Shared) -> Option<u32> {
        if op.at == NOWHERE {
            let words = self.stack.words.get(op.base as usize..op.top as usize)?;
            return self.known.number_of(words, shared);
        }
        // The words before an index never change, so the index identifies them.
        let at = op.at as u32;
        if self.inputs.is_empty() {
            self.inputs.resize(RECENT_INPUTS, (0, 0));
        }
        let recent = self.inputs[op.at % RECENT_INPUTS];
        if recent.0 == at {
            return Some(recent.1);
        }
        let words = self.known.words_up_to(at).to_vec();
        let number = self.known.number_of(&words, shared)?;
        self.inputs[op.at % RECENT_INPUTS] = (at, number);
        Some(number)
    }

    /// The number of a signature whose words are elsewhere.
    #[cfg(feature = "alloc")]
    pub(crate) fn number_of_words(&mut self, words: &[usize], shared: &Shared) -> Option<u32> {
        self.known.number_of(words, shared)
    }

    /// Removes the words of an op from the stack and returns them: the op may end on another thread.
    pub(crate) fn take_words(&mut self) -> Vec<usize> {
        self.leave_known();
        let words = self.stack.words.get(self.base..self.stack.top);
        self.stack.top = self.base;
        words.unwrap_or_default().to_vec()
    }

    /// Puts words from elsewhere on the stack, as those of the op that is described next.
    pub(crate) fn restore(&mut self, words: &[usize]) {
        self.at = NOWHERE;
        self.base = self.stack.top;
        self.stack.push(words);
    }

    /// True if the outputs are those of a failed op, or could not be described.
    #[inline]
    pub(crate) fn is_unusual(&self) -> bool {
        self.unusual != 0
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.unusual & FAILED != 0
    }

    pub(crate) fn take_meta(&mut self) -> Meta {
        std::mem::take(&mut self.meta)
    }

    #[inline]
    pub(crate) fn has_meta(&self) -> bool {
        !self.meta.is_empty()
    }

    /// Records that the op's result is an error: its outcome becomes `error`.
    #[doc(hidden)]
    #[cold]
    pub fn __failed(&mut self) {
        self.unusual |= FAILED;
        // The op's row is not the expected one.
        self.leave_known();
    }

    /// Records that the op has a tensor of this library whose shape is not recorded.
    pub(crate) fn unrecorded(&mut self, library: Library) {
        self.write([Header::unrecorded(library).0]);
    }

    #[doc(hidden)]
    pub fn __device(&mut self, device: impl FnOnce() -> Device) {
        if let Some(device) = self.value(expression::DEVICE, device) {
            let header = Header::fact(Fact::Device, 0, device);
            self.write([header.0]);
        }
    }

    #[doc(hidden)]
    pub fn __flops(&mut self, flops: impl FnOnce() -> u64) {
        if let Some(flops) = self.value(expression::FLOPS, flops) {
            self.number_fact(Fact::Flops, flops);
        }
    }

    #[doc(hidden)]
    pub fn __bytes(&mut self, bytes: impl FnOnce() -> u64) {
        if let Some(bytes) = self.value(expression::BYTES, bytes) {
            self.number_fact(Fact::BytesMoved, bytes);
        }
    }

    fn number_fact(&mut self, fact: Fact, value: u64) {
        let header = Header::fact(fact, 1, Device::Unknown);
        self.write([header.0, usize::try_from(value).unwrap_or(usize::MAX)]);
    }

    #[doc(hidden)]
    #[cold]
    pub fn __meta(&mut self, key: &'static str, value: impl FnOnce() -> String) {
        if let Some(value) = self.value(expression::META, value) {
            self.meta.push((key.into(), value));
            // The op has more than a row.
            self.leave_known();
        }
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

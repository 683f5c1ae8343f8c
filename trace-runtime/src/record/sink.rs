//! What a tensor says of itself while an op is recorded.

use super::tensors::Dims;
use crate::model::signature::{Fact, Header, LONG_RANK, Role};
use crate::model::{DType, Device};

/// Something that can say what tensors it is or holds.
///
/// A tensor hands its dims, dtype and device to the sink; a container lets its parts describe
/// themselves; anything else does nothing. Implement it for a tensor type of your own, and use
/// `#[derive(TensorLike)]` for structs and enums that hold tensors.
///
/// ```
/// use trace_runtime::{DType, Device, TensorLike, TensorSink};
///
/// struct Image { width: usize, height: usize, pixels: Vec<[u8; 3]> }
///
/// impl TensorLike for Image {
///     fn describe(&self, sink: &mut TensorSink) {
///         sink.tensor(&[self.height, self.width, 3], DType::U8, Device::Cpu);
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what tensors it holds",
    label = "not a `TensorLike`",
    note = "implement `TensorLike` for it (one method), or derive it if it holds tensors: \
            `#[derive(trace_runtime::TensorLike)]`"
)]
pub trait TensorLike {
    /// Describes every tensor in `self`, in order. Called only while recording; keep it cheap: read
    /// dims, never data.
    fn describe(&self, sink: &mut TensorSink);

    /// For a type whose slices are one tensor: its dtype, its own dims pushed behind those of the slice.
    #[doc(hidden)]
    #[inline]
    fn __element(_dims: &mut Dims) -> Option<DType>
    where
        Self: Sized,
    {
        None
    }
}

/// Takes the descriptions of an op's tensors.
///
/// Descriptions are stacked: an op's inputs lie below everything its children say, and its outputs
/// follow once the children are gone, so that each op's words end up side by side.
#[derive(Debug)]
pub struct TensorSink {
    words: Vec<usize>,
    top: usize,
    role: Role,
    failed: bool,
    meta: Vec<(&'static str, String)>,
}

/// Room for some forty tensors before the first allocation.
const FIRST_WORDS: usize = 128;

impl TensorSink {
    pub(crate) const fn new() -> TensorSink {
        TensorSink {
            words: Vec::new(),
            top: 0,
            role: Role::Input,
            failed: false,
            meta: Vec::new(),
        }
    }

    /// One tensor: its dims, outermost first, its element type and where it lives.
    ///
    /// A scalar tensor has no dims.
    #[inline]
    pub fn tensor(&mut self, dims: &[usize], dtype: DType, device: Device) {
        let header = Header::tensor(self.role, dims.len(), dtype, device);
        // A short rank is copied by hand: a call to `memcpy` costs more than the words.
        match *dims {
            [] => self.push([header.0]),
            [a] => self.push([header.0, a]),
            [a, b] => self.push([header.0, a, b]),
            [a, b, c] => self.push([header.0, a, b, c]),
            [a, b, c, d] => self.push([header.0, a, b, c, d]),
            _ => {
                self.push([header.0]);
                if dims.len() >= LONG_RANK {
                    self.push([dims.len()]);
                }
                for &dim in dims {
                    self.push([dim]);
                }
            }
        }
    }

    #[inline]
    fn push<const N: usize>(&mut self, words: [usize; N]) {
        let end = self.top + N;
        if end > self.words.len() {
            self.grow();
        }
        if let Some(room) = self.words.get_mut(self.top..end) {
            room.copy_from_slice(&words);
            self.top = end;
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let len = (self.words.len() * 2).max(FIRST_WORDS);
        self.words.resize(len, 0);
    }

    pub(crate) fn top(&self) -> usize {
        self.top
    }

    /// Opens a new op's words with its number; what is described next are its inputs.
    #[inline]
    pub(crate) fn begin(&mut self, op: u32) {
        self.role = Role::Input;
        self.push([op as usize]);
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

    #[inline]
    pub(crate) fn since(&self, base: usize) -> &[usize] {
        self.words.get(base..self.top).unwrap_or_default()
    }

    /// Forgets what was said since `base`, down to which the stack is cut.
    #[inline]
    pub(crate) fn cut(&mut self, base: usize) {
        self.top = base.min(self.top);
    }

    /// Puts words said elsewhere (by a suspended future) back on the stack.
    pub(crate) fn restore(&mut self, words: &[usize]) {
        for &word in words {
            self.push([word]);
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    pub(crate) fn take_meta(&mut self) -> Vec<(&'static str, String)> {
        std::mem::take(&mut self.meta)
    }

    pub(crate) fn has_meta(&self) -> bool {
        !self.meta.is_empty()
    }

    /// The op's result is an error: its outcome is `error`, and it has no output.
    #[doc(hidden)]
    #[inline]
    pub fn __failed(&mut self) {
        self.failed = true;
    }

    #[doc(hidden)]
    pub fn __device(&mut self, device: impl Into<Device>) {
        let header = Header::fact(Fact::Device, 0, device.into());
        self.push([header.0]);
    }

    #[doc(hidden)]
    pub fn __flops(&mut self, flops: u64) {
        self.number(Fact::Flops, flops);
    }

    #[doc(hidden)]
    pub fn __bytes(&mut self, bytes: u64) {
        self.number(Fact::BytesMoved, bytes);
    }

    fn number(&mut self, fact: Fact, value: u64) {
        let header = Header::fact(fact, 1, Device::Unknown);
        self.push([header.0, usize::try_from(value).unwrap_or(usize::MAX)]);
    }

    #[doc(hidden)]
    #[cold]
    pub fn __meta(&mut self, key: &'static str, value: &dyn std::fmt::Display) {
        self.meta.push((key, value.to_string()));
    }
}

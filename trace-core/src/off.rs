//! The public items of the recorder for builds without it: everything here does nothing.
//!
//! They exist because expanded code must compile in this build too: a proc macro is built once, for the host, and its
//! feature may be on although that of this crate is off.

#![allow(missing_docs, reason = "the recorder's own items have them")]

use crate::describe::Describe;
use crate::site_name::SiteName;
use crate::{DType, Device, OpKind};
use std::task::Poll;

/// Receives the descriptions of an op's tensors, and drops them: recording is compiled out.
#[derive(Debug)]
pub struct TensorSink(());

#[allow(clippy::unused_self, reason = "the signatures of the recorder's sink")]
impl TensorSink {
    /// Does nothing. The parameters are a tensor's dims, outermost first, its element type and its device.
    ///
    /// A scalar tensor has no dims.
    #[inline]
    pub fn tensor(&mut self, _dims: &[usize], _dtype: DType, _device: Device) {}

    #[doc(hidden)]
    #[inline]
    pub fn __failed(&mut self) {}

    #[inline]
    #[allow(
        clippy::unnecessary_wraps,
        reason = "the signature of the recorder's function"
    )]
    pub(crate) fn caught<R>(run: impl FnOnce() -> R) -> Result<R, String> {
        Ok(run())
    }

    #[inline]
    pub(crate) fn label_failed(&mut self, _message: String) {}

    #[inline]
    pub(crate) fn unrecorded(&mut self, _library: crate::library::Library) {}

    #[doc(hidden)]
    #[inline]
    pub fn __device(&mut self, _device: impl FnOnce() -> Device) {}

    #[doc(hidden)]
    #[inline]
    pub fn __flops(&mut self, _flops: impl FnOnce() -> u64) {}

    #[doc(hidden)]
    #[inline]
    pub fn __bytes(&mut self, _bytes: impl FnOnce() -> u64) {}

    #[doc(hidden)]
    #[inline]
    pub fn __meta(&mut self, _key: &'static str, _value: impl FnOnce() -> String) {}

    #[inline]
    pub(crate) fn catch(&mut self, describe: impl FnOnce(&mut TensorSink)) {
        describe(self);
    }

    #[inline]
    pub(crate) fn catch_tensors(&mut self, describe: impl FnOnce(&mut TensorSink)) {
        describe(self);
    }
}

/// The result of [`current_op`]: always empty, because recording is compiled out.
#[derive(Debug, Clone, Default)]
pub struct OpHandle(());

/// An empty handle: recording is compiled out.
#[inline]
pub fn current_op() -> OpHandle {
    OpHandle(())
}

/// Runs `body`.
#[inline]
pub fn in_op<R>(_handle: &OpHandle, body: impl FnOnce() -> R) -> R {
    body()
}

/// Runs `body`.
#[inline]
pub fn label_scope<R>(_label: impl AsRef<str>, body: impl FnOnce() -> R) -> R {
    body()
}

/// An op that is never recorded.
#[derive(Debug)]
#[must_use]
pub struct Op(());

#[inline]
pub fn begin(_name: impl SiteName, _inputs: impl Describe) -> Op {
    Op(())
}

#[inline]
pub fn begin_kind(_name: impl SiteName, _kind: OpKind, _inputs: impl Describe) -> Op {
    Op(())
}

#[allow(clippy::unused_self, reason = "the signatures of the recorder's op")]
impl Op {
    #[inline]
    pub fn is_recording(&self) -> bool {
        false
    }

    #[inline]
    pub fn begin_sync(&mut self) -> bool {
        false
    }

    #[inline]
    pub fn end(&mut self, _outputs: impl Describe) {}
}

/// An async op that is never recorded.
#[derive(Debug)]
#[must_use]
pub struct AsyncOp(());

#[inline]
pub fn begin_async(_: impl SiteName, _: Option<OpKind>, _inputs: impl Describe) -> AsyncOp {
    AsyncOp(())
}

#[inline]
pub fn begin_deferred(_: impl SiteName, _: Option<OpKind>, _inputs: impl Describe) -> AsyncOp {
    AsyncOp(())
}

#[allow(clippy::unused_self, reason = "the signatures of the recorder's op")]
impl AsyncOp {
    #[inline]
    pub fn is_recording(&self) -> bool {
        false
    }

    #[inline]
    pub fn start(&mut self) {}

    #[inline]
    pub fn begin_sync(&mut self) -> bool {
        false
    }

    #[inline]
    pub fn poll<R>(&mut self, poll: impl FnOnce() -> Poll<R>) -> Poll<R> {
        poll()
    }

    #[inline]
    pub fn take(&mut self) -> AsyncOp {
        AsyncOp(())
    }

    #[inline]
    pub fn end(self, _outputs: impl Describe) {}
}

/// Device memory is not recorded: recording is compiled out.
#[allow(unreachable_pub, reason = "re-exported by the crate")]
pub mod memory {
    use crate::Device;

    /// Does nothing.
    #[inline]
    pub fn allocated(_address: usize, _bytes: usize, _device: impl Into<Device>) {}

    /// Does nothing.
    #[inline]
    pub fn freed(_address: usize, _device: impl Into<Device>) {}
}

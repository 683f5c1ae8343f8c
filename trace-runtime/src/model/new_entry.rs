//! An entry for a store that is being built.

use super::builder::ThreadIndex;
use super::{DType, OpKind, Outcome, Pause};
use std::collections::BTreeMap;

/// An entry for [`TraceStoreBuilder::push`](super::TraceStoreBuilder::push). Make it with [`new`](Self::new) and the
/// `with_…` methods; fields without such a method can be assigned.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewEntry<'a> {
    /// The op's name.
    pub operation: &'a str,
    /// The thread it ran on.
    pub thread: ThreadIndex,
    /// The start, in nanoseconds since the trace began.
    pub start_ns: Option<i64>,
    /// The duration, in nanoseconds.
    pub duration_ns: u64,
    /// The index of its parent, as `push` returned it.
    pub parent: Option<usize>,
    /// The kind of work.
    pub kind: Option<OpKind>,
    /// The instance of the op, such as the layer `layers.3.attn`.
    pub label: Option<&'a str>,
    /// File and line of its function, such as `src/layers.rs:12`.
    pub location: Option<&'a str>,
    /// The device it ran on.
    pub device_id: Option<&'a str>,
    /// The dims and element types of its inputs.
    pub inputs: &'a [(&'a [usize], DType)],
    /// The dims and element types of its outputs.
    pub outputs: &'a [(&'a [usize], DType)],
    /// The outcome.
    pub outcome: Outcome,
    /// Floating-point operations.
    pub flops: Option<u64>,
    /// Bytes read and written.
    pub bytes_moved: Option<u64>,
    /// The part of the duration during which it was suspended, in nanoseconds.
    pub suspended_ns: u64,
    /// The times at which it did not work, in order and without overlap.
    pub pauses: &'a [Pause],
    /// Other facts.
    pub meta: BTreeMap<String, String>,
}

impl<'a> NewEntry<'a> {
    /// An entry with a name, a thread, a start and a duration, and nothing else known.
    pub fn new(operation: &'a str, thread: ThreadIndex, start_ns: i64, duration_ns: u64) -> Self {
        NewEntry {
            operation,
            thread,
            start_ns: Some(start_ns),
            duration_ns,
            parent: None,
            kind: None,
            label: None,
            location: None,
            device_id: None,
            inputs: &[],
            outputs: &[],
            outcome: Outcome::Ok,
            flops: None,
            bytes_moved: None,
            suspended_ns: 0,
            pauses: &[],
            meta: BTreeMap::new(),
        }
    }

    /// Sets the index of its parent, as `push` returned it.
    #[must_use]
    pub fn with_parent(mut self, parent: impl Into<Option<usize>>) -> Self {
        self.parent = parent.into();
        self
    }

    /// Sets the kind of work.
    #[must_use]
    pub fn with_kind(mut self, kind: impl Into<Option<OpKind>>) -> Self {
        self.kind = kind.into();
        self
    }

    /// Sets the instance of the op, such as the layer `layers.3.attn`.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<Option<&'a str>>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets file and line of its function, such as `src/layers.rs:12`.
    #[must_use]
    pub fn with_location(mut self, location: impl Into<Option<&'a str>>) -> Self {
        self.location = location.into();
        self
    }

    /// Sets the device it ran on.
    #[must_use]
    pub fn with_device_id(mut self, device_id: impl Into<Option<&'a str>>) -> Self {
        self.device_id = device_id.into();
        self
    }

    /// Sets the dims and element types of its inputs.
    #[must_use]
    pub fn with_inputs(mut self, inputs: &'a [(&'a [usize], DType)]) -> Self {
        self.inputs = inputs;
        self
    }

    /// Sets the dims and element types of its outputs.
    #[must_use]
    pub fn with_outputs(mut self, outputs: &'a [(&'a [usize], DType)]) -> Self {
        self.outputs = outputs;
        self
    }

    /// Sets how it ended.
    #[must_use]
    pub fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self
    }

    /// Sets when it did not work, in order and without overlap.
    #[must_use]
    pub fn with_pauses(mut self, pauses: &'a [Pause]) -> Self {
        self.pauses = pauses;
        self
    }
}

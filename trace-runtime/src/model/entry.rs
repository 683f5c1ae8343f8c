//! One execution of an op, with owned data.

use super::json_struct::json_struct;
use super::signature::elements;
use super::{DType, DTypes, OpKind, Outcome};
use std::collections::BTreeMap;
use std::time::Duration;

/// One execution of an op.
///
/// The first eight fields are always written to JSON. The others are written only if they differ from their
/// default, and are optional when read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedTraceEntry {
    /// The op's number in the order in which ops began.
    pub step: usize,
    /// The op's name.
    pub operation: String,
    /// The device it ran on: `cpu`, `cuda:0`.
    pub device_id: Option<String>,
    /// The dims of every input tensor, in the order of the parameters.
    pub input_shapes: Vec<Vec<usize>>,
    /// The dims of the first output tensor.
    pub output_shape: Vec<usize>,
    /// How long it took, in microseconds.
    pub duration_us: f64,
    /// The number of elements of all outputs.
    pub output_elements: usize,
    /// The bytes of all outputs; 8 per element if the dtype is unknown.
    pub memory_bytes: usize,

    /// When it began, in microseconds since the trace began.
    pub start_us: Option<f64>,
    /// The number of the thread that it ran on.
    pub thread: Option<u64>,
    /// The step of its parent: the op that called it, or that handed it to another thread.
    pub parent: Option<usize>,
    /// The kind of work, if given.
    pub kind: Option<OpKind>,
    /// The instance of the op, such as the layer `layers.3.attn`, if it was given.
    pub label: Option<String>,
    /// The element type of every input, in the order of `input_shapes`; empty if none is known.
    pub input_dtypes: DTypes,
    /// The element type of every output, in order; empty if none is known.
    pub output_dtypes: DTypes,
    /// The dims of the outputs after the first.
    pub more_outputs: Vec<Vec<usize>>,
    /// How it ended.
    pub outcome: Outcome,
    /// Floating-point operations, if given.
    pub flops: Option<u64>,
    /// Bytes read and written, if given.
    pub bytes_moved: Option<u64>,
    /// The rank (process of a distributed job) it ran on.
    pub rank: Option<u32>,
    /// The part of the duration during which an async op was suspended, in microseconds.
    pub suspended_us: f64,
    /// The values of `meta(…)`.
    pub meta: BTreeMap<String, String>,
}

json_struct!(RecordedTraceEntry {
    required: [
        step,
        operation,
        device_id,
        input_shapes,
        output_shape,
        duration_us,
        output_elements,
        memory_bytes,
    ],
    optional: [
        start_us,
        thread,
        parent,
        kind,
        label,
        input_dtypes,
        output_dtypes,
        more_outputs,
        outcome,
        flops,
        bytes_moved,
        rank,
        suspended_us,
        meta,
    ],
});

impl RecordedTraceEntry {
    /// An entry with a step and a name; everything else is unknown.
    pub fn new(step: usize, operation: impl Into<String>) -> Self {
        RecordedTraceEntry {
            step,
            operation: operation.into(),
            ..Self::default()
        }
    }

    /// Sets the device it ran on.
    #[must_use]
    pub fn with_device_id(mut self, device_id: impl Into<String>) -> Self {
        self.device_id = Some(device_id.into());
        self
    }

    /// Sets the dims of its inputs.
    #[must_use]
    pub fn with_input_shapes(mut self, shapes: Vec<Vec<usize>>) -> Self {
        self.input_shapes = shapes;
        self
    }

    /// Sets the dims of its output. Also sets `output_elements` to their product and `memory_bytes` to the
    /// bytes of so many elements: 8 each, unless [`with_output_dtype`](Self::with_output_dtype) set a type.
    #[must_use]
    pub fn with_output_shape(mut self, shape: Vec<usize>) -> Self {
        self.output_shape = shape;
        self.count_output();
        self
    }

    /// Sets the element type of its output, and the bytes it takes if its shape is known.
    #[must_use]
    pub fn with_output_dtype(mut self, dtype: DType) -> Self {
        match self.output_dtypes.first_mut() {
            Some(first) => *first = dtype,
            None => self.output_dtypes.push(dtype),
        }
        if self.output_elements > 0 {
            self.count_output();
        }
        self
    }

    /// Sets how long it took.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Self {
        self.duration_us = duration.as_secs_f64() * 1e6;
        self
    }

    /// Sets when it began, counted from the beginning of the trace.
    #[must_use]
    pub fn with_start(mut self, start: Duration) -> Self {
        self.start_us = Some(start.as_secs_f64() * 1e6);
        self
    }

    /// Sets the step of its parent.
    #[must_use]
    pub fn with_parent(mut self, step: usize) -> Self {
        self.parent = Some(step);
        self
    }

    /// Sets the thread it ran on.
    #[must_use]
    pub fn with_thread(mut self, thread: u64) -> Self {
        self.thread = Some(thread);
        self
    }

    /// Sets the kind of work.
    #[must_use]
    pub fn with_kind(mut self, kind: OpKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Output elements per microsecond; 0 if it took no time.
    pub fn throughput_elements_per_us(&self) -> f64 {
        if self.duration_us < 1e-9 {
            0.0
        } else {
            self.output_elements as f64 / self.duration_us
        }
    }

    fn count_output(&mut self) {
        let dtype = self.output_dtypes.first().copied().unwrap_or_default();
        self.output_elements = elements(&self.output_shape);
        self.memory_bytes = dtype.bytes(self.output_elements);
    }
}

//! One execution of an op, owned.

use super::json_struct::json_struct;
use super::signature::elements;
use super::{DType, DTypes, OpKind, Outcome};
use std::collections::BTreeMap;
use std::time::Duration;

/// One execution of an op.
///
/// The first eight fields are the described ones and always written to JSON; the others are left out
/// of it while they say nothing, so that older readers and writers agree with this one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedTraceEntry {
    /// Where this op stands in the order in which ops began.
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
    /// How many elements its outputs have together.
    pub output_elements: usize,
    /// How many bytes its outputs take together; 8 per element where the dtype is unknown.
    pub memory_bytes: usize,

    /// When it began, in microseconds since the trace began.
    pub start_us: Option<f64>,
    /// The thread it ran on, as numbered by the trace.
    pub thread: Option<u64>,
    /// The step of the op that it ran inside of.
    pub parent: Option<usize>,
    /// What it spent its time on, where somebody said so.
    pub kind: Option<OpKind>,
    /// The instance of the op, such as the layer `layers.3.attn`, if it was given.
    pub label: Option<String>,
    /// The element type of every input, in the order of `input_shapes`; empty where none is known.
    pub input_dtypes: DTypes,
    /// The element type of every output, the first one's first; empty where none is known.
    pub output_dtypes: DTypes,
    /// The dims of the outputs after the first.
    pub more_outputs: Vec<Vec<usize>>,
    /// How it ended.
    pub outcome: Outcome,
    /// Floating-point operations, where given.
    pub flops: Option<u64>,
    /// Bytes read and written, where given.
    pub bytes_moved: Option<u64>,
    /// The rank (process of a distributed job) it ran on.
    pub rank: Option<u32>,
    /// Of the duration, the time in which an async op was suspended, in microseconds.
    pub suspended_us: f64,
    /// What `meta(…)` added.
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
    /// An entry with a step and a name, and nothing else known.
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

    /// Sets the dims of its output, and with them `output_elements` and `memory_bytes`: the product
    /// of the dims, and 8 bytes an element unless [`with_output_dtype`](Self::with_output_dtype) said
    /// otherwise.
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

    /// Sets the step of the op that it ran inside of.
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

    /// Sets what it spent its time on.
    #[must_use]
    pub fn with_kind(mut self, kind: OpKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Output elements per microsecond; 0 when it took no time.
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

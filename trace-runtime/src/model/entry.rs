//! One execution of an op, with owned data.

use super::entry_details::EntryDetails;
use super::json_struct::json_struct;
use super::optional_us::OptionalUs;
use super::signature::elements;
use super::{DType, OpKind};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

/// One execution of an op.
///
/// An entry also has the fields of its [`EntryDetails`]: `entry.thread`, `entry.kind`, `entry.meta`, and so on. They
/// are stored in one shared allocation, because a long recording has many entries and most of them share these facts.
///
/// The first eight fields are always written to JSON. All others are written only if they differ from their
/// default, and are optional when read.
///
/// ```
/// use trace_runtime::{OpKind, RecordedTraceEntry};
///
/// let mut entry = RecordedTraceEntry::new(0, "all_reduce");
/// entry.kind = Some(OpKind::Communication);
/// entry.set_start_us(Some(12.5));
/// assert_eq!((entry.kind, entry.start_us()), (Some(OpKind::Communication), Some(12.5)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct RecordedTraceEntry {
    /// The op's number in the order in which ops began. Not related to a [`TraceStep`](crate::model::TraceStep).
    pub step: usize,
    /// The op's name.
    pub operation: String,
    /// The device it ran on: `cpu`, `cuda:0`.
    pub device_id: Option<String>,
    /// The dims of every input tensor, in the order of the parameters.
    pub input_shapes: Vec<Vec<usize>>,
    /// The dims of the first output tensor.
    pub output_shape: Vec<usize>,
    /// The duration, in microseconds.
    pub duration_us: f64,
    /// The number of elements of all outputs.
    pub output_elements: usize,
    /// The bytes of all outputs; 8 per element if the dtype is unknown.
    pub memory_bytes: usize,

    /// The `step` of its parent: the op that called it, or that handed it to another thread.
    pub parent: Option<usize>,
    /// The start, in microseconds since the trace began. [`start_us()`](Self::start_us) and
    /// [`set_start_us`](Self::set_start_us) read and write it as an `Option`.
    pub start_us: OptionalUs,
    /// All other facts, which are read and written as fields of the entry itself. Shared by entries that are equal in
    /// them; `None` if none is known.
    pub details: Option<Arc<EntryDetails>>,
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
        location,
        input_dtypes,
        output_dtypes,
        more_outputs,
        outcome,
        flops,
        bytes_moved,
        rank,
        suspended_us,
        pauses,
        meta,
    ],
});

impl RecordedTraceEntry {
    /// An entry with a number and a name; everything else is unknown.
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
    /// bytes of these elements: 8 each, unless [`with_output_dtype`](Self::with_output_dtype) set a type.
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

    /// Sets the duration.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Self {
        self.duration_us = duration.as_secs_f64() * 1e6;
        self
    }

    /// Sets when it began, counted from the beginning of the trace.
    #[must_use]
    pub fn with_start(mut self, start: Duration) -> Self {
        self.set_start_us(Some(start.as_secs_f64() * 1e6));
        self
    }

    /// Sets the `step` of its parent.
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

    /// The start, in microseconds since the trace began; `None` if that is not known.
    #[inline]
    pub fn start_us(&self) -> Option<f64> {
        self.start_us.get()
    }

    /// Sets when it began, in microseconds since the trace began. [`with_start`](Self::with_start) takes a duration.
    #[inline]
    pub fn set_start_us(&mut self, start_us: Option<f64>) {
        self.start_us = start_us.into();
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

impl Deref for RecordedTraceEntry {
    type Target = EntryDetails;

    #[inline]
    fn deref(&self) -> &EntryDetails {
        static NONE: EntryDetails = EntryDetails::NONE;
        self.details.as_deref().unwrap_or(&NONE)
    }
}

/// Copies the details first if they are shared with other entries.
impl DerefMut for RecordedTraceEntry {
    fn deref_mut(&mut self) -> &mut EntryDetails {
        Arc::make_mut(self.details.get_or_insert_default())
    }
}

impl PartialEq for RecordedTraceEntry {
    fn eq(&self, other: &Self) -> bool {
        let own = |entry: &Self| {
            (
                entry.step,
                entry.duration_us,
                entry.output_elements,
                entry.memory_bytes,
                entry.parent,
                entry.start_us,
            )
        };
        own(self) == own(other)
            && self.operation == other.operation
            && self.device_id == other.device_id
            && self.input_shapes == other.input_shapes
            && self.output_shape == other.output_shape
            && **self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_at_most_160_bytes() {
        assert!(size_of::<RecordedTraceEntry>() <= 160);
    }

    #[test]
    fn a_change_of_a_copy_leaves_the_original() {
        let first = RecordedTraceEntry::new(0, "mm").with_thread(3);
        let mut second = first.clone();
        second.label = Some("layers.1".to_owned());
        assert_eq!((first.thread, &first.label), (Some(3), &None));
        assert_eq!(second.thread, Some(3));
        assert_ne!(first, second);
        second.label = None;
        assert_eq!(first, second);
        let mut none = RecordedTraceEntry::new(0, "mm");
        none.thread = None;
        assert_eq!(none, RecordedTraceEntry::new(0, "mm"));
    }
}

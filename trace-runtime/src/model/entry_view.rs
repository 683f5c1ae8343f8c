//! One entry of a trace, in any storage.

use super::entry::RecordedTraceEntry;
use super::meta::Meta;
use super::signature::Role;
use super::stored_entry::StoredEntry;
use super::tensor_view::Tensors;
use super::{OpKind, Outcome, Pause};

/// One entry, borrowed from any storage. Cheap to copy. Every analysis and exporter reads entries in this form.
#[derive(Debug, Clone, Copy)]
pub struct EntryView<'a>(Held<'a>);

#[derive(Debug, Clone, Copy)]
enum Held<'a> {
    Owned(&'a RecordedTraceEntry),
    Stored(StoredEntry<'a>),
}

impl<'a> From<&'a RecordedTraceEntry> for EntryView<'a> {
    fn from(entry: &'a RecordedTraceEntry) -> Self {
        EntryView(Held::Owned(entry))
    }
}

impl<'a> From<StoredEntry<'a>> for EntryView<'a> {
    #[inline]
    fn from(entry: StoredEntry<'a>) -> Self {
        EntryView(Held::Stored(entry))
    }
}

impl<'a> EntryView<'a> {
    /// The op's number in the order in which ops began.
    pub fn step(&self) -> usize {
        match self.0 {
            Held::Owned(entry) => entry.step,
            Held::Stored(entry) => entry.step(),
        }
    }

    /// The op's name.
    pub fn operation(&self) -> &'a str {
        match self.0 {
            Held::Owned(entry) => &entry.operation,
            Held::Stored(entry) => entry.operation(),
        }
    }

    /// The device it ran on.
    #[inline]
    pub fn device_id(&self) -> Option<&'a str> {
        match self.0 {
            Held::Owned(entry) => entry.device_id.as_deref(),
            Held::Stored(entry) => entry.device_id(),
        }
    }

    /// The kind of work, if it was given.
    #[inline]
    pub fn kind(&self) -> Option<OpKind> {
        match self.0 {
            Held::Owned(entry) => entry.kind,
            Held::Stored(entry) => entry.kind(),
        }
    }

    /// The instance of the op, such as the layer `layers.3.attn`, from `label = …` or
    /// [`label_scope`](crate::label_scope).
    #[inline]
    pub fn label(&self) -> Option<&'a str> {
        match self.0 {
            Held::Owned(entry) => entry.label.as_deref(),
            Held::Stored(entry) => entry.label(),
        }
    }

    /// File and line of the annotated function or the `op!`, such as `src/layers.rs:12`.
    pub fn location(&self) -> Option<&'a str> {
        match &self.0 {
            Held::Owned(entry) => entry.location.as_deref(),
            Held::Stored(entry) => entry.location(),
        }
    }

    /// The outcome.
    pub fn outcome(&self) -> Outcome {
        match self.0 {
            Held::Owned(entry) => entry.outcome,
            Held::Stored(entry) => entry.outcome(),
        }
    }

    /// The duration, in microseconds.
    pub fn duration_us(&self) -> f64 {
        match self.0 {
            Held::Owned(entry) => entry.duration_us,
            Held::Stored(entry) => entry.duration_us(),
        }
    }

    /// The duration, in nanoseconds; 0 for a duration that is NaN or below zero.
    #[inline]
    pub fn duration_ns(&self) -> u64 {
        match self.0 {
            Held::Owned(entry) => match entry.start_us() {
                // The difference of the rounded ends, so that rounding never moves the end of a child past that of its
                // parent.
                Some(start) => ns(start + entry.duration_us)
                    .saturating_sub(ns(start))
                    .max(0) as u64,
                None => ns(entry.duration_us).max(0) as u64,
            },
            Held::Stored(entry) => entry.duration_ns(),
        }
    }

    /// The start, in nanoseconds since the trace began.
    #[inline]
    pub fn start_ns(&self) -> Option<i64> {
        match self.0 {
            Held::Owned(entry) => entry.start_us().map(ns),
            Held::Stored(entry) => entry.start_ns(),
        }
    }

    /// The end, in nanoseconds since the trace began.
    #[inline]
    pub fn end_ns(&self) -> Option<i64> {
        match self.0 {
            Held::Owned(entry) => {
                let start = entry.start_us().map(ns)?;
                Some(start.saturating_add_unsigned(self.duration_ns()))
            }
            Held::Stored(entry) => entry.end_ns(),
        }
    }

    /// The times at which it did not work: see [`Pause`]. In an entry that was built by hand, a pause may end after the
    /// entry.
    pub fn pauses(&self) -> &'a [Pause] {
        match self.0 {
            Held::Owned(entry) => &entry.pauses,
            Held::Stored(entry) => entry.pauses(),
        }
    }

    /// The part of the duration during which an async op was suspended, in nanoseconds.
    #[inline]
    pub fn suspended_ns(&self) -> u64 {
        match self.0 {
            Held::Owned(entry) => ns(entry.suspended_us).max(0) as u64,
            Held::Stored(entry) => entry.suspended_ns(),
        }
    }

    /// The thread it ran on.
    #[inline]
    pub fn thread(&self) -> Option<u64> {
        match self.0 {
            Held::Owned(entry) => entry.thread,
            Held::Stored(entry) => entry.thread(),
        }
    }

    /// The rank it ran on.
    #[inline]
    pub fn rank(&self) -> Option<u32> {
        match self.0 {
            Held::Owned(entry) => entry.rank,
            Held::Stored(entry) => entry.rank(),
        }
    }

    /// The [`step`](Self::step) of its parent: the op that called it, or that handed it to another thread.
    #[inline]
    pub fn parent(&self) -> Option<usize> {
        match self.0 {
            Held::Owned(entry) => entry.parent,
            Held::Stored(entry) => entry.parent(),
        }
    }

    /// Its input tensors.
    pub fn inputs(&self) -> Tensors<'a> {
        match self.0 {
            Held::Owned(entry) => Tensors::owned(None, &entry.input_shapes, &entry.input_dtypes),
            Held::Stored(entry) => Tensors::stored(entry.parts(), Role::Input),
        }
    }

    /// Its output tensors.
    pub fn outputs(&self) -> Tensors<'a> {
        match self.0 {
            Held::Owned(entry) => {
                // A scalar has one element. If there are no elements, there is no output.
                let none = entry.output_shape.is_empty() && entry.output_elements == 0;
                let first = (!none).then_some(entry.output_shape.as_slice());
                Tensors::owned(first, &entry.more_outputs, &entry.output_dtypes)
            }
            Held::Stored(entry) => Tensors::stored(entry.parts(), Role::Output),
        }
    }

    /// The number of elements of all outputs.
    pub fn output_elements(&self) -> usize {
        match self.0 {
            Held::Owned(entry) => entry.output_elements,
            Held::Stored(entry) => entry.output_elements(),
        }
    }

    /// The bytes of all outputs.
    #[inline]
    pub fn memory_bytes(&self) -> usize {
        match self.0 {
            Held::Owned(entry) => entry.memory_bytes,
            Held::Stored(entry) => entry.memory_bytes(),
        }
    }

    /// Floating-point operations, if given.
    pub fn flops(&self) -> Option<u64> {
        match self.0 {
            Held::Owned(entry) => entry.flops,
            Held::Stored(entry) => entry.flops(),
        }
    }

    /// Bytes read and written, if given.
    pub fn bytes_moved(&self) -> Option<u64> {
        match self.0 {
            Held::Owned(entry) => entry.bytes_moved,
            Held::Stored(entry) => entry.bytes_moved(),
        }
    }

    /// The values of `meta(…)`; `None` if there are none.
    pub fn meta(&self) -> Option<Meta<'a>> {
        match self.0 {
            Held::Owned(entry) => Some(Meta::from(&entry.meta)),
            Held::Stored(entry) => entry.meta(),
        }
        .filter(|meta| !meta.is_empty())
    }

    /// True if its times in nanoseconds equal those in microseconds up to rounding. They do not if a time
    /// is NaN, below zero or too large for nanoseconds.
    pub(crate) fn times_are_whole(&self) -> bool {
        let near = |us: f64, ns: f64| (us * 1000.0 - ns).abs() <= 1.0;
        let duration = near(self.duration_us(), self.duration_ns() as f64);
        let near_start = |us| near(us, self.start_ns().unwrap_or(0) as f64);
        let (start, suspended) = match self.0 {
            Held::Owned(entry) => (entry.start_us(), Some(entry.suspended_us)),
            Held::Stored(entry) => entry.given_us(),
        };
        duration
            && start.is_none_or(near_start)
            && suspended.is_none_or(|us| near(us, self.suspended_ns() as f64))
    }

    /// A number that all entries with the same op, kind, label, location, device and tensors share within one trace.
    /// `None` if the storage has no such numbers. Grouping by it saves hashing names and shapes.
    #[inline]
    pub fn signature(&self) -> Option<u32> {
        match self.0 {
            Held::Owned(_) => None,
            Held::Stored(entry) => Some(entry.signature()),
        }
    }

    /// The entry itself, if the storage holds it in this form.
    pub(crate) fn as_owned(&self) -> Option<&'a RecordedTraceEntry> {
        match self.0 {
            Held::Owned(entry) => Some(entry),
            Held::Stored(_) => None,
        }
    }

    /// An owned copy.
    pub fn to_entry(&self) -> RecordedTraceEntry {
        match self.0 {
            Held::Owned(entry) => entry.clone(),
            Held::Stored(entry) => entry.to_entry(),
        }
    }
}

/// Microseconds as whole nanoseconds; NaN counts as zero.
pub(crate) fn ns(us: f64) -> i64 {
    (us * 1000.0).round() as i64
}

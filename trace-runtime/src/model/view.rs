//! One entry, borrowed from whichever storage holds it.

use super::entry::RecordedTraceEntry;
use super::memory::{MemoryEvent, events_in};
use super::runtime_call::{Launch, RuntimeCall, calls_in, launches_in};
use super::signature::{Parts, Role, elements};
use super::stored_entry::StoredEntry;
use super::trace::RecordedExecutionTrace;
use super::{DType, Device, OpKind, Outcome};
use std::collections::{BTreeMap, HashMap};

/// Anything that holds a trace: [`RecordedExecutionTrace`], [`TraceStore`](super::TraceStore).
///
/// Every analysis and every exporter takes one of these, so a trace that was read from a file is as
/// good as a live one.
pub trait TraceView {
    /// An entry as this storage lends it out.
    type Entry<'a>: Copy + Into<EntryView<'a>>
    where
        Self: 'a;

    /// How many entries there are.
    fn entry_count(&self) -> usize;

    /// The entry at `index`, counted in the order in which ops began.
    ///
    /// # Panics
    /// When `index` is not below [`entry_count`](Self::entry_count).
    fn entry(&self, index: usize) -> Self::Entry<'_>;

    /// The index of the entry with this step.
    fn index_of_step(&self, step: usize) -> Option<usize>;

    /// Time spent in ops, in microseconds: no moment of one thread is counted twice.
    fn total_duration_us(&self) -> f64;

    /// What is known of the run.
    fn metadata(&self) -> &HashMap<String, String>;

    /// The name of a thread, where it has one.
    fn thread_name(&self, thread: u64) -> Option<&str>;

    /// What the allocator said while the ops ran, in order; nothing where nobody asked it.
    fn memory_events(&self) -> impl Iterator<Item = MemoryEvent<'_>>;

    /// Calls into a device's runtime, in the order in which they began; empty where none were traced.
    fn runtime_calls(&self) -> impl Iterator<Item = RuntimeCall<'_>>;

    /// Which runtime call launched which entry, in any order; a call is numbered by its place in
    /// [`runtime_calls`](Self::runtime_calls).
    fn launches(&self) -> impl Iterator<Item = Launch>;

    /// All entries, in the order in which they began.
    fn views(&self) -> impl Iterator<Item = EntryView<'_>> {
        (0..self.entry_count()).map(|index| self.entry(index).into())
    }
}

impl TraceView for RecordedExecutionTrace {
    type Entry<'a> = &'a RecordedTraceEntry;

    fn entry_count(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, index: usize) -> &RecordedTraceEntry {
        &self.entries[index]
    }

    fn index_of_step(&self, step: usize) -> Option<usize> {
        match self.entries.get(step) {
            Some(entry) if entry.step == step => Some(step),
            _ => self
                .entries
                .binary_search_by_key(&step, |entry| entry.step)
                .ok(),
        }
    }

    fn total_duration_us(&self) -> f64 {
        self.total_duration_us
    }

    fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    fn thread_name(&self, thread: u64) -> Option<&str> {
        self.metadata
            .get(&thread_name_key(thread))
            .map(String::as_str)
    }

    fn memory_events(&self) -> impl Iterator<Item = MemoryEvent<'_>> {
        events_in(&self.metadata)
    }

    fn runtime_calls(&self) -> impl Iterator<Item = RuntimeCall<'_>> {
        calls_in(&self.metadata)
    }

    fn launches(&self) -> impl Iterator<Item = Launch> {
        launches_in(&self.metadata)
    }
}

/// The metadata key under which a thread's name is kept.
pub(crate) fn thread_name_key(thread: u64) -> String {
    format!("thread.{thread}.name")
}

/// One entry, borrowed from whichever storage holds it. Cheap to copy.
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
    /// Where this op stands in the order in which ops began.
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

    /// What it spent its time on, where somebody said so.
    #[inline]
    pub fn kind(&self) -> Option<OpKind> {
        match self.0 {
            Held::Owned(entry) => entry.kind,
            Held::Stored(entry) => entry.kind(),
        }
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        match self.0 {
            Held::Owned(entry) => entry.outcome,
            Held::Stored(entry) => entry.outcome(),
        }
    }

    /// How long it took, in microseconds.
    pub fn duration_us(&self) -> f64 {
        match self.0 {
            Held::Owned(entry) => entry.duration_us,
            Held::Stored(entry) => entry.duration_us(),
        }
    }

    /// How long it took, in nanoseconds; a time that is no number or below zero counts as none.
    #[inline]
    pub fn duration_ns(&self) -> u64 {
        match self.0 {
            Held::Owned(entry) => match entry.start_us {
                // From the rounded ends, so that a child never sticks out of its parent by rounding.
                Some(start) => ns(start + entry.duration_us)
                    .saturating_sub(ns(start))
                    .max(0) as u64,
                None => ns(entry.duration_us).max(0) as u64,
            },
            Held::Stored(entry) => entry.duration_ns(),
        }
    }

    /// When it began, in nanoseconds since the trace began.
    #[inline]
    pub fn start_ns(&self) -> Option<i64> {
        match self.0 {
            Held::Owned(entry) => entry.start_us.map(ns),
            Held::Stored(entry) => entry.start_ns(),
        }
    }

    /// When it ended, in nanoseconds since the trace began.
    #[inline]
    pub fn end_ns(&self) -> Option<i64> {
        self.start_ns()
            .map(|start| start.saturating_add_unsigned(self.duration_ns()))
    }

    /// Of the duration, the time in which an async op was suspended, in nanoseconds.
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

    /// The step of the op that it ran inside of.
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
                // A scalar has one element; no output at all has none.
                let none = entry.output_shape.is_empty() && entry.output_elements == 0;
                let first = (!none).then_some(entry.output_shape.as_slice());
                Tensors::owned(first, &entry.more_outputs, &entry.output_dtypes)
            }
            Held::Stored(entry) => Tensors::stored(entry.parts(), Role::Output),
        }
    }

    /// How many elements its outputs have together.
    pub fn output_elements(&self) -> usize {
        match self.0 {
            Held::Owned(entry) => entry.output_elements,
            Held::Stored(entry) => entry.output_elements(),
        }
    }

    /// How many bytes its outputs take together.
    #[inline]
    pub fn memory_bytes(&self) -> usize {
        match self.0 {
            Held::Owned(entry) => entry.memory_bytes,
            Held::Stored(entry) => entry.memory_bytes(),
        }
    }

    /// Floating-point operations, where given.
    pub fn flops(&self) -> Option<u64> {
        match self.0 {
            Held::Owned(entry) => entry.flops,
            Held::Stored(entry) => entry.flops(),
        }
    }

    /// Bytes read and written, where given.
    pub fn bytes_moved(&self) -> Option<u64> {
        match self.0 {
            Held::Owned(entry) => entry.bytes_moved,
            Held::Stored(entry) => entry.bytes_moved(),
        }
    }

    /// What `meta(…)` added; `None` for nothing.
    pub fn meta(&self) -> Option<&'a BTreeMap<String, String>> {
        match self.0 {
            Held::Owned(entry) => Some(&entry.meta),
            Held::Stored(entry) => entry.meta(),
        }
        .filter(|meta| !meta.is_empty())
    }

    /// Whether its times in nanoseconds are those in microseconds but for rounding: the latter may be
    /// no number, below zero, or past what the former can hold.
    pub(crate) fn times_are_whole(&self) -> bool {
        let near = |us: f64, ns: f64| (us * 1000.0 - ns).abs() <= 1.0;
        let duration = near(self.duration_us(), self.duration_ns() as f64);
        let near_start = |us| near(us, self.start_ns().unwrap_or(0) as f64);
        let (start, suspended) = match self.0 {
            Held::Owned(entry) => (entry.start_us, Some(entry.suspended_us)),
            Held::Stored(entry) => entry.given_us(),
        };
        duration
            && start.is_none_or(near_start)
            && suspended.is_none_or(|us| near(us, self.suspended_ns() as f64))
    }

    /// A number that entries with equal op, kind, device and tensors share within one trace, where
    /// the storage keeps one: grouping by it saves hashing names and shapes.
    #[inline]
    pub fn signature(&self) -> Option<u32> {
        match self.0 {
            Held::Owned(_) => None,
            Held::Stored(entry) => Some(entry.signature()),
        }
    }

    /// A copy that stands on its own.
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

/// One tensor of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorView<'a> {
    /// Its dims, outermost first; none for a scalar.
    pub dims: &'a [usize],
    /// Its element type.
    pub dtype: DType,
    /// Where it lives, if that was recorded with it.
    pub device: Device,
}

impl TensorView<'_> {
    /// How many elements it has, saturating.
    pub fn elements(&self) -> usize {
        elements(self.dims)
    }

    /// How many bytes it takes, saturating; 8 per element where the dtype is unknown.
    pub fn bytes(&self) -> usize {
        self.dtype.bytes(self.elements())
    }
}

/// The input or output tensors of an entry, in order.
#[derive(Debug, Clone)]
pub struct Tensors<'a>(Source<'a>);

#[derive(Debug, Clone)]
enum Source<'a> {
    Owned {
        first: Option<&'a [usize]>,
        shapes: &'a [Vec<usize>],
        dtypes: &'a [DType],
    },
    Stored {
        parts: Parts<'a>,
        role: Role,
    },
}

impl<'a> Tensors<'a> {
    fn owned(first: Option<&'a [usize]>, shapes: &'a [Vec<usize>], dtypes: &'a [DType]) -> Self {
        Tensors(Source::Owned {
            first,
            shapes,
            dtypes,
        })
    }

    fn stored(parts: Parts<'a>, role: Role) -> Self {
        Tensors(Source::Stored { parts, role })
    }
}

impl<'a> Iterator for Tensors<'a> {
    type Item = TensorView<'a>;

    fn next(&mut self) -> Option<TensorView<'a>> {
        match &mut self.0 {
            Source::Owned {
                first,
                shapes,
                dtypes,
            } => {
                let dims = match first.take() {
                    Some(dims) => dims,
                    None => shapes.split_off_first()?,
                };
                let dtype = dtypes.split_off_first().copied().unwrap_or_default();
                Some(TensorView {
                    dims,
                    dtype,
                    device: Device::Unknown,
                })
            }
            Source::Stored { parts, role } => {
                parts
                    .find(|(header, _)| header.role() == *role)
                    .map(|(header, dims)| TensorView {
                        dims,
                        dtype: header.dtype(),
                        device: header.device(),
                    })
            }
        }
    }
}

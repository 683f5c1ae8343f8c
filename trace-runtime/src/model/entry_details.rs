//! The facts of an entry that most entries of one op share, or that few entries have.

use super::{DTypes, OpKind, Outcome, Pause};
use std::collections::BTreeMap;

/// The facts of a [`RecordedTraceEntry`](super::RecordedTraceEntry) that are not among its first nine fields.
///
/// They are read and written as fields of the entry itself: `entry.thread`, `entry.kind = Some(…)`. Entries of a
/// finished recording share one copy per op, shape and thread; writing to one of them makes a copy first.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct EntryDetails {
    /// The number of the thread that it ran on.
    pub thread: Option<u64>,
    /// The kind of work, if given.
    pub kind: Option<OpKind>,
    /// The instance of the op, such as the layer `layers.3.attn`, if it was given.
    pub label: Option<String>,
    /// File and line of the annotated function or the `op!`, such as `src/layers.rs:12`, if they are known.
    pub location: Option<String>,
    /// The element type of every input, in the order of `input_shapes`; empty if none is known.
    pub input_dtypes: DTypes,
    /// The element type of every output, in order; empty if none is known.
    pub output_dtypes: DTypes,
    /// The dims of the outputs after the first.
    pub more_outputs: Vec<Vec<usize>>,
    /// The outcome.
    pub outcome: Outcome,
    /// Floating-point operations, if given.
    pub flops: Option<u64>,
    /// Bytes read and written, if given.
    pub bytes_moved: Option<u64>,
    /// The rank (process of a distributed job) it ran on.
    pub rank: Option<u32>,
    /// The part of the duration during which an async op was suspended, in microseconds.
    pub suspended_us: f64,
    /// The times at which it did not work: suspensions of an async op (the longest 32), and the wait of an op with the
    /// option `sync`. In order, without overlap.
    pub pauses: Vec<Pause>,
    /// The values of `meta(…)`.
    pub meta: BTreeMap<String, String>,
}

impl EntryDetails {
    /// Nothing is known.
    pub(super) const NONE: EntryDetails = EntryDetails {
        thread: None,
        kind: None,
        label: None,
        location: None,
        input_dtypes: DTypes::new(),
        output_dtypes: DTypes::new(),
        more_outputs: Vec::new(),
        outcome: Outcome::Ok,
        flops: None,
        bytes_moved: None,
        rank: None,
        suspended_us: 0.0,
        pauses: Vec::new(),
        meta: BTreeMap::new(),
    };
}

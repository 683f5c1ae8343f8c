//! Rows that share one op: for readers of files that contain the same op many thousand times.

use super::builder::{ThreadIndex, TraceStoreBuilder, differs, row_duration, row_step, ticks};
use super::chunk::Row;
use super::hash::FastHash;
use super::memory::{MemoryEvent, StoredMemoryEvent};
use super::meta::Meta;
use super::new_entry::NewEntry;
use super::row_order::{RowOrder, locate};
use super::runtime_call::{Launch, NONE, RuntimeCall, StoredCall, StoredTarget};
use super::store::Extra;
use super::{Outcome, Pause, TraceError, TraceErrorKind};
use std::collections::{BTreeMap, HashMap};

/// An op with its kind, device and tensors, from [`TraceStoreBuilder::signature_of`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignatureIndex(pub(super) u32);

/// An entry for [`TraceStoreBuilder::push_row`], whose op was added before. Use [`NewEntry`] if each entry has another
/// op.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NewRow {
    /// The op, kind, device and tensors.
    pub signature: SignatureIndex,
    /// The thread it ran on.
    pub thread: ThreadIndex,
    /// The start, in nanoseconds since the trace began.
    pub start_ns: i64,
    /// The duration, in nanoseconds.
    pub duration_ns: u64,
    /// The index of its parent.
    pub parent: Option<usize>,
    /// The outcome.
    pub outcome: Outcome,
}

impl NewRow {
    /// A row with an op, a thread, a start and a duration in nanoseconds; it has no parent, and its outcome is `ok`.
    pub fn new(
        signature: SignatureIndex,
        thread: ThreadIndex,
        start_ns: i64,
        duration_ns: u64,
    ) -> NewRow {
        NewRow {
            signature,
            thread,
            start_ns,
            duration_ns,
            parent: None,
            outcome: Outcome::Ok,
        }
    }

    /// Sets the index of its parent.
    #[must_use]
    pub fn with_parent(mut self, parent: impl Into<Option<usize>>) -> Self {
        self.parent = parent.into();
        self
    }

    /// Sets how it ended.
    #[must_use]
    pub fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self
    }
}

/// A row with everything that an entry can have. These may be pushed in any order:
/// [`TraceStoreBuilder::sort_by_step`] sorts them.
#[derive(Debug)]
pub(crate) struct WholeRow {
    pub(crate) signature: SignatureIndex,
    pub(crate) thread: ThreadIndex,
    pub(crate) step: usize,
    /// The `step` of its parent, which may be missing.
    pub(crate) parent: Option<usize>,
    pub(crate) start_ns: Option<i64>,
    pub(crate) duration_ns: u64,
    pub(crate) outcome: Outcome,
    pub(crate) suspended_ns: u64,
    pub(crate) pauses: Vec<Pause>,
    pub(crate) output_elements: usize,
    pub(crate) memory_bytes: usize,
    pub(crate) meta: BTreeMap<String, String>,
}

impl TraceStoreBuilder {
    /// Appends an entry whose step need not be its index.
    pub(crate) fn push_whole(&mut self, row: WholeRow) -> Result<(), TraceError> {
        let known = &self.interner.signatures[row.signature.0 as usize];
        let mut extra = Extra {
            suspended_ns: row.suspended_ns,
            pauses: row.pauses,
            output_elements: differs(row.output_elements, known.elements),
            memory_bytes: differs(row.memory_bytes, known.bytes),
            ..Extra::default()
        };
        let packed = Row {
            start: ticks(row.start_ns),
            duration: row_duration(row.duration_ns, &mut extra),
            signature: row.signature.0,
            outcome: row.outcome,
            step: row_step(Some(row.step), &mut extra.step),
            parent: row_step(row.parent, &mut extra.parent),
            extra: extra != Extra::default() || !row.meta.is_empty(),
        };
        self.dense &= row.step == self.order.len();
        let index = self.append(row.thread, packed, extra)?;
        self.metas.insert(index as u32, Meta::from(&row.meta));
        Ok(())
    }

    /// Sorts the entries by their steps.
    pub(crate) fn sort_by_step(&mut self) {
        let steps: Vec<usize> = (0..self.order.len())
            .map(|index| self.step_of(index))
            .collect();
        if steps.is_sorted() {
            return;
        }
        let mut order: Vec<u32> = (0..steps.len() as u32).collect();
        order.sort_by_key(|&index| steps[index as usize]);
        let mut extras = HashMap::with_capacity_and_hasher(self.extras.len(), FastHash::default());
        for (index, was) in order.iter().enumerate() {
            if let Some(extra) = self.extras.remove(was) {
                extras.insert(index as u32, extra);
            }
        }
        self.extras = extras;
        self.metas = self.metas.of_entries(order.iter().copied());
        self.dense = order
            .iter()
            .enumerate()
            .all(|(index, &was)| steps[was as usize] == index);
        for index in &mut order {
            *index = self.order.key(*index as usize);
        }
        self.order = RowOrder::Keys(order);
    }

    fn step_of(&self, index: usize) -> usize {
        let extra = self.extras.get(&(index as u32));
        let (chunk, slot) = locate(self.order.key(index));
        let row = self.chunks[chunk].rows.row(slot);
        extra
            .and_then(|extra| extra.step)
            .or(row.map(|row| row.step as usize))
            .unwrap_or(index)
    }

    /// The number that a thread was given in [`thread`](Self::thread).
    pub(crate) fn thread_id(&self, thread: ThreadIndex) -> Option<u64> {
        self.threads[thread.0 as usize].id
    }

    /// Names the thread with this number of a rank. `None` counts as rank 0, because an export has one process for
    /// both.
    pub(crate) fn name_thread(&mut self, rank: Option<u32>, id: u64, name: &str) {
        let rank = rank.unwrap_or(0);
        for thread in &mut self.threads {
            if thread.id == Some(id) && thread.rank.unwrap_or(0) == rank {
                thread.name = Some(name.to_owned());
            }
        }
    }

    /// Numbers the op, kind, device, tensors, FLOPs and bytes of an entry, for [`push_row`](Self::push_row).
    ///
    /// # Errors
    /// The trace has more than 16 million distinct signatures.
    pub fn signature_of(&mut self, entry: &NewEntry<'_>) -> Result<SignatureIndex, TraceError> {
        self.signature_id(entry).map(SignatureIndex)
    }

    /// Appends an entry and returns its index, which is its step. Like [`push`](Self::push), without
    /// looking up its names again.
    ///
    /// # Errors
    /// The trace has more than 4 billion entries, or the signature is not one of this builder.
    pub fn push_row(&mut self, row: NewRow) -> Result<usize, TraceError> {
        self.push_row_with(row, &BTreeMap::new())
    }

    /// Appends an entry with metadata and returns its index, which is its step.
    pub(crate) fn push_row_with(
        &mut self,
        row: NewRow,
        meta: &BTreeMap<String, String>,
    ) -> Result<usize, TraceError> {
        if row.signature.0 as usize >= self.interner.signatures.len() {
            return Err(TraceError::new(
                TraceErrorKind::InvalidInput,
                "a row names a signature of another builder; number it with this one",
            ));
        }
        let mut extra = Extra::default();
        let parent = row_step(row.parent, &mut extra.parent);
        let duration = row_duration(row.duration_ns, &mut extra);
        let packed = Row {
            start: ticks(Some(row.start_ns)),
            duration,
            signature: row.signature.0,
            outcome: row.outcome,
            extra: extra.parent.is_some() || extra.duration_ns.is_some() || !meta.is_empty(),
            step: self.order.len() as u32,
            parent,
        };
        let index = self.append(row.thread, packed, extra)?;
        self.metas.insert(index as u32, Meta::from(meta));
        Ok(index)
    }

    /// Sets [`TraceView::total_duration_us`](super::TraceView::total_duration_us), for traces in which several threads
    /// contain the same time. If it is not set, it is computed.
    pub fn total_duration_us(&mut self, total: f64) {
        self.total_us = Some(total);
    }

    /// Appends an allocation or a free; they must be pushed in order of time.
    pub fn push_memory(&mut self, event: &MemoryEvent<'_>) {
        let device = self.interner.string(event.device_id);
        self.memory.push(StoredMemoryEvent {
            device,
            event: MemoryEvent {
                device_id: "",
                ..*event
            },
        });
    }

    /// Appends a runtime call and returns its number; calls arrive in the order in which they began. `thread` is
    /// the thread that made it, in place of the thread and rank in `call`.
    pub fn push_call(&mut self, thread: ThreadIndex, call: &RuntimeCall<'_>) -> usize {
        let name = self.interner.string(call.name);
        let span = (call.start_ns, call.duration_ns);
        let number = self.append_call(name, thread, span, call.during);
        if (call.stream, call.event, call.event_stream) != (None, None, None) {
            self.set_call_target(number, call.stream, call.event, call.event_stream);
        }
        number
    }

    /// Like [`push_call`](Self::push_call), for a call whose name is known as the op of a signature, so that it is not
    /// looked up again.
    pub(crate) fn push_call_row(
        &mut self,
        signature: SignatureIndex,
        thread: ThreadIndex,
        span: (i64, u64),
        during: Option<usize>,
    ) -> usize {
        let name = self.interner.signatures[signature.0 as usize].operation;
        self.append_call(name, thread, span, during)
    }

    fn append_call(
        &mut self,
        name: u32,
        thread: ThreadIndex,
        (start_ns, duration_ns): (i64, u64),
        during: Option<usize>,
    ) -> usize {
        self.calls.calls.push(StoredCall {
            start_ns,
            duration_ns,
            name,
            thread: thread.0,
            during: during
                .and_then(|step| u32::try_from(step).ok())
                .unwrap_or(NONE),
            target: NONE,
        });
        self.calls.calls.len() - 1
    }

    /// Sets the stream and the event that the call with this number acts on: see [`RuntimeCall::stream`],
    /// [`RuntimeCall::event`] and [`RuntimeCall::event_stream`].
    pub fn set_call_target(
        &mut self,
        call: usize,
        stream: Option<u64>,
        event: Option<usize>,
        event_stream: Option<u64>,
    ) {
        let Some(stored) = self.calls.calls.get_mut(call) else {
            return;
        };
        let target = StoredTarget {
            stream,
            event: event.and_then(|event| u32::try_from(event).ok()),
            event_stream,
        };
        if let Some(known) = self.calls.targets.get_mut(stored.target as usize) {
            *known = target;
        } else {
            stored.target = self.calls.targets.len() as u32;
            self.calls.targets.push(target);
        }
    }

    /// Links an entry on a device to the call that launched it.
    pub fn push_launch(&mut self, launch: Launch) {
        if let (Ok(step), Ok(call)) = (u32::try_from(launch.step), u32::try_from(launch.call)) {
            self.calls.launches.push((step, call));
        }
    }
}

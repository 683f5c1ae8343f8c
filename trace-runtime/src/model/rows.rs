//! Rows whose op is named once: for readers that meet the same op many thousand times.

use super::builder::{NewEntry, ThreadIndex, TraceStoreBuilder, row_duration, row_step, ticks};
use super::chunk::Row;
use super::memory::{MemoryEvent, StoredMemoryEvent};
use super::store::Extra;
use super::{Outcome, TraceError};

/// An op with its kind, device and tensors, as [`TraceStoreBuilder::signature_of`] numbered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignatureIndex(pub(super) u32);

/// An entry on its way into a [`TraceStoreBuilder`] whose op is known there already.
#[derive(Debug, Clone, Copy)]
pub struct NewRow {
    /// Its op, kind, device and tensors.
    pub signature: SignatureIndex,
    /// The thread it ran on.
    pub thread: ThreadIndex,
    /// When it began, in nanoseconds since the trace began.
    pub start_ns: i64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// The index of the entry that it ran inside of.
    pub parent: Option<usize>,
    /// How it ended.
    pub outcome: Outcome,
}

impl TraceStoreBuilder {
    /// Numbers the op, kind, device, tensors, FLOPs and bytes of an entry, for [`push_row`](Self::push_row).
    pub fn signature_of(&mut self, entry: &NewEntry<'_>) -> Result<SignatureIndex, TraceError> {
        self.signature_id(entry).map(SignatureIndex)
    }

    /// Appends an entry and returns its index, which is its step. Like [`push`](Self::push), without
    /// looking up its names again.
    pub fn push_row(&mut self, row: NewRow) -> Result<usize, TraceError> {
        if row.signature.0 as usize >= self.interner.signatures.len() {
            return Err(TraceError::content(
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
            extra: extra.parent.is_some() || extra.duration_ns.is_some(),
            step: self.order.len() as u32,
            parent,
        };
        self.append(row.thread, packed, extra)
    }

    /// Says what [`TraceView::total_duration_us`](super::TraceView::total_duration_us) is, for traces
    /// whose threads show some of the time more than once. Else it is added up.
    pub fn total_duration_us(&mut self, total: f64) {
        self.total_us = Some(total);
    }

    /// Appends what the allocator said; events arrive in the order in which they happened.
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
}

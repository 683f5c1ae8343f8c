//! Rows whose op is named once: for readers that meet the same op many thousand times.

use super::builder::{
    NewEntry, ThreadIndex, TraceStoreBuilder, differs, row_duration, row_step, ticks,
};
use super::chunk::{Row, SLOT_BITS};
use super::memory::{MemoryEvent, StoredMemoryEvent};
use super::store::Extra;
use super::{Outcome, TraceError};
use std::collections::{BTreeMap, HashMap};

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

/// A row with all that an entry can have. Rows of this kind may arrive in any order:
/// [`TraceStoreBuilder::sort_by_step`] puts them into theirs.
#[derive(Debug)]
pub(crate) struct WholeRow {
    pub(crate) signature: SignatureIndex,
    pub(crate) thread: ThreadIndex,
    pub(crate) step: usize,
    /// A step, of an entry that may not be there.
    pub(crate) parent: Option<usize>,
    pub(crate) start_ns: Option<i64>,
    pub(crate) duration_ns: u64,
    pub(crate) outcome: Outcome,
    pub(crate) suspended_ns: u64,
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
            output_elements: differs(row.output_elements, known.elements),
            memory_bytes: differs(row.memory_bytes, known.bytes),
            meta: row.meta,
            ..Extra::default()
        };
        let packed = Row {
            start: ticks(row.start_ns),
            duration: row_duration(row.duration_ns, &mut extra),
            signature: row.signature.0,
            outcome: row.outcome,
            step: row_step(Some(row.step), &mut extra.step),
            parent: row_step(row.parent, &mut extra.parent),
            extra: extra != Extra::default(),
        };
        self.dense &= row.step == self.order.len();
        self.append(row.thread, packed, extra).map(drop)
    }

    /// Puts entries that arrived in another order into that of their steps.
    pub(crate) fn sort_by_step(&mut self) {
        let steps: Vec<usize> = (0..self.order.len())
            .map(|index| self.step_of(index))
            .collect();
        if steps.is_sorted() {
            return;
        }
        let mut order: Vec<u32> = (0..steps.len() as u32).collect();
        order.sort_by_key(|&index| steps[index as usize]);
        let mut extras = HashMap::with_capacity(self.extras.len());
        for (index, was) in order.iter().enumerate() {
            if let Some(extra) = self.extras.remove(was) {
                extras.insert(index as u32, extra);
            }
        }
        self.extras = extras;
        self.dense = order
            .iter()
            .enumerate()
            .all(|(index, &was)| steps[was as usize] == index);
        for index in &mut order {
            *index = self.order[*index as usize];
        }
        self.order = order;
    }

    fn step_of(&self, index: usize) -> usize {
        let extra = self.extras.get(&(index as u32));
        let key = self.order[index];
        let rows = &self.chunks[(key >> SLOT_BITS) as usize].rows;
        let row = rows.row((key & ((1 << SLOT_BITS) - 1)) as usize);
        extra
            .and_then(|extra| extra.step)
            .or(row.map(|row| row.step as usize))
            .unwrap_or(index)
    }

    /// Names the threads with this number, of whichever rank.
    pub(crate) fn name_threads(&mut self, id: u64, name: &str) {
        for thread in self.threads.iter_mut().filter(|one| one.id == Some(id)) {
            thread.name = Some(name.to_owned());
        }
    }

    /// Numbers the op, kind, device, tensors, FLOPs and bytes of an entry, for [`push_row`](Self::push_row).
    pub fn signature_of(&mut self, entry: &NewEntry<'_>) -> Result<SignatureIndex, TraceError> {
        self.signature_id(entry).map(SignatureIndex)
    }

    /// Appends an entry and returns its index, which is its step. Like [`push`](Self::push), without
    /// looking up its names again.
    pub fn push_row(&mut self, row: NewRow) -> Result<usize, TraceError> {
        self.push_row_with(row, BTreeMap::new())
    }

    /// Appends an entry with metadata and returns its index, which is its step.
    pub(crate) fn push_row_with(
        &mut self,
        row: NewRow,
        meta: BTreeMap<String, String>,
    ) -> Result<usize, TraceError> {
        if row.signature.0 as usize >= self.interner.signatures.len() {
            return Err(TraceError::content(
                "a row names a signature of another builder; number it with this one",
            ));
        }
        let mut extra = Extra {
            meta,
            ..Extra::default()
        };
        let parent = row_step(row.parent, &mut extra.parent);
        let duration = row_duration(row.duration_ns, &mut extra);
        let packed = Row {
            start: ticks(Some(row.start_ns)),
            duration,
            signature: row.signature.0,
            outcome: row.outcome,
            extra: extra.parent.is_some() || extra.duration_ns.is_some() || !extra.meta.is_empty(),
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

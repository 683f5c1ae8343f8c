//! The compact storage: rows of 24 bytes, with names, devices and shapes kept once.

use super::chunk::{Chunk, RowWords};
use super::entry_view::EntryView;
use super::hash::FastHash;
use super::interner::Signature;
use super::memory::{MemoryEvent, StoredMemoryEvent};
use super::meta::MetaTable;
use super::pause::Pause;
use super::row_order::{ChunkThreads, RowOrder, locate};
use super::runtime_call::{Launch, NONE, RuntimeCall, StoredCalls, StoredTarget};
use super::signature::Parts;
use super::stored_entry::StoredEntry;
use super::ticks::TickScale;
use super::trace_step::{TraceStep, sort_steps};
use super::view::{EntryStorage, TraceView, Views, sealed};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
pub(crate) use trace_core::__engine::rows::Thread;

/// A trace in compact form: 24 to 28 bytes per entry, and each distinct name, device and set of shapes once.
///
/// Use it for long traces: sessions and readers make one, and it scales to tens of millions of entries. It
/// returns the same [`EntryView`] as a
/// [`RecordedExecutionTrace`](super::RecordedExecutionTrace), and converts to and from it.
#[derive(Debug, Clone, Default)]
pub struct TraceStore {
    pub(super) strings: Vec<Box<str>>,
    pub(super) signatures: Vec<Signature>,
    pub(super) words: Vec<usize>,
    pub(super) threads: Vec<Thread>,
    pub(super) chunks: Vec<StoredChunk>,
    /// The keys of the rows, in the order in which ops began.
    pub(super) order: RowOrder,
    pub(super) extras: HashMap<u32, Extra, FastHash>,
    pub(super) metas: MetaTable,
    pub(super) memory: Vec<StoredMemoryEvent>,
    pub(super) calls: StoredCalls,
    pub(super) scale: TickScale,
    /// Every entry's step is its index.
    pub(super) dense: bool,
    pub(super) total_us: OnceLock<f64>,
    pub(super) metadata: HashMap<String, String>,
    pub(super) steps: Vec<TraceStep>,
}

/// Rows of one or several threads.
#[derive(Debug, Clone)]
pub(super) struct StoredChunk {
    pub(super) rows: Arc<Chunk>,
    pub(super) threads: ChunkThreads,
}

/// Fields that few entries have, and values that do not fit in a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Extra {
    pub(crate) step: Option<usize>,
    pub(crate) parent: Option<usize>,
    pub(crate) duration_ns: Option<u64>,
    pub(crate) duration_us: Option<f64>,
    pub(crate) start_us: Option<f64>,
    pub(crate) suspended_ns: u64,
    pub(crate) suspended_us: Option<f64>,
    pub(crate) pauses: Vec<Pause>,
    pub(crate) output_elements: Option<usize>,
    pub(crate) memory_bytes: Option<usize>,
}

/// Takes the place of the start in a row that has none.
pub(super) const NO_START: u64 = u64::MAX;

impl TraceStore {
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of distinct combinations of op, kind, device and tensors. Signatures are numbered from 0.
    pub fn signature_count(&self) -> usize {
        self.signatures.len()
    }

    /// The size of rows, order, signatures and extras in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.chunks
            .iter()
            .map(|chunk| Chunk::bytes(chunk.rows.capacity()) + chunk.threads.heap_bytes())
            .sum::<usize>()
            + self.chunks.capacity() * size_of::<StoredChunk>()
            + self.order.heap_bytes()
            + self.words.capacity() * size_of::<usize>()
            + self.signatures.capacity() * size_of::<Signature>()
            + self
                .strings
                .iter()
                .map(|string| string.len() + size_of::<Box<str>>())
                .sum::<usize>()
            + self.extras.capacity() * size_of::<(u32, Extra)>()
            + self.metas.heap_bytes()
            + self.memory.capacity() * size_of::<StoredMemoryEvent>()
            + self.calls.heap_bytes()
    }

    /// Adds a fact about the run.
    pub fn insert_metadata(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.metadata.insert(key.into(), value.into());
    }

    /// Replaces the steps of the trace.
    pub(crate) fn set_steps(&mut self, mut steps: Vec<TraceStep>) {
        sort_steps(&mut steps);
        self.steps = steps;
    }

    /// Converts ticks of the trace's clock to nanoseconds since the trace began.
    pub(crate) fn ns_of(&self, ticks: u64) -> i64 {
        self.scale.ns(ticks)
    }

    /// Adds allocations and frees, and puts all of them in order of time.
    pub(crate) fn add_memory<'a>(&mut self, events: impl Iterator<Item = MemoryEvent<'a>>) {
        let mut known: HashMap<&str, u32> = HashMap::new();
        for event in events {
            let device = *known.entry(event.device_id).or_insert_with(|| {
                let found = self
                    .strings
                    .iter()
                    .position(|string| **string == *event.device_id);
                let index = found.unwrap_or(self.strings.len());
                if found.is_none() {
                    self.strings.push(event.device_id.into());
                }
                index as u32
            });
            self.memory.push(StoredMemoryEvent {
                device,
                event: MemoryEvent {
                    device_id: "",
                    ..event
                },
            });
        }
        self.memory.sort_by_key(|stored| stored.event.at_ns);
    }

    /// The op and inputs of a signature as a context without figures.
    #[cfg(feature = "alloc")]
    pub(crate) fn context_of_signature(&self, signature: u32) -> super::MemoryContext {
        let signature = &self.signatures[signature as usize];
        super::MemoryContext {
            operation: self.string(signature.operation).to_owned(),
            is_op: true,
            label: signature.label.map(|label| self.string(label).to_owned()),
            input_shapes: self
                .parts(signature)
                .filter(|(header, _)| header.role() == super::signature::Role::Input)
                .map(|(_, dims)| dims.to_vec())
                .collect(),
            ..super::MemoryContext::default()
        }
    }

    #[inline]
    fn row(&self, index: usize) -> (RowWords, u32) {
        let (chunk, slot) = locate(self.order.key(index));
        let chunk = &self.chunks[chunk];
        let row = chunk
            .rows
            .packed(slot)
            .expect("the order names rows that exist");
        (RowWords(row), chunk.threads.at(slot))
    }

    pub(super) fn string(&self, id: u32) -> &str {
        &self.strings[id as usize]
    }

    pub(super) fn parts(&self, signature: &Signature) -> Parts<'_> {
        let first = signature.first_word as usize;
        Parts::new(&self.words[first..first + signature.word_count as usize])
    }

    fn add_up(&self) -> f64 {
        let nested = |view: &EntryView<'_>| {
            view.parent()
                .and_then(|step| self.index_of_step(step))
                .map(|index| self.view(index))
                .is_some_and(|parent| {
                    parent.thread() == view.thread() && parent.rank() == view.rank()
                })
        };
        self.views()
            .filter(|view| !nested(view))
            .map(|view| view.duration_us() - view.suspended_ns() as f64 / 1000.0)
            .sum()
    }
}

impl EntryStorage for TraceStore {
    type Entry<'a> = StoredEntry<'a>;

    #[inline]
    fn entry(&self, index: usize) -> StoredEntry<'_> {
        let (row, thread) = self.row(index);
        StoredEntry {
            store: self,
            row,
            thread,
            index: index as u32,
        }
    }
}

impl sealed::Sealed for TraceStore {}

impl TraceView for TraceStore {
    fn entry_count(&self) -> usize {
        self.order.len()
    }

    #[inline]
    fn view(&self, index: usize) -> EntryView<'_> {
        self.entry(index).into()
    }

    fn views(&self) -> Views<'_> {
        Views::stored(self)
    }

    fn index_of_step(&self, step: usize) -> Option<usize> {
        if self.dense {
            return (step < self.len()).then_some(step);
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.entry(middle).step().cmp(&step) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn total_duration_us(&self) -> f64 {
        *self.total_us.get_or_init(|| self.add_up())
    }

    fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    fn thread_name(&self, rank: Option<u32>, thread: u64) -> Option<&str> {
        self.threads
            .iter()
            .find(|known| known.id == Some(thread) && known.rank == rank)
            .and_then(|known| known.name.as_deref())
    }

    fn memory_events(&self) -> Box<dyn Iterator<Item = MemoryEvent<'_>> + '_> {
        Box::new(self.memory.iter().map(|stored| MemoryEvent {
            device_id: self.string(stored.device),
            ..stored.event
        }))
    }

    fn runtime_calls(&self) -> Box<dyn Iterator<Item = RuntimeCall<'_>> + '_> {
        Box::new(self.calls.calls.iter().map(|stored| {
            let thread = &self.threads[stored.thread as usize];
            let target = self.calls.targets.get(stored.target as usize);
            let StoredTarget {
                stream,
                event,
                event_stream,
            } = target.copied().unwrap_or_default();
            RuntimeCall {
                name: self.string(stored.name),
                start_ns: stored.start_ns,
                duration_ns: stored.duration_ns,
                thread: thread.id,
                rank: thread.rank,
                during: (stored.during != NONE).then_some(stored.during as usize),
                stream,
                event: event.map(|event| event as usize),
                event_stream,
            }
        }))
    }

    fn launches(&self) -> Box<dyn Iterator<Item = Launch> + '_> {
        Box::new(self.calls.launches())
    }

    fn steps(&self) -> &[TraceStep] {
        &self.steps
    }
}

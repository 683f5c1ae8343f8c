//! The compact storage: rows of 24 bytes, with names, devices and shapes kept once.

use super::chunk::{Chunk, LONG_DURATION, NO_PARENT, Row, SLOT_BITS};
use super::entry::RecordedTraceEntry;
use super::memory::{MemoryEvent, StoredMemoryEvent};
use super::signature::{Fact, Parts, Role, elements};
use super::ticks::TickScale;
use super::view::{EntryView, TraceView};
use super::{OpKind, Outcome};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// A trace in little room: 24 bytes an entry, and each distinct name, device and set of shapes once.
///
/// The recorder fills one without copying, readers load into one, and it scales to tens of millions
/// of entries. It hands out the same [`EntryView`] as a
/// [`RecordedExecutionTrace`](super::RecordedExecutionTrace), and converts to and from it.
#[derive(Debug, Clone, Default)]
pub struct TraceStore {
    pub(super) strings: Vec<Box<str>>,
    pub(super) signatures: Vec<Signature>,
    pub(super) words: Vec<usize>,
    pub(super) threads: Vec<Thread>,
    pub(super) chunks: Vec<StoredChunk>,
    /// The keys of the rows, in the order in which ops began.
    pub(super) order: Vec<u32>,
    pub(super) extras: HashMap<u32, Extra>,
    pub(super) memory: Vec<StoredMemoryEvent>,
    pub(super) scale: TickScale,
    /// Every entry's step is its index.
    pub(super) dense: bool,
    pub(super) total_us: OnceLock<f64>,
    pub(super) metadata: HashMap<String, String>,
}

/// An op with its tensors.
#[derive(Debug, Clone)]
pub(super) struct Signature {
    pub(super) operation: u32,
    pub(super) kind: Option<OpKind>,
    pub(super) device: Option<u32>,
    pub(super) first_word: u32,
    pub(super) word_count: u32,
    pub(super) elements: usize,
    pub(super) bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Thread {
    pub(crate) id: Option<u64>,
    pub(crate) rank: Option<u32>,
    pub(crate) name: Option<String>,
}

/// The rows of one thread, or a part of them.
#[derive(Debug, Clone)]
pub(super) struct StoredChunk {
    pub(super) rows: Arc<Chunk>,
    pub(super) thread: u32,
}

/// What few entries have, and what a row has no bits for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Extra {
    pub(crate) step: Option<usize>,
    pub(crate) parent: Option<usize>,
    pub(crate) duration_ns: Option<u64>,
    pub(crate) duration_us: Option<f64>,
    pub(crate) start_us: Option<f64>,
    pub(crate) suspended_ns: u64,
    pub(crate) suspended_us: Option<f64>,
    pub(crate) output_elements: Option<usize>,
    pub(crate) memory_bytes: Option<usize>,
    pub(crate) meta: BTreeMap<String, String>,
}

/// The start of a row that has none.
pub(super) const NO_START: u64 = u64::MAX;

impl TraceStore {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many distinct combinations of op, kind, device and tensors there are. Signatures are
    /// numbered from 0.
    pub fn signature_count(&self) -> usize {
        self.signatures.len()
    }

    /// The bytes that rows, order and signatures take.
    pub fn heap_bytes(&self) -> usize {
        self.chunks
            .iter()
            .map(|chunk| Chunk::bytes(chunk.rows.capacity()))
            .sum::<usize>()
            + self.chunks.capacity() * size_of::<StoredChunk>()
            + self.order.capacity() * size_of::<u32>()
            + self.words.capacity() * size_of::<usize>()
            + self.signatures.capacity() * size_of::<Signature>()
            + self
                .strings
                .iter()
                .map(|string| string.len() + size_of::<Box<str>>())
                .sum::<usize>()
            + self.extras.capacity() * size_of::<(u32, Extra)>()
            + self.memory.capacity() * size_of::<StoredMemoryEvent>()
    }

    /// Adds a fact about the run.
    pub fn insert_metadata(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.metadata.insert(key.into(), value.into());
    }

    #[inline]
    fn row(&self, index: usize) -> (Row, u32) {
        let key = self.order[index];
        let chunk = &self.chunks[(key >> SLOT_BITS) as usize];
        let slot = (key & ((1 << SLOT_BITS) - 1)) as usize;
        let row = chunk
            .rows
            .row(slot)
            .expect("the order names rows that exist");
        (row, chunk.thread)
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
                .map(|index| EntryView::from(self.entry(index)))
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

impl TraceView for TraceStore {
    type Entry<'a> = StoredEntry<'a>;

    fn entry_count(&self) -> usize {
        self.order.len()
    }

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

    fn thread_name(&self, thread: u64) -> Option<&str> {
        self.threads
            .iter()
            .find(|known| known.id == Some(thread) && known.name.is_some())
            .and_then(|known| known.name.as_deref())
    }

    fn memory_events(&self) -> impl Iterator<Item = MemoryEvent<'_>> {
        self.memory.iter().map(|stored| MemoryEvent {
            device_id: self.string(stored.device),
            ..stored.event
        })
    }
}

/// An entry of a [`TraceStore`]; all there is to know of it is in its [`EntryView`].
#[derive(Debug, Clone, Copy)]
pub struct StoredEntry<'a> {
    store: &'a TraceStore,
    row: Row,
    thread: u32,
    index: u32,
}

impl<'a> StoredEntry<'a> {
    fn extra(&self) -> Option<&'a Extra> {
        if self.row.extra {
            self.store.extras.get(&self.index)
        } else {
            None
        }
    }

    fn known(&self) -> &'a Signature {
        &self.store.signatures[self.row.signature as usize]
    }

    fn on(&self) -> &'a Thread {
        &self.store.threads[self.thread as usize]
    }

    pub(super) fn parts(&self) -> Parts<'a> {
        self.store.parts(self.known())
    }

    fn number(&self, fact: Fact) -> Option<u64> {
        self.parts()
            .find(|(header, _)| header.is_fact(fact))
            .and_then(|(_, words)| words.first())
            .map(|&value| value as u64)
    }

    pub(super) fn signature(&self) -> u32 {
        self.row.signature
    }

    pub(super) fn step(&self) -> usize {
        self.extra()
            .and_then(|extra| extra.step)
            .unwrap_or(self.row.step as usize)
    }

    pub(super) fn operation(&self) -> &'a str {
        self.store.string(self.known().operation)
    }

    pub(super) fn device_id(&self) -> Option<&'a str> {
        self.known().device.map(|device| self.store.string(device))
    }

    pub(super) fn kind(&self) -> Option<OpKind> {
        self.known().kind
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.row.outcome
    }

    pub(super) fn start_ns(&self) -> Option<i64> {
        (self.row.start != NO_START).then(|| self.store.scale.ns(self.row.start))
    }

    pub(super) fn duration_ns(&self) -> u64 {
        if self.row.duration == LONG_DURATION
            && let Some(long) = self.extra().and_then(|extra| extra.duration_ns)
        {
            return long;
        }
        if self.row.start == NO_START {
            return self.row.duration;
        }
        let scale = self.store.scale;
        let end = self.row.start.saturating_add(self.row.duration);
        scale.ns(end).abs_diff(scale.ns(self.row.start))
    }

    pub(super) fn duration_us(&self) -> f64 {
        self.extra()
            .and_then(|extra| extra.duration_us)
            .unwrap_or_else(|| self.duration_ns() as f64 / 1000.0)
    }

    pub(super) fn suspended_ns(&self) -> u64 {
        self.extra().map_or(0, |extra| extra.suspended_ns)
    }

    pub(super) fn thread(&self) -> Option<u64> {
        self.on().id
    }

    pub(super) fn rank(&self) -> Option<u32> {
        self.on().rank
    }

    pub(super) fn parent(&self) -> Option<usize> {
        if self.row.parent != NO_PARENT {
            return Some(self.row.parent as usize);
        }
        self.extra().and_then(|extra| extra.parent)
    }

    pub(super) fn output_elements(&self) -> usize {
        self.extra()
            .and_then(|extra| extra.output_elements)
            .unwrap_or_else(|| self.known().elements)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.extra()
            .and_then(|extra| extra.memory_bytes)
            .unwrap_or_else(|| self.known().bytes)
    }

    pub(super) fn flops(&self) -> Option<u64> {
        self.number(Fact::Flops)
    }

    pub(super) fn bytes_moved(&self) -> Option<u64> {
        self.number(Fact::BytesMoved)
    }

    pub(super) fn meta(&self) -> Option<&'a BTreeMap<String, String>> {
        self.extra().map(|extra| &extra.meta)
    }

    pub(super) fn to_entry(self) -> RecordedTraceEntry {
        let known = self.known();
        let extra = self.extra();
        let mut entry = RecordedTraceEntry {
            step: self.step(),
            operation: self.operation().to_owned(),
            device_id: self.device_id().map(str::to_owned),
            duration_us: self.duration_us(),
            output_elements: self.output_elements(),
            memory_bytes: self.memory_bytes(),
            start_us: extra
                .and_then(|extra| extra.start_us)
                .or_else(|| self.start_ns().map(|start| start as f64 / 1000.0)),
            thread: self.thread(),
            parent: self.parent(),
            kind: known.kind,
            outcome: self.outcome(),
            rank: self.rank(),
            ..RecordedTraceEntry::default()
        };
        if let Some(extra) = extra {
            entry.suspended_us = extra
                .suspended_us
                .unwrap_or(extra.suspended_ns as f64 / 1000.0);
            entry.meta.clone_from(&extra.meta);
        }
        self.copy_tensors(&mut entry);
        entry
    }

    /// One walk over the signature, and one allocation for each vector that is not empty.
    fn copy_tensors(&self, entry: &mut RecordedTraceEntry) {
        let (mut inputs, mut outputs, mut typed_in, mut typed_out) = (0, 0, false, false);
        for (header, dims) in self.parts() {
            let typed = header.dtype() != super::DType::Unknown;
            match header.role() {
                Role::Input => {
                    inputs += 1;
                    typed_in |= typed;
                }
                Role::Output => {
                    outputs += 1;
                    typed_out |= typed;
                }
                Role::Fact if header.is_fact(Fact::Flops) => {
                    entry.flops = dims.first().map(|&value| value as u64);
                }
                Role::Fact if header.is_fact(Fact::BytesMoved) => {
                    entry.bytes_moved = dims.first().map(|&value| value as u64);
                }
                Role::Fact => {}
            }
        }
        entry.input_shapes.reserve_exact(inputs);
        if typed_in {
            entry.input_dtypes.reserve_exact(inputs);
        }
        if typed_out {
            entry.output_dtypes.reserve_exact(outputs);
        }
        let mut first_output = true;
        for (header, dims) in self.parts() {
            match header.role() {
                Role::Input => {
                    entry.input_shapes.push(dims.to_vec());
                    if typed_in {
                        entry.input_dtypes.push(header.dtype());
                    }
                }
                Role::Output => {
                    if first_output {
                        entry.output_shape = dims.to_vec();
                        first_output = false;
                    } else {
                        entry.more_outputs.push(dims.to_vec());
                    }
                    if typed_out {
                        entry.output_dtypes.push(header.dtype());
                    }
                }
                Role::Fact => {}
            }
        }
    }
}

/// The signatures of a trace being put together, each kept once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interner {
    pub(super) strings: Vec<Box<str>>,
    string_ids: HashMap<Box<str>, u32>,
    pub(super) signatures: Vec<Signature>,
    signature_ids: HashMap<Box<[usize]>, u32>,
    pub(super) words: Vec<usize>,
    key: Vec<usize>,
}

impl Interner {
    pub(crate) fn string(&mut self, string: &str) -> u32 {
        if let Some(&id) = self.string_ids.get(string) {
            return id;
        }
        let id = self.strings.len() as u32;
        self.strings.push(string.into());
        self.string_ids.insert(string.into(), id);
        id
    }

    /// The number of this signature. `words` are headers and dims, without the op.
    pub(crate) fn signature(
        &mut self,
        operation: u32,
        kind: Option<OpKind>,
        device: Option<u32>,
        words: &[usize],
    ) -> u32 {
        self.key.clear();
        self.key.push(operation as usize);
        self.key.push(kind.map_or(0, |kind| kind as usize + 1));
        self.key
            .push(device.map_or(0, |device| device as usize + 1));
        self.key.extend_from_slice(words);
        if let Some(&id) = self.signature_ids.get(self.key.as_slice()) {
            return id;
        }
        let id = self.signatures.len() as u32;
        self.signature_ids.insert(self.key.as_slice().into(), id);
        let (count, bytes) = Parts::new(words)
            .filter(|(header, _)| header.role() == Role::Output)
            .fold((0usize, 0usize), |(count, bytes), (header, dims)| {
                let elements = elements(dims);
                (
                    count.saturating_add(elements),
                    bytes.saturating_add(header.dtype().bytes(elements)),
                )
            });
        self.signatures.push(Signature {
            operation,
            kind,
            device,
            first_word: self.words.len() as u32,
            word_count: words.len() as u32,
            elements: count,
            bytes,
        });
        self.words.extend_from_slice(words);
        id
    }
}

//! Builds a [`TraceStore`] entry by entry.

use super::chunk::{Chunk, LONG_DURATION, MAX_ROWS, MAX_SIGNATURES, NO_PARENT, Row, SLOT_BITS};
use super::entry::RecordedTraceEntry;
use super::entry_view::EntryView;
use super::error::TraceError;
use super::hash::FastHash;
use super::interner::{Interner, KnownOp};
use super::memory::StoredMemoryEvent;
use super::meta::{Meta, MetaTable};
use super::new_entry::NewEntry;
use super::row_order::{ChunkThreads, RowOrder};
use super::runtime_call::StoredCalls;
use super::signature::{Fact, Role, push_number, push_tensor};
use super::store::{Extra, NO_START, StoredChunk, Thread, TraceStore};
use super::ticks::{ORIGIN, TickScale};
use super::trace_step::{TraceStep, sort_steps};
use super::{Device, OpKind};
use std::collections::HashMap;
use std::sync::Arc;

/// Builds a [`TraceStore`] from entries in the order in which they began.
///
/// ```
/// use trace_runtime::model::{DType, NewEntry, TraceStoreBuilder, TraceView};
///
/// let mut builder = TraceStoreBuilder::new();
/// let thread = builder.thread(Some(1), None, Some("main"));
/// let outer = builder.push(&NewEntry::new("layer", thread, 0, 900))?;
/// let inner = NewEntry::new("matmul", thread, 100, 700)
///     .with_parent(outer)
///     .with_inputs(&[(&[64, 32], DType::F32), (&[32, 8], DType::F32)]);
/// builder.push(&inner)?;
/// let store = builder.finish();
/// assert_eq!(store.total_duration_us(), 0.9);
/// # Ok::<(), trace_runtime::TraceError>(())
/// ```
#[derive(Debug)]
pub struct TraceStoreBuilder {
    pub(super) interner: Interner,
    pub(super) threads: Vec<Thread>,
    thread_ids: HashMap<(Option<u64>, Option<u32>), u32>,
    pub(super) chunks: Vec<StoredChunk>,
    /// The threads of the rows in the last chunk. They are moved to the chunk when it is full.
    last_threads: Vec<u32>,
    pub(super) order: RowOrder,
    pub(super) extras: HashMap<u32, Extra, FastHash>,
    pub(super) metas: MetaTable,
    pub(super) memory: Vec<StoredMemoryEvent>,
    pub(super) calls: StoredCalls,
    pub(super) metadata: HashMap<String, String>,
    steps: Vec<TraceStep>,
    pub(super) total_us: Option<f64>,
    pub(super) dense: bool,
    words: Vec<usize>,
}

/// A thread of the trace being built, from [`TraceStoreBuilder::thread`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadIndex(pub(super) u32);

impl Default for TraceStoreBuilder {
    fn default() -> Self {
        TraceStoreBuilder {
            interner: Interner::default(),
            threads: Vec::new(),
            thread_ids: HashMap::new(),
            chunks: Vec::new(),
            last_threads: Vec::new(),
            order: RowOrder::default(),
            extras: HashMap::default(),
            metas: MetaTable::default(),
            memory: Vec::new(),
            calls: StoredCalls::default(),
            metadata: HashMap::new(),
            steps: Vec::new(),
            total_us: None,
            dense: true,
            words: Vec::new(),
        }
    }
}

/// Number of rows of the first chunk at first. It grows up to the size of the other chunks.
const FIRST_ROWS: usize = 16;

impl TraceStoreBuilder {
    /// A builder with no entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread with this number and rank. A name is kept if the thread has none yet.
    pub fn thread(
        &mut self,
        id: Option<u64>,
        rank: Option<u32>,
        name: Option<&str>,
    ) -> ThreadIndex {
        let index = *self.thread_ids.entry((id, rank)).or_insert_with(|| {
            self.threads.push(Thread {
                id,
                rank,
                name: None,
            });
            self.threads.len() as u32 - 1
        });
        let known = &mut self.threads[index as usize].name;
        if known.is_none() {
            *known = name.map(str::to_owned);
        }
        ThreadIndex(index)
    }

    /// Adds a fact about the run.
    pub fn metadata(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.metadata.insert(key.into(), value.into());
    }

    /// Adds a step of the program's loop; steps may come in any order.
    pub fn step(&mut self, step: TraceStep) {
        self.steps.push(step);
    }

    /// Appends an entry and returns its index, which is its step.
    ///
    /// # Errors
    /// The trace has more than 4 billion entries, or 16 million distinct signatures.
    pub fn push(&mut self, entry: &NewEntry<'_>) -> Result<usize, TraceError> {
        let signature = self.signature_id(entry)?;
        let mut extra = Extra {
            suspended_ns: entry.suspended_ns,
            pauses: entry.pauses.to_vec(),
            ..Extra::default()
        };
        let parent = row_step(entry.parent, &mut extra.parent);
        let row = Row {
            start: ticks(entry.start_ns),
            duration: row_duration(entry.duration_ns, &mut extra),
            signature,
            outcome: entry.outcome,
            extra: extra != Extra::default() || !entry.meta.is_empty(),
            step: self.order.len() as u32,
            parent,
        };
        let index = self.append(entry.thread, row, extra)?;
        self.metas.insert(index as u32, Meta::from(&entry.meta));
        Ok(index)
    }

    /// The finished store.
    pub fn finish(mut self) -> TraceStore {
        sort_steps(&mut self.steps);
        self.close_chunk();
        self.calls.calls.shrink_to_fit();
        self.calls.launches.shrink_to_fit();
        self.order.shrink_to_fit();
        let store = TraceStore {
            strings: self.interner.strings,
            signatures: self.interner.signatures,
            words: self.interner.words,
            threads: self.threads,
            chunks: self.chunks,
            order: self.order,
            extras: self.extras,
            metas: self.metas.finished(),
            memory: self.memory,
            calls: self.calls,
            scale: TickScale::NANOSECONDS,
            dense: self.dense,
            total_us: std::sync::OnceLock::new(),
            metadata: self.metadata,
            steps: self.steps,
        };
        if let Some(total) = self.total_us {
            // The cell is empty, so this cannot fail.
            let _ = store.total_us.set(total);
        }
        store
    }

    pub(super) fn signature_id(&mut self, entry: &NewEntry<'_>) -> Result<u32, TraceError> {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        for (role, tensors) in [(Role::Input, entry.inputs), (Role::Output, entry.outputs)] {
            for (dims, dtype) in tensors {
                push_tensor(&mut words, role, dims, *dtype, Device::Unknown);
            }
        }
        push_numbers(&mut words, entry.flops, entry.bytes_moved);
        let op = Op {
            name: entry.operation,
            kind: entry.kind,
            label: entry.label,
            location: entry.location,
        };
        let signature = self.signature(op, entry.device_id, &words);
        self.words = words;
        signature
    }

    fn signature(
        &mut self,
        op: Op<'_>,
        device: Option<&str>,
        words: &[usize],
    ) -> Result<u32, TraceError> {
        let mut string = |text| self.interner.string(text);
        let op = KnownOp {
            name: string(op.name),
            kind: op.kind,
            label: op.label.map(&mut string),
            location: op.location.map(&mut string),
        };
        let device = device.map(string);
        self.interner
            .signature(op, device, words, |_, _| true)
            .ok_or_else(|| {
                TraceError::too_large(format!(
                    "more than {MAX_SIGNATURES} distinct ops, devices and shapes; \
                     leave some of them out or split the trace"
                ))
            })
    }

    /// The number of a signature of another store.
    pub(super) fn copy_signature(
        &mut self,
        from: &TraceStore,
        number: u32,
    ) -> Result<u32, TraceError> {
        let known = &from.signatures[number as usize];
        let first = known.first_word as usize;
        let words = &from.words[first..first + known.word_count as usize];
        let text = |number| from.string(number);
        let op = Op {
            name: text(known.operation),
            kind: known.kind,
            label: known.label.map(text),
            location: known.location.map(text),
        };
        self.signature(op, known.device.map(text), words)
    }

    pub(super) fn append(
        &mut self,
        thread: ThreadIndex,
        row: Row,
        extra: Extra,
    ) -> Result<usize, TraceError> {
        let index = self.order.len();
        let pushed = |chunk: &StoredChunk| chunk.rows.push(row);
        if !self.chunks.last().is_some_and(pushed) {
            self.make_room()?;
            self.chunks.last().map(pushed);
        }
        self.last_threads.push(thread.0);
        self.order.push(index as u32);
        // A row that only has metadata is marked too.
        if row.extra && extra != Extra::default() {
            self.extras.insert(index as u32, extra);
        }
        Ok(index)
    }

    /// Enlarges the first chunk, or begins another one. Rows of all threads are stored next to each other, in the order
    /// in which they are pushed: reading a large job of 64 threads from chunks per thread took twice as long.
    fn make_room(&mut self) -> Result<(), TraceError> {
        let rows = match self.chunks.pop_if(|last| last.rows.capacity() < MAX_ROWS) {
            Some(small) => {
                let larger = Chunk::with_rows((small.rows.capacity() * 2).min(MAX_ROWS));
                for row in (0..small.rows.len()).filter_map(|slot| small.rows.row(slot)) {
                    larger.push(row);
                }
                larger
            }
            None if self.chunks.is_empty() => Chunk::with_rows(FIRST_ROWS),
            None if self.chunks.len() >= 1 << (32 - SLOT_BITS) => {
                return Err(TraceError::too_large(
                    "more than 4 billion entries; split the trace into several",
                ));
            }
            None => {
                self.close_chunk();
                Chunk::with_rows(MAX_ROWS)
            }
        };
        self.chunks.push(StoredChunk {
            rows: Arc::new(rows),
            threads: ChunkThreads::One(0),
        });
        Ok(())
    }

    /// Moves the threads of its rows to the last chunk.
    fn close_chunk(&mut self) {
        if let Some(last) = self.chunks.last_mut() {
            last.threads = ChunkThreads::of_rows(&self.last_threads);
            self.last_threads.clear();
        }
    }

    pub(crate) fn push_owned(&mut self, entry: &RecordedTraceEntry) -> Result<(), TraceError> {
        let view = EntryView::from(entry);
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        for tensor in view.inputs() {
            push_tensor(
                &mut words,
                Role::Input,
                tensor.dims,
                tensor.dtype,
                tensor.device,
            );
        }
        for tensor in view.outputs() {
            push_tensor(
                &mut words,
                Role::Output,
                tensor.dims,
                tensor.dtype,
                tensor.device,
            );
        }
        push_numbers(&mut words, entry.flops, entry.bytes_moved);
        let device = entry.device_id.as_deref();
        let op = Op {
            name: &entry.operation,
            kind: entry.kind,
            label: entry.label.as_deref(),
            location: entry.location.as_deref(),
        };
        let signature = self.signature(op, device, &words);
        self.words = words;
        let signature = signature?;
        let known = &self.interner.signatures[signature as usize];
        let (duration_ns, start_ns) = (view.duration_ns(), view.start_ns());
        let mut extra = Extra {
            suspended_ns: view.suspended_ns(),
            pauses: entry.pauses.clone(),
            output_elements: differs(entry.output_elements, known.elements),
            memory_bytes: differs(entry.memory_bytes, known.bytes),
            duration_us: differs_us(entry.duration_us, duration_ns as f64),
            start_us: entry
                .start_us()
                .and_then(|start| differs_us(start, start_ns.unwrap_or(0) as f64)),
            suspended_us: differs_us(entry.suspended_us, view.suspended_ns() as f64),
            ..Extra::default()
        };
        let step = row_step(Some(entry.step), &mut extra.step);
        let parent = row_step(entry.parent, &mut extra.parent);
        let row = Row {
            start: ticks(start_ns),
            duration: row_duration(duration_ns, &mut extra),
            signature,
            outcome: entry.outcome,
            extra: extra != Extra::default() || !entry.meta.is_empty(),
            step,
            parent,
        };
        self.dense &= entry.step == self.order.len();
        let thread = self.thread(entry.thread, entry.rank, None);
        let index = self.append(thread, row, extra)?;
        self.metas.insert(index as u32, Meta::from(&entry.meta));
        Ok(())
    }
}

/// An op without its tensors.
#[derive(Clone, Copy)]
struct Op<'a> {
    name: &'a str,
    kind: Option<OpKind>,
    label: Option<&'a str>,
    location: Option<&'a str>,
}

fn push_numbers(words: &mut Vec<usize>, flops: Option<u64>, bytes_moved: Option<u64>) {
    if let Some(flops) = flops {
        push_number(words, Fact::Flops, flops);
    }
    if let Some(bytes) = bytes_moved {
        push_number(words, Fact::BytesMoved, bytes);
    }
}

pub(super) fn ticks(start_ns: Option<i64>) -> u64 {
    start_ns.map_or(NO_START, |start| {
        ORIGIN.saturating_add_signed(start).min(NO_START - 1)
    })
}

/// A step in the form in which a row stores it. A step that does not fit is stored in the extra.
pub(super) fn row_step(step: Option<usize>, extra: &mut Option<usize>) -> u32 {
    match step.map(u32::try_from) {
        Some(Ok(step)) if step != NO_PARENT => step,
        _ => {
            *extra = step;
            NO_PARENT
        }
    }
}

pub(super) fn row_duration(duration_ns: u64, extra: &mut Extra) -> u64 {
    if duration_ns >= LONG_DURATION {
        extra.duration_ns = Some(duration_ns);
        return LONG_DURATION;
    }
    duration_ns
}

pub(super) fn differs(given: usize, derived: usize) -> Option<usize> {
    (given != derived).then_some(given)
}

fn differs_us(us: f64, ns: f64) -> Option<f64> {
    (us.to_bits() != (ns / 1000.0).to_bits()).then_some(us)
}

//! Assembles the rows of all threads into one trace, in the order in which ops began.

use super::chunk::{LONG_DURATION, NO_PARENT, SLOT_BITS};
use super::interner::Interner;
use super::row_order::{ChunkThreads, RowOrder, locate};
use super::store::{Extra, StoredChunk, TraceStore};
use super::ticks::TickScale;
use super::wire::metadata::UNRECORDED_PREFIX;
use super::{Pause, RecordedTraceEntry, TraceView};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use trace_core::__engine::rows::{OpRef, RawExtra, ThreadRows};
use trace_core::__engine::signature::Parts;

/// Assembles the rows of all threads into one store. Rows are renumbered in place, so no thread may append
/// to them any more.
pub(crate) fn assemble(
    threads: Vec<ThreadRows>,
    interner: Interner,
    scale: TickScale,
    metadata: HashMap<String, String>,
) -> TraceStore {
    let mut store = TraceStore {
        strings: interner.strings,
        signatures: interner.signatures,
        words: interner.words,
        scale,
        dense: true,
        metadata,
        ..TraceStore::default()
    };
    let unrecorded = unrecorded(&store);
    store.metadata.extend(unrecorded);
    let mut runs = Vec::with_capacity(threads.len());
    let mut tasks = Run::default();
    let mut extras = Vec::new();
    for (index, thread) in threads.into_iter().enumerate() {
        let run = Run::of(&mut store, index as u32, &thread, &mut tasks);
        store.threads.push(thread.thread);
        extras.push((thread.uid, thread.extras));
        runs.push(run);
    }
    if tasks.keys.is_empty() && runs.len() == 1 {
        one_thread(&mut store, runs.remove(0), extras.remove(0));
    } else {
        many_threads(&mut store, runs, tasks, extras);
    }
    store.metas = std::mem::take(&mut store.metas).finished();
    store
}

/// The tensor libraries whose tensors are missing from the signatures, as metadata: see
/// [`UNRECORDED_PREFIX`].
fn unrecorded(store: &TraceStore) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for signature in &store.signatures {
        let first = signature.first_word as usize;
        let words = &store.words[first..first + signature.word_count as usize];
        for (header, _) in Parts::new(words) {
            if let Some(library) = header.unrecorded_library() {
                found
                    .entry(format!("{UNRECORDED_PREFIX}{}", library.name()))
                    .or_insert_with(|| store.strings[signature.operation as usize].to_string());
            }
        }
    }
    found
}

/// The rows of one thread as entries, in the order in which they ended, with the thread's own steps.
pub(crate) fn entries_of(
    rows: ThreadRows,
    interner: &mut Interner,
    scale: TickScale,
) -> Vec<RecordedTraceEntry> {
    let uid = rows.uid;
    let mut store = TraceStore {
        // Moved out of the interner for this call, and back at the end. Nothing in between can fail.
        strings: std::mem::take(&mut interner.strings),
        signatures: std::mem::take(&mut interner.signatures),
        words: std::mem::take(&mut interner.words),
        threads: vec![rows.thread],
        scale,
        ..TraceStore::default()
    };
    let mut index_of = HashMap::new();
    for (number, (chunk, len)) in rows.chunks.into_iter().enumerate() {
        for slot in 0..len {
            if let Some(row) = chunk.row(slot).filter(|row| row.extra) {
                index_of.insert(row.step, store.order.len() as u32);
            }
            store.order.push((number as u32) << SLOT_BITS | slot as u32);
        }
        store.chunks.push(StoredChunk {
            rows: chunk,
            threads: ChunkThreads::One(0),
        });
    }
    for extra in rows.extras {
        if let Some(&index) = index_of.get(&extra.step) {
            add_extra(&mut store, index, extra, |op| match op {
                OpRef::OnThread { uid: other, step } if other == uid => Some(step as usize),
                _ => None,
            });
        }
    }
    let entries = store.views().map(|view| view.to_entry()).collect();
    interner.strings = store.strings;
    interner.signatures = store.signatures;
    interner.words = store.words;
    entries
}

/// The rows of one thread, or all tasks, in the order in which they began.
#[derive(Debug, Default)]
struct Run {
    keys: Vec<u32>,
}

const NO_ROW: u32 = u32::MAX;

impl Run {
    /// Moves the thread's chunks into the store and lists its rows by their step.
    fn of(store: &mut TraceStore, index: u32, thread: &ThreadRows, tasks: &mut Run) -> Run {
        let is_task: std::collections::HashSet<u32> = thread
            .extras
            .iter()
            .filter(|extra| extra.task.is_some())
            .map(|extra| extra.step)
            .collect();
        let rows = thread.chunks.iter().map(|(_, len)| len).sum();
        let mut keys = Vec::with_capacity(rows);
        for (chunk, len) in &thread.chunks {
            let number = store.chunks.len() as u32;
            store.chunks.push(StoredChunk {
                rows: chunk.clone(),
                threads: ChunkThreads::One(index),
            });
            for slot in 0..*len {
                let Some(row) = chunk.row(slot) else { break };
                let key = number << SLOT_BITS | slot as u32;
                if row.extra && is_task.contains(&row.step) {
                    tasks.keys.push(key);
                    continue;
                }
                let step = row.step as usize;
                if step >= keys.len() {
                    keys.resize(step + 1, NO_ROW);
                }
                keys[step] = key;
            }
        }
        Run { keys }
    }
}

/// The common case, without a merge: if nothing was dropped, the rows keep their numbers.
fn one_thread(store: &mut TraceStore, run: Run, (uid, extras): (u32, Vec<RawExtra>)) {
    let mut order = run.keys;
    if order.contains(&NO_ROW) {
        let steps = number_gaps(&order);
        order.retain(|&key| key != NO_ROW);
        renumber(store, &order, &steps);
        store.order = RowOrder::Keys(order);
        add_extras(
            store,
            extras,
            |op| resolve(op, &[(uid, &steps)], &HashMap::new()),
            &steps,
        );
    } else {
        let all: Vec<u32> = if extras.is_empty() {
            Vec::new()
        } else {
            (0..order.len() as u32).collect()
        };
        store.order = RowOrder::Keys(order);
        add_extras(
            store,
            extras,
            |op| resolve(op, &[(uid, &all)], &HashMap::new()),
            &all,
        );
    }
}

/// For each `step` of a thread, the `step` in the trace; [`NO_PARENT`] if the row is missing.
fn number_gaps(keys: &[u32]) -> Vec<u32> {
    let mut next = 0;
    keys.iter()
        .map(|&key| {
            if key == NO_ROW {
                return NO_PARENT;
            }
            next += 1;
            next - 1
        })
        .collect()
}

fn renumber(store: &TraceStore, keys: &[u32], steps: &[u32]) {
    for &key in keys.iter().filter(|&&key| key != NO_ROW) {
        let (chunk, slot) = locate(key);
        let rows = &store.chunks[chunk].rows;
        if let Some(row) = rows.row(slot) {
            let parent = steps.get(row.parent as usize).copied().unwrap_or(NO_PARENT);
            rows.renumber(slot, steps[row.step as usize], parent);
        }
    }
}

fn many_threads(
    store: &mut TraceStore,
    threads: Vec<Run>,
    mut tasks: Run,
    extras: Vec<(u32, Vec<RawExtra>)>,
) {
    tasks.keys.sort_by_key(|&key| start_of(store, key));
    // Tasks come first, so that a task that began at the same time as its first child is before it.
    let mut runs = vec![tasks];
    runs.extend(threads);
    let Ordered { order, mut steps } = Ordered::of(store, &runs);
    let task_steps = steps.remove(0);
    let tasks = runs.remove(0);
    for (run, steps) in runs.iter().zip(&steps) {
        renumber(store, &run.keys, steps);
    }
    let task_rows = renumber_tasks(store, &tasks, &task_steps);
    store.order = RowOrder::Keys(order);

    let known_tasks: HashMap<u32, u32> = extras
        .iter()
        .zip(0..)
        .flat_map(|((_, extras), thread)| extras.iter().map(move |extra| (thread, extra)))
        .filter_map(|(thread, extra)| Some((extra.task?, *task_rows.get(&(thread, extra.step))?)))
        .collect();
    let by_uid: Vec<(u32, &[u32])> = extras
        .iter()
        .zip(&steps)
        .map(|((uid, _), steps)| (*uid, steps.as_slice()))
        .collect();
    let find = |op| resolve(op, &by_uid, &known_tasks);
    for (thread, (_, extras)) in extras.into_iter().enumerate() {
        let (of_tasks, of_thread): (Vec<_>, Vec<_>) =
            extras.into_iter().partition(|extra| extra.task.is_some());
        add_extras(store, of_thread, find, &steps[thread]);
        for extra in of_tasks {
            if let Some(&step) = task_rows.get(&(thread as u32, extra.step)) {
                add_extra(store, step, extra, find);
            }
        }
    }
}

/// The keys of several runs merged by start, and for each position of each run its step in the trace.
struct Ordered {
    order: Vec<u32>,
    steps: Vec<Vec<u32>>,
}

impl Ordered {
    fn of(store: &TraceStore, runs: &[Run]) -> Ordered {
        let keys = || runs.iter().flat_map(|run| &run.keys);
        let mut order = Vec::with_capacity(keys().filter(|&&key| key != NO_ROW).count());
        let mut steps: Vec<Vec<u32>> = runs
            .iter()
            .map(|run| vec![NO_PARENT; run.keys.len()])
            .collect();
        let mut next = vec![0; runs.len()];
        let mut advance = |run: usize| {
            while let Some(&key) = runs[run].keys.get(next[run]) {
                next[run] += 1;
                if key != NO_ROW {
                    return Some(Reverse((start_of(store, key), run, next[run] - 1)));
                }
            }
            None
        };
        // The next row of each run.
        let mut heads: BinaryHeap<_> = (0..runs.len()).filter_map(&mut advance).collect();
        while let Some(Reverse((_, run, position))) = heads.pop() {
            steps[run][position] = order.len() as u32;
            order.push(runs[run].keys[position]);
            heads.extend(advance(run));
        }
        Ordered { order, steps }
    }
}

fn start_of(store: &TraceStore, key: u32) -> u64 {
    let (chunk, slot) = locate(key);
    let row = store.chunks[chunk].rows.row(slot);
    row.map_or(0, |row| row.start)
}

/// Numbers the rows of tasks. Returns a map from the thread and `step` at which a task ended to its `step` in the
/// trace: the extras of a task have the former.
fn renumber_tasks(store: &TraceStore, tasks: &Run, steps: &[u32]) -> HashMap<(u32, u32), u32> {
    let mut numbered = HashMap::new();
    for (&key, &step) in tasks.keys.iter().zip(steps) {
        let (chunk, slot) = locate(key);
        let StoredChunk { rows, threads } = &store.chunks[chunk];
        if let Some(row) = rows.row(slot) {
            numbered.insert((threads.at(slot), row.step), step);
            rows.renumber(slot, step, NO_PARENT);
        }
    }
    numbered
}

fn resolve(op: OpRef, threads: &[(u32, &[u32])], tasks: &HashMap<u32, u32>) -> Option<usize> {
    let step = match op {
        OpRef::Task(task) => tasks.get(&task).copied()?,
        OpRef::OnThread { uid, step } => {
            let (_, steps) = threads.iter().find(|(known, _)| *known == uid)?;
            steps.get(step as usize).copied()?
        }
    };
    (step != NO_PARENT).then_some(step as usize)
}

fn add_extras(
    store: &mut TraceStore,
    extras: Vec<RawExtra>,
    find: impl Fn(OpRef) -> Option<usize> + Copy,
    steps: &[u32],
) {
    for extra in extras {
        if let Some(&step) = steps.get(extra.step as usize)
            && step != NO_PARENT
        {
            add_extra(store, step, extra, find);
        }
    }
}

fn add_extra(
    store: &mut TraceStore,
    step: u32,
    raw: RawExtra,
    find: impl Fn(OpRef) -> Option<usize>,
) {
    let (chunk, slot) = locate(store.order.key(step as usize));
    let Some(row) = store.chunks[chunk].rows.row(slot) else {
        return;
    };
    let scale = store.scale;
    let length = |ticks: u64| {
        scale
            .ns(row.start.saturating_add(ticks))
            .abs_diff(scale.ns(row.start))
    };
    let extra = Extra {
        parent: raw.parent.and_then(find),
        duration_ns: (row.duration == LONG_DURATION)
            .then(|| raw.duration.map(length))
            .flatten(),
        suspended_ns: if raw.suspended == 0 {
            0
        } else {
            length(raw.suspended)
        },
        pauses: raw
            .pauses
            .into_iter()
            .flat_map(|pauses| pauses.0)
            .map(|pause| {
                let until = pause.until.min(raw.duration.unwrap_or(row.duration));
                let from = length(pause.from.min(until));
                Pause::new(pause.kind, from, length(until).saturating_sub(from))
            })
            .collect(),
        ..Extra::default()
    };
    let meta: BTreeMap<&str, &str> = raw
        .meta
        .iter()
        .map(|(key, value)| (key.as_ref(), value.as_str()))
        .collect();
    store.metas.insert(step, meta);
    if extra != Extra::default() {
        store.extras.insert(step, extra);
    }
}

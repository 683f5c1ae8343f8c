//! Makes a trace from the rows and tables of a file.

use super::collect::Faults;
use super::header::{FileHeader, RECORDING, live};
use super::tables::Decoded;
use crate::model::assemble::assemble;
use crate::model::chunk::{
    Chunk, LONG_DURATION, MAX_ROWS, MAX_SIGNATURES, NO_PARENT, PackedRow, Row, SLOT_BITS,
};
use crate::model::interner::{Interner, KnownOp, Signature};
use crate::model::ticks::TickScale;
use crate::model::wire::metadata as keys;
use crate::model::{Device, OpKind, Outcome, TraceError, TraceStep, TraceStore};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use trace_core::__engine::extra_words;
use trace_core::__engine::rows::{OpRef, RawExtra, Thread, ThreadRows};
use trace_core::__engine::signature::{LONG_RANK, Parts, Role, rename_devices};

/// Tables and rows as they were read, in any order.
#[derive(Debug, Default)]
pub(super) struct Restored {
    strings: BTreeMap<u32, String>,
    signatures: BTreeMap<u32, ReadSignature>,
    /// The strings of locations, by signature.
    locations: HashMap<u32, u32>,
    devices: HashMap<u16, String>,
    threads: HashMap<u32, Thread>,
    /// The value of each key, with its position in the stream of tables: the last one counts.
    metadata: HashMap<String, (u64, String)>,
    steps: BTreeMap<u64, (u64, u64)>,
    logs: BTreeMap<u32, LogRows>,
    /// Ops that had not ended, by log.
    open: Vec<(u32, Vec<PackedRow>)>,
}

#[derive(Debug, Clone)]
struct ReadSignature {
    operation: u32,
    kind: Option<OpKind>,
    label: Option<u32>,
    device: Option<u32>,
    words: Vec<usize>,
}

/// The rows of one thread.
#[derive(Debug, Default)]
struct LogRows {
    chunks: Vec<Vec<PackedRow>>,
    extras: Vec<RawExtra>,
}

/// Shown for an op, label or device whose table entry is missing.
const LOST_NAME: &str = "(name lost)";

impl Restored {
    pub(super) fn add_entry(&mut self, position: u64, entry: Decoded) {
        match entry {
            Decoded::String(number, text) => drop(self.strings.insert(number, text)),
            Decoded::Signature {
                number,
                operation,
                kind,
                label,
                device,
                words,
            } if number <= MAX_SIGNATURES => {
                let read = ReadSignature {
                    operation,
                    kind,
                    label,
                    device,
                    words,
                };
                self.signatures.insert(number, read);
            }
            Decoded::Location {
                signature,
                location,
            } => drop(self.locations.insert(signature, location)),
            Decoded::Device(code, name) => drop(self.devices.insert(code, name)),
            Decoded::Thread(log, thread) => drop(self.threads.insert(log, thread)),
            Decoded::Metadata(key, value) => {
                let known = self.metadata.get(&key).map(|(position, _)| *position);
                if known.is_none_or(|known| known <= position) {
                    self.metadata.insert(key, (position, value));
                }
            }
            Decoded::Step { number, start, end } => {
                self.steps.insert(number, (start, end));
            }
            // Ops are not needed here, because signatures repeat their facts. A number above the limit is from a
            // damaged file.
            Decoded::Op { .. } | Decoded::Signature { .. } => {}
        }
    }

    pub(super) fn add_rows(&mut self, log: u32, rows: Vec<PackedRow>, extras: &[u64]) {
        let known = self.logs.entry(log).or_default();
        if !rows.is_empty() {
            known.chunks.push(rows);
        }
        let mut words = extras;
        while let Some((extra, rest)) = extra_words::decode(words) {
            known.extras.push(extra);
            words = rest;
        }
    }

    /// Adds rows whose extras have been decoded.
    pub(super) fn add_decoded(
        &mut self,
        log: u32,
        rows: Vec<PackedRow>,
        extras: impl IntoIterator<Item = RawExtra>,
    ) {
        self.add_rows(log, rows, &[]);
        self.logs.entry(log).or_default().extras.extend(extras);
    }

    /// Only the tables, with some of the signatures.
    pub(super) fn only(&self, mut keeps: impl FnMut(u32) -> bool) -> Restored {
        let signatures = self.signatures.iter();
        Restored {
            strings: self.strings.clone(),
            signatures: signatures
                .filter(|(number, _)| keeps(**number))
                .map(|(number, read)| (*number, read.clone()))
                .collect(),
            locations: self.locations.clone(),
            devices: self.devices.clone(),
            threads: self.threads.clone(),
            metadata: self.metadata.clone(),
            steps: self.steps.clone(),
            ..Restored::default()
        }
    }

    /// The name of the op of a signature; `None` if the signature is missing.
    pub(super) fn operation_of(&self, signature: u32) -> Option<&str> {
        let read = self.signatures.get(&signature)?;
        let name = self.strings.get(&read.operation);
        Some(name.map_or(LOST_NAME, String::as_str))
    }

    pub(super) fn input_shapes_of(&self, signature: u32) -> Vec<Vec<usize>> {
        let words = self.signatures.get(&signature).map(|read| &read.words[..]);
        Parts::new(words.unwrap_or_default())
            .filter(|(header, _)| header.role() == Role::Input)
            .map(|(_, dims)| dims.to_vec())
            .collect()
    }

    pub(super) fn thread(&self, log: u32) -> Option<&Thread> {
        self.threads.get(&log)
    }

    pub(super) fn add_open(&mut self, log: u32, rows: Vec<PackedRow>) {
        self.open.push((log, rows));
    }

    /// Makes rows of the ops that had not ended: they last until the latest time that the process wrote.
    fn end_open(&mut self, now: u64) {
        let rows = || {
            self.logs
                .values()
                .flat_map(|log| log.chunks.iter().flatten())
        };
        let ends = rows().map(|row| {
            let row = Row::unpack(*row);
            row.start.saturating_add(row.duration)
        });
        let now = ends.chain([now]).max().unwrap_or(now);
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        for (log, open) in std::mem::take(&mut self.open) {
            let steps: HashSet<u32> = open.iter().map(|row| Row::unpack(*row).step).collect();
            let of_log = self.logs.get(&log).into_iter();
            let ended: HashSet<u32> = of_log
                .flat_map(|log| log.chunks.iter().flatten())
                .map(|row| Row::unpack(*row).step)
                .filter(|step| steps.contains(step))
                .collect();
            let mut rows = Vec::new();
            let mut extras = Vec::new();
            for row in open.into_iter().map(Row::unpack) {
                // The op ended before it was removed from the open ops.
                if ended.contains(&row.step) {
                    continue;
                }
                let Some(signature) = self.inputs_of(row.signature, &mut numbers) else {
                    continue;
                };
                let duration = now.saturating_sub(row.start);
                let row = Row {
                    duration: duration.min(LONG_DURATION),
                    signature,
                    outcome: Outcome::Unfinished,
                    extra: duration >= LONG_DURATION,
                    ..row
                };
                if row.extra {
                    extras.push(RawExtra {
                        step: row.step,
                        duration: Some(duration),
                        ..RawExtra::default()
                    });
                }
                rows.push(row.pack());
            }
            let known = self.logs.entry(log).or_default();
            known.chunks.push(rows);
            known.extras.extend(extras);
        }
    }

    /// The number of a signature without its outputs, for an op that has not ended and so has no outputs.
    fn inputs_of(&mut self, number: u32, numbers: &mut HashMap<u32, u32>) -> Option<u32> {
        if let Some(known) = numbers.get(&number) {
            return Some(*known);
        }
        let read = self.signatures.get(&number)?;
        let mut words = Vec::new();
        for (header, dims) in Parts::new(&read.words) {
            if header.role() != Role::Output {
                words.push(header.0);
                words.extend((dims.len() >= LONG_RANK).then_some(dims.len()));
                words.extend_from_slice(dims);
            }
        }
        let inputs = ReadSignature { words, ..*read };
        let new = self
            .signatures
            .keys()
            .next_back()
            .map_or(0, |last| last + 1);
        (new <= MAX_SIGNATURES).then(|| {
            self.signatures.insert(new, inputs);
            if let Some(&location) = self.locations.get(&number) {
                self.locations.insert(new, location);
            }
            numbers.insert(number, new);
            new
        })
    }

    pub(super) fn finish(
        mut self,
        header: FileHeader,
        live: &[u64; live::WORDS],
        faults: &Faults,
    ) -> Result<TraceStore, TraceError> {
        let scale = TickScale::new(header.base_ticks, header.rate);
        self.end_open(live[live::NOW]);
        let (interner, numbers) = self.interner();
        let mut lost = faults.lost_ops;
        let maps: BTreeMap<u32, StepMap> = self
            .logs
            .iter()
            .map(|(log, rows)| (*log, StepMap::of(&rows.chunks)))
            .collect();
        let mut threads = Vec::new();
        let mut chunk_count = 0;
        for (log, rows) in std::mem::take(&mut self.logs) {
            let chunks = restore_rows(rows.chunks, &maps[&log], &numbers, &mut lost);
            chunk_count += chunks.len();
            let extras = rows
                .extras
                .into_iter()
                .map(|extra| restore_extra(extra, log, &maps));
            threads.push(ThreadRows {
                thread: self.threads.remove(&log).unwrap_or_default(),
                uid: log,
                chunks,
                extras: extras.flatten().collect(),
            });
        }
        if chunk_count >= 1 << (32 - SLOT_BITS) {
            return Err(TraceError::too_large(
                "more than 4 billion entries; split the trace into several",
            ));
        }
        let rank = threads.iter().find_map(|thread| thread.thread.rank);
        let metadata = self.metadata(live, faults, lost);
        let mut store = assemble(threads, interner, scale, metadata);
        let steps = self.steps.iter().map(|(number, (start, end))| {
            TraceStep::new(*number, scale.ns(*start), scale.ns(*end)).with_rank(rank)
        });
        store.set_steps(steps.collect());
        Ok(store)
    }

    /// The signatures, and for each number in the file its number there; `NO_PARENT` for those that are missing.
    fn interner(&mut self) -> (Interner, Vec<u32>) {
        let mut interner = Interner::default();
        let strings: HashMap<u32, u32> = std::mem::take(&mut self.strings)
            .into_iter()
            .map(|(number, text)| (number, interner.string(&text)))
            .collect();
        let string = |interner: &mut Interner, number: u32| match strings.get(&number) {
            Some(known) => *known,
            None => interner.string(LOST_NAME),
        };
        let most = self
            .signatures
            .keys()
            .next_back()
            .map_or(0, |most| most + 1);
        let mut numbers = vec![NO_PARENT; most as usize];
        for (number, read) in std::mem::take(&mut self.signatures) {
            let mut words = read.words;
            rename_devices(&mut words, |code| {
                self.devices.get(&code).map(|name| Device::named(name))
            });
            let operation = string(&mut interner, read.operation);
            let label = read.label.map(|label| string(&mut interner, label));
            // A location whose text is missing is left out: unlike a name, it is optional.
            let location = self.locations.get(&number);
            let location = location.and_then(|location| strings.get(location).copied());
            let device = read.device.map(|device| string(&mut interner, device));
            numbers[number as usize] = interner.signatures.len() as u32;
            let first_word = interner.words.len() as u32;
            let op = KnownOp {
                name: operation,
                kind: read.kind,
                label,
                location,
            };
            let signature = Signature::new(op, device, first_word, &words);
            interner.signatures.push(signature);
            interner.words.extend_from_slice(&words);
        }
        (interner, numbers)
    }

    fn metadata(
        &mut self,
        live: &[u64; live::WORDS],
        faults: &Faults,
        lost: u64,
    ) -> HashMap<String, String> {
        let mut metadata: HashMap<String, String> = std::mem::take(&mut self.metadata)
            .into_iter()
            .map(|(key, (_, value))| (key, value))
            .collect();
        metadata.insert(keys::DROPPED.into(), live[live::DROPPED].to_string());
        let counts = [
            (keys::SAMPLED_OUT, live[live::SAMPLED_OUT]),
            (keys::FILTERED_OUT, live[live::FILTERED_OUT]),
            (keys::REPLACED, live[live::REPLACED]),
            (keys::READ_LOST_OPS, lost),
        ];
        for (key, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            metadata.insert(key.into(), count.to_string());
        }
        if live[live::STATE] == RECORDING {
            metadata.insert(keys::UNFINISHED.into(), "true".into());
        }
        if let Some(at) = faults.truncated_at {
            metadata.insert(keys::READ_TRUNCATED_AT.into(), at.to_string());
        }
        if !faults.damaged.is_empty() {
            let ranges = faults.damaged.iter().take(NAMED_RANGES);
            let mut text: Vec<String> = ranges.map(|(from, to)| format!("{from}-{to}")).collect();
            if faults.damaged.len() > NAMED_RANGES {
                text.push(format!("and {} more", faults.damaged.len() - NAMED_RANGES));
            }
            metadata.insert(keys::READ_DAMAGED.into(), text.join(", "));
        }
        metadata
    }
}

/// The largest number of damaged parts that are listed.
const NAMED_RANGES: usize = 8;

/// The rows of a thread with the trace's numbers. Rows whose signature is missing are counted.
fn restore_rows(
    chunks: Vec<Vec<PackedRow>>,
    steps: &StepMap,
    numbers: &[u32],
    lost: &mut u64,
) -> Vec<(Arc<Chunk>, usize)> {
    const FIRST_ROWS: usize = 64;
    let mut left: usize = chunks.iter().map(Vec::len).sum();
    let mut size = FIRST_ROWS;
    let mut restored: Vec<Arc<Chunk>> = Vec::new();
    for row in chunks.into_iter().flatten() {
        let row = Row::unpack(row);
        let signature = numbers.get(row.signature as usize);
        let step = steps.find(row.step);
        left -= 1;
        let (Some(&signature), Some(step)) = (signature.filter(|at| **at != NO_PARENT), step)
        else {
            *lost += 1;
            continue;
        };
        // In a whole file a parent begins before its children.
        let parent = if row.parent < row.step {
            steps.find(row.parent).unwrap_or(NO_PARENT)
        } else {
            NO_PARENT
        };
        let row = Row {
            signature,
            step,
            parent,
            ..row
        };
        if !restored.last().is_some_and(|chunk| chunk.push(row)) {
            let chunk = Chunk::with_rows(size.min(left + 1));
            size = (size * 2).min(MAX_ROWS);
            chunk.push(row);
            restored.push(Arc::new(chunk));
        }
    }
    let with_len = |chunk: Arc<Chunk>| (chunk.len(), chunk);
    restored
        .into_iter()
        .map(with_len)
        .map(|(len, chunk)| (chunk, len))
        .collect()
}

fn restore_extra(extra: RawExtra, log: u32, maps: &BTreeMap<u32, StepMap>) -> Option<RawExtra> {
    let parent = match extra.parent {
        Some(OpRef::OnThread { uid, step }) => maps
            .get(&uid)
            .and_then(|map| map.find(step))
            .map(|step| OpRef::OnThread { uid, step }),
        other => other,
    };
    Some(RawExtra {
        step: maps.get(&log)?.find(extra.step)?,
        parent,
        ..extra
    })
}

/// Maps the steps of a thread to numbers without large gaps. A recording of the last ops has only the highest steps,
/// and one damaged step must not create a table of billions of entries.
#[derive(Debug)]
enum StepMap {
    /// The steps are kept. They are below this number.
    Same(u32),
    /// A step is mapped to its position in this list.
    Sorted(Vec<u32>),
}

impl StepMap {
    fn of(chunks: &[Vec<PackedRow>]) -> StepMap {
        let steps = || chunks.iter().flatten().map(|row| Row::unpack(*row).step);
        let count: usize = chunks.iter().map(Vec::len).sum();
        let most = steps().max().unwrap_or(0);
        if (most as usize) < 2 * count + 4096 {
            return StepMap::Same(most + 1);
        }
        let mut sorted: Vec<u32> = steps().collect();
        sorted.sort_unstable();
        sorted.dedup();
        StepMap::Sorted(sorted)
    }

    fn find(&self, step: u32) -> Option<u32> {
        match self {
            StepMap::Same(end) => (step < *end).then_some(step),
            StepMap::Sorted(sorted) => sorted.binary_search(&step).ok().map(|at| at as u32),
        }
    }
}

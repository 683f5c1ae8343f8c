//! Reads a Chrome trace that this crate wrote, and restores the trace that was written.
//!
//! Each entry has one `cpu_op` event with all of its fields. The other events are derived from the entries, for
//! viewers, and are skipped. An event's row in the viewer is skipped too, because it depends only on which entries
//! overlap.

use super::micros::Micros;
use super::own_event::{OwnArgs, OwnEvent};
use super::scanner::{Fault, Raw, Scanner};
use super::tensor_list::TensorList;
use super::{TraceError, TraceStore};
use crate::model::hash::FastHash;
use crate::model::pause::pauses_in;
use crate::model::wire::chrome;
use crate::model::{
    MemoryEvent, NewEntry, OpKind, Outcome, RecordedTraceEntry, SignatureIndex, ThreadIndex,
    TraceStep, TraceStoreBuilder, WholeRow,
};
use std::collections::HashMap;

/// The part of a trace of this crate that was read so far.
#[derive(Debug, Default)]
pub(super) struct OwnTrace {
    builder: TraceStoreBuilder,
    origin_ns: i64,
    /// True if the exact metadata was read; the file's `metadata` has replacements for control
    /// characters.
    exact_metadata: bool,
    /// The rank in the name of each process.
    ranks: HashMap<Box<[u8]>, Option<u32>, FastHash>,
    signatures: HashMap<Box<[u8]>, SignatureIndex, FastHash>,
    key: Vec<u8>,
    /// The names of threads, with the process of each.
    names: Vec<(Box<[u8]>, u64, String)>,
    events: usize,
    failed: Option<TraceError>,
}

impl OwnTrace {
    /// Reads the object of [`chrome::OWN`]; `None` if the file is of a later version.
    pub(super) fn begin(scanner: &mut Scanner<'_>) -> Result<Option<Self>, Fault> {
        let mut own = OwnTrace::default();
        let mut version = None;
        let mut members = scanner.open_object()?;
        while let Some(key) = scanner.next_key(&mut members)? {
            let value = scanner.scalar()?.unwrap_or_default();
            match key.0 {
                chrome::OWN_VERSION => version = value.number::<u32>(),
                chrome::ORIGIN_NS => own.origin_ns = value.number().unwrap_or(0),
                chrome::TOTAL_DURATION_US => {
                    if let Ok(total) = value.text().parse() {
                        own.builder.total_duration_us(total);
                    }
                }
                chrome::METADATA => {
                    let Ok(pairs) = from_json_string::<HashMap<String, String>>(value) else {
                        return scanner.fault("the metadata as JSON in a string");
                    };
                    own.exact_metadata = true;
                    for (key, value) in pairs {
                        own.builder.metadata(key, value);
                    }
                }
                chrome::RUNTIME_CALLS => {
                    let Ok(lines) = from_json_string::<String>(value) else {
                        return scanner.fault("the runtime calls as JSON in a string");
                    };
                    own.builder.push_call_lines(&lines);
                }
                _ => {}
            }
        }
        Ok((version == Some(chrome::VERSION)).then_some(own))
    }

    /// Reads the value of another key of the top-level object, other than `traceEvents`.
    pub(super) fn fact(&mut self, key: Raw<'_>, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        match (key.0, scanner.peek()) {
            (chrome::METADATA, Some(b'{')) if !self.exact_metadata => {
                let mut members = scanner.open_object()?;
                while let Some(key) = scanner.next_key(&mut members)? {
                    let value = scanner.scalar()?.unwrap_or_default();
                    self.builder.metadata(key.text(), value.text());
                }
                Ok(())
            }
            _ => scanner.skip(),
        }
    }

    pub(super) fn finish(mut self) -> Result<TraceStore, TraceError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        for (pid, thread, name) in &self.names {
            let rank = self.ranks.get(pid).copied().flatten();
            self.builder.name_thread(rank, *thread, name);
        }
        self.builder.sort_by_step();
        Ok(self.builder.finish())
    }

    /// Reads the next event.
    pub(super) fn event(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        let event = OwnEvent::read(scanner)?;
        self.take(&event, scanner)?;
        self.events += 1;
        Ok(())
    }

    fn take(&mut self, event: &OwnEvent<'_>, scanner: &Scanner<'_>) -> Result<(), Fault> {
        match (event.phase.0, event.name.0) {
            (b"X", _) if event.category == Raw(chrome::OP) => self.entry(event, scanner),
            (b"X", name) if event.category == Raw(chrome::ANNOTATION) => {
                self.step(event, name);
                Ok(())
            }
            (b"M", chrome::PROCESS_NAME) => {
                let rank = event.args.name.0.strip_prefix(chrome::RANK_PREFIX);
                let rank = rank.and_then(|rank| Raw(rank).number());
                self.ranks.insert(event.pid.0.into(), rank);
                Ok(())
            }
            (b"M", chrome::THREAD_NAME) => {
                let OwnArgs { thread, exact, .. } = event.args;
                if let (Some(thread), Ok(name)) = (thread.number(), from_json_string(exact)) {
                    self.names.push((event.pid.0.into(), thread, name));
                }
                Ok(())
            }
            (b"i", chrome::MEMORY) => self.memory(event, scanner),
            _ => Ok(()),
        }
    }

    fn step(&mut self, event: &OwnEvent<'_>, name: &[u8]) {
        let number = name.strip_prefix(chrome::STEP_PREFIX).map(Raw);
        if let (Some(number), Some(start), Some(length)) = (
            number.and_then(Raw::number),
            Micros::parse(event.time.0),
            Micros::parse(event.duration.0),
        ) {
            let start = start.ns.saturating_add(self.origin_ns);
            let end = start.saturating_add(length.ns);
            let step = TraceStep::new(number, start, end)
                .with_rank(self.rank(event))
                .with_thread(event.args.thread.number());
            self.builder.step(step);
        }
    }

    fn entry(&mut self, event: &OwnEvent<'_>, scanner: &Scanner<'_>) -> Result<(), Fault> {
        let args = &event.args;
        if !args.exact.is_empty() {
            let Ok(entry) = from_json_string::<RecordedTraceEntry>(args.exact) else {
                return scanner.fault("an entry as JSON in a string before this");
            };
            let pushed = self.builder.push_owned(&entry);
            self.note(pushed);
            return Ok(());
        }
        let (Some(start), Some(length)) = (
            Micros::parse(event.time.0),
            Micros::parse(event.duration.0).and_then(|length| u64::try_from(length.ns).ok()),
        ) else {
            return scanner.fault("an event with `ts` and `dur` before this");
        };
        let step = args.step.number();
        let signature = match self.signature(event) {
            Ok(signature) => signature,
            Err(error) => {
                self.note(Err(error));
                return Ok(());
            }
        };
        let row = WholeRow {
            signature,
            thread: self.thread(event),
            step: step.unwrap_or(self.events),
            parent: args.parent.number(),
            start_ns: (!args.untimed).then(|| start.ns.saturating_add(self.origin_ns)),
            duration_ns: length,
            outcome: by_name(&Outcome::ALL, Outcome::name, args.outcome).unwrap_or_default(),
            suspended_ns: args.suspended.number().unwrap_or(0),
            pauses: std::str::from_utf8(args.pauses.0).map_or_else(|_| Vec::new(), pauses_in),
            output_elements: args.elements.number().unwrap_or(0),
            memory_bytes: args.bytes.number().unwrap_or(0),
            meta: args.meta()?,
        };
        let pushed = self.builder.push_whole(row);
        self.note(pushed);
        Ok(())
    }

    /// Keeps the first error of the store, for [`finish`](Self::finish): an error of the store is not a fault in the
    /// text.
    fn note(&mut self, pushed: Result<(), TraceError>) {
        if let Err(error) = pushed {
            self.failed.get_or_insert(error);
        }
    }

    fn thread(&mut self, event: &OwnEvent<'_>) -> ThreadIndex {
        let thread = event.args.thread;
        let thread = if thread.is_empty() { event.tid } else { thread };
        self.builder.thread(thread.number(), self.rank(event), None)
    }

    fn rank(&self, event: &OwnEvent<'_>) -> Option<u32> {
        if event.args.rank.is_empty() {
            return self.ranks.get(event.pid.0).copied().flatten();
        }
        event.args.rank.number()
    }

    /// The signature of an event's op. The text of each op is parsed once, even if it ran many times.
    fn signature(&mut self, event: &OwnEvent<'_>) -> Result<SignatureIndex, TraceError> {
        self.key.clear();
        for part in [event.name].into_iter().chain(event.args.signature()) {
            self.key.extend_from_slice(part.0);
            // JSON text cannot contain this byte, so no two ops share a key.
            self.key.push(0);
        }
        if let Some(&known) = self.signatures.get(self.key.as_slice()) {
            return Ok(known);
        }
        let OwnArgs {
            device,
            kind,
            label,
            location,
            flops,
            bytes_moved,
            ..
        } = event.args;
        let inputs = TensorList::read(event.args.input_dims, event.args.input_types);
        let outputs = TensorList::read(event.args.output_dims, event.args.output_types);
        let (inputs, outputs) = (inputs.views(), outputs.views());
        let name = event.name.text();
        let device = device.map(Raw::text);
        let (label, location) = (label.text(), location.text());
        let thread = self.thread(event);
        let mut entry = NewEntry::new(&name, thread, 0, 0);
        entry.device_id = device.as_deref();
        entry.kind = by_name(&OpKind::ALL, OpKind::name, kind);
        entry.label = Some(&*label).filter(|label| !label.is_empty());
        entry.location = Some(&*location).filter(|location| !location.is_empty());
        entry.inputs = &inputs;
        entry.outputs = &outputs;
        entry.flops = flops.number();
        entry.bytes_moved = bytes_moved.number();
        let signature = self.builder.signature_of(&entry)?;
        self.signatures
            .insert(self.key.as_slice().into(), signature);
        Ok(signature)
    }

    fn memory(&mut self, event: &OwnEvent<'_>, scanner: &Scanner<'_>) -> Result<(), Fault> {
        let args = &event.args;
        let (Some(at), Some(bytes)) = (Micros::parse(event.time.0), args.taken.number()) else {
            return scanner.fault("a memory event with `ts` and `Bytes` before this");
        };
        let device = match from_json_string::<String>(args.exact) {
            Ok(device) => device,
            Err(_) => args.device.unwrap_or_default().text().into_owned(),
        };
        let event = MemoryEvent {
            at_ns: at.ns.saturating_add(self.origin_ns),
            bytes,
            device_id: &device,
            rank: self.rank(event),
            during: args.during.number(),
            address: args.address.number(),
            allocated: args.allocated.number(),
            context: args.context.number(),
        };
        self.builder.push_memory(&event);
        Ok(())
    }
}

/// The value of JSON text that is inside a JSON string.
fn from_json_string<T: serde::de::DeserializeOwned>(text: Raw<'_>) -> serde_json::Result<T> {
    serde_json::from_str(&text.text())
}

fn by_name<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, wanted: Raw<'_>) -> Option<T> {
    all.iter()
        .copied()
        .find(|&one| name(one).as_bytes() == wanted.0)
}

//! One entry of a [`TraceStore`], read from its row.

use super::chunk::{LONG_DURATION, NO_PARENT, RowWords};
use super::entry::RecordedTraceEntry;
use super::interner::Signature;
use super::meta::Meta;
use super::signature::{Fact, Parts, Role};
use super::store::{Extra, NO_START, Thread, TraceStore};
use super::{OpKind, Outcome, Pause};

/// An entry of a [`TraceStore`]; convert it to an [`EntryView`](super::EntryView) to read it.
#[derive(Debug, Clone, Copy)]
pub struct StoredEntry<'a> {
    pub(super) store: &'a TraceStore,
    pub(super) row: RowWords,
    pub(super) thread: u32,
    pub(super) index: u32,
}

impl<'a> StoredEntry<'a> {
    #[inline]
    fn extra(&self) -> Option<&'a Extra> {
        if self.row.has_extra() {
            self.store.extras.get(&self.index)
        } else {
            None
        }
    }

    #[inline]
    fn known(&self) -> &'a Signature {
        &self.store.signatures[self.row.signature() as usize]
    }

    #[inline]
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

    #[inline]
    pub(super) fn signature(&self) -> u32 {
        self.row.signature()
    }

    #[inline]
    pub(super) fn step(&self) -> usize {
        self.extra()
            .and_then(|extra| extra.step)
            .unwrap_or(self.row.step() as usize)
    }

    pub(super) fn operation(&self) -> &'a str {
        self.store.string(self.known().operation)
    }

    #[inline]
    pub(super) fn device_id(&self) -> Option<&'a str> {
        self.known().device.map(|device| self.store.string(device))
    }

    #[inline]
    pub(super) fn kind(&self) -> Option<OpKind> {
        self.known().kind
    }

    #[inline]
    pub(super) fn label(&self) -> Option<&'a str> {
        self.known().label.map(|label| self.store.string(label))
    }

    #[inline]
    pub(super) fn location(&self) -> Option<&'a str> {
        let location = self.known().location;
        location.map(|location| self.store.string(location))
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.row.outcome()
    }

    #[inline]
    pub(super) fn start_ns(&self) -> Option<i64> {
        (self.row.start() != NO_START).then(|| self.store.scale.ns(self.row.start()))
    }

    #[inline]
    pub(super) fn end_ns(&self) -> Option<i64> {
        if self.row.start() == NO_START {
            return None;
        }
        if self.row.duration() == LONG_DURATION {
            let start = self.store.scale.ns(self.row.start());
            return Some(start.saturating_add_unsigned(self.duration_ns()));
        }
        let end = self.row.start().saturating_add(self.row.duration());
        Some(self.store.scale.ns(end))
    }

    #[inline]
    pub(super) fn duration_ns(&self) -> u64 {
        if self.row.duration() == LONG_DURATION
            && let Some(long) = self.extra().and_then(|extra| extra.duration_ns)
        {
            return long;
        }
        if self.row.start() == NO_START {
            return self.row.duration();
        }
        let scale = self.store.scale;
        let end = self.row.start().saturating_add(self.row.duration());
        scale.ns(end).abs_diff(scale.ns(self.row.start()))
    }

    pub(super) fn duration_us(&self) -> f64 {
        self.extra()
            .and_then(|extra| extra.duration_us)
            .unwrap_or_else(|| self.duration_ns() as f64 / 1000.0)
    }

    #[inline]
    pub(super) fn suspended_ns(&self) -> u64 {
        self.extra().map_or(0, |extra| extra.suspended_ns)
    }

    pub(super) fn pauses(&self) -> &'a [Pause] {
        self.extra().map_or(&[], |extra| &extra.pauses)
    }

    /// The start and the suspended time in microseconds, if nanoseconds cannot express them.
    pub(super) fn given_us(&self) -> (Option<f64>, Option<f64>) {
        self.extra()
            .map_or((None, None), |extra| (extra.start_us, extra.suspended_us))
    }

    #[inline]
    pub(super) fn thread(&self) -> Option<u64> {
        self.on().id
    }

    #[inline]
    pub(super) fn rank(&self) -> Option<u32> {
        self.on().rank
    }

    #[inline]
    pub(super) fn parent(&self) -> Option<usize> {
        if self.row.parent() != NO_PARENT {
            return Some(self.row.parent() as usize);
        }
        self.extra().and_then(|extra| extra.parent)
    }

    pub(super) fn output_elements(&self) -> usize {
        self.extra()
            .and_then(|extra| extra.output_elements)
            .unwrap_or_else(|| self.known().elements)
    }

    #[inline]
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

    pub(super) fn meta(&self) -> Option<Meta<'a>> {
        if self.row.has_extra() {
            self.store.metas.get(self.index)
        } else {
            None
        }
    }

    pub(super) fn to_entry(self) -> RecordedTraceEntry {
        self.filled_in(self.template())
    }

    /// The index of its thread in the store.
    pub(super) fn thread_index(&self) -> u32 {
        self.thread
    }

    /// The part that all entries of this signature and thread share.
    pub(super) fn template(&self) -> RecordedTraceEntry {
        let known = self.known();
        let mut entry = RecordedTraceEntry {
            operation: self.operation().to_owned(),
            device_id: self.device_id().map(str::to_owned),
            output_elements: known.elements,
            memory_bytes: known.bytes,
            ..RecordedTraceEntry::default()
        };
        entry.kind = known.kind;
        entry.label = self.label().map(str::to_owned);
        entry.location = self.location().map(str::to_owned);
        entry.thread = self.thread();
        entry.rank = self.rank();
        self.copy_tensors(&mut entry);
        entry
    }

    /// A template of this entry's signature and thread, completed with the entry's own fields.
    pub(super) fn filled_in(self, template: RecordedTraceEntry) -> RecordedTraceEntry {
        let start = self.start_ns();
        let mut entry = RecordedTraceEntry {
            step: self.row.step() as usize,
            duration_us: self.duration_ns() as f64 / 1000.0,
            parent: self.parent(),
            ..template
        };
        entry.set_start_us(start.map(|start| start as f64 / 1000.0));
        // Written only if it differs, because changing shared details copies them.
        if self.outcome() != Outcome::Ok {
            entry.outcome = self.outcome();
        }
        if let Some(extra) = self.extra() {
            entry.step = self.step();
            entry.duration_us = self.duration_us();
            entry.output_elements = self.output_elements();
            entry.memory_bytes = self.memory_bytes();
            entry.set_start_us(extra.start_us.or(entry.start_us()));
            let suspended_us = extra
                .suspended_us
                .unwrap_or(extra.suspended_ns as f64 / 1000.0);
            if suspended_us.to_bits() != 0 {
                entry.suspended_us = suspended_us;
            }
            if !extra.pauses.is_empty() {
                entry.pauses.clone_from(&extra.pauses);
            }
        }
        if let Some(meta) = self.meta() {
            entry.meta = meta.to_map();
        }
        entry
    }

    /// Copies the tensors with one walk over the signature, and one allocation for each vector that is not empty.
    fn copy_tensors(&self, entry: &mut RecordedTraceEntry) {
        let (mut inputs, mut typed_in, mut typed_out) = (0, false, false);
        for (header, dims) in self.parts() {
            let typed = header.dtype() != super::DType::Unknown;
            match header.role() {
                Role::Input => {
                    inputs += 1;
                    typed_in |= typed;
                }
                Role::Output => typed_out |= typed,
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

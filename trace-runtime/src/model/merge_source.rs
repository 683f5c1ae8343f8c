//! Copies the entries of one trace into a merged one.

use super::builder::{ThreadIndex, TraceStoreBuilder, row_duration, row_step, ticks};
use super::chunk::Row;
use super::error::TraceError;
use super::merge::ClockMap;
use super::meta::CopiedTexts;
use super::store::{Extra, TraceStore};
use super::view::{EntryStorage as _, TraceView as _};

/// One of the traces that are merged. Its names and shapes are looked up once, not for each entry.
pub(super) struct Source<'t> {
    trace: &'t TraceStore,
    clock: ClockMap,
    threads: Vec<ThreadIndex>,
    /// By signature: its number in the merged trace.
    signatures: Vec<Option<u32>>,
    texts: CopiedTexts,
    /// The new steps of the entries so far.
    pub(super) steps: Vec<u32>,
    last_start: i64,
}

impl<'t> Source<'t> {
    pub(super) fn new(
        builder: &mut TraceStoreBuilder,
        trace: &'t TraceStore,
        rank: Option<u32>,
        clock: ClockMap,
    ) -> Source<'t> {
        let threads = trace.threads.iter();
        Source {
            trace,
            clock,
            threads: threads
                .map(|thread| builder.thread(thread.id, thread.rank.or(rank), None))
                .collect(),
            signatures: vec![None; trace.signatures.len()],
            texts: CopiedTexts::default(),
            steps: Vec::with_capacity(trace.len()),
            last_start: i64::MIN,
        }
    }

    /// The start of its next entry. An entry without a start is placed after the one before it.
    pub(super) fn next_start(&mut self) -> Option<i64> {
        let entry = self.steps.len();
        if entry >= self.trace.len() {
            return None;
        }
        if let Some(start) = self.trace.entry(entry).start_ns() {
            self.last_start = self.last_start.max(self.clock.at(start));
        }
        Some(self.last_start)
    }

    pub(super) fn copy_next(&mut self, builder: &mut TraceStoreBuilder) -> Result<(), TraceError> {
        let (trace, entry) = (self.trace, self.steps.len());
        let stored = trace.entry(entry);
        let known = &mut self.signatures[stored.row.signature() as usize];
        let signature = if let Some(known) = *known {
            known
        } else {
            *known.insert(builder.copy_signature(trace, stored.row.signature())?)
        };
        let meta = stored.meta();
        let known = stored
            .row
            .has_extra()
            .then(|| trace.extras.get(&stored.index));
        // In the merged trace, the start of an entry is a whole number of nanoseconds.
        let mut extra = known.flatten().map_or_else(Extra::default, |known| Extra {
            step: None,
            parent: None,
            duration_ns: None,
            start_us: None,
            ..known.clone()
        });
        let span = stored.start_ns().zip(stored.end_ns());
        let mut duration_ns = stored.duration_ns();
        if let Some((start, end)) = span.filter(|_| self.clock.drift != 0.0) {
            duration_ns = self.clock.at(end).abs_diff(self.clock.at(start));
            extra.duration_us = None;
        }
        let parent = stored
            .parent()
            .and_then(|parent| trace.index_of_step(parent))
            .filter(|&parent| parent < entry)
            .map(|parent| self.steps[parent] as usize);
        let step = builder.order.len();
        let row = Row {
            start: ticks(stored.start_ns().map(|start| self.clock.at(start))),
            duration: row_duration(duration_ns, &mut extra),
            signature,
            outcome: stored.row.outcome(),
            step: row_step(Some(step), &mut extra.step),
            parent: row_step(parent, &mut extra.parent),
            extra: meta.is_some() || extra != Extra::default(),
        };
        let thread = self.threads[stored.thread as usize];
        builder.append(thread, row, extra)?;
        if meta.is_some() {
            builder
                .metas
                .copy(step as u32, &trace.metas, stored.index, &mut self.texts);
        }
        self.steps.push(step as u32);
        Ok(())
    }
}

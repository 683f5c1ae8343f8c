//! Async spans (`b` and `e` events), which belong to an id and not to a thread.
//!
//! Spans of one id nest. Spans of different ids may overlap, so they are put on separate rows, `async 1` and so on. An
//! id uses the first row of its process that is free when its first span begins.

use super::category::{Lane, Vendor};
use super::collector::{EventRow, UNFINISHED};
use super::places::Places;
use super::scanner::Raw;
use super::texts::Texts;
use crate::model::hash::FastHash;
use std::collections::HashMap;

/// The async spans read so far.
#[derive(Debug, Default)]
pub(super) struct AsyncSpans {
    spans: Vec<AsyncSpan>,
    /// Numbers category, process and id.
    ids: Texts,
    /// Processes, by the number of the id.
    processes: Vec<Box<[u8]>>,
    /// The spans that have not ended, by id, innermost last.
    open: HashMap<u32, Vec<usize>, FastHash>,
}

#[derive(Debug, Clone, Copy)]
struct AsyncSpan {
    id: u32,
    /// Its lane is set by [`AsyncSpans::place`].
    row: EventRow,
    is_root: bool,
}

impl AsyncSpans {
    /// The number of an id within its category and process.
    pub(super) fn id(&mut self, category: Raw<'_>, pid: Raw<'_>, id: Raw<'_>) -> u32 {
        let number = self.ids.id(&[category, pid, id], &[], 0);
        if number as usize == self.processes.len() {
            self.processes.push(pid.0.into());
        }
        number
    }

    pub(super) fn begin(&mut self, id: u32, row: EventRow) {
        let open = self.open.entry(id).or_default();
        self.spans.push(AsyncSpan {
            id,
            row,
            is_root: open.is_empty(),
        });
        open.push(self.spans.len() - 1);
    }

    /// Ends the innermost span of an id; false if it has none.
    pub(super) fn end(&mut self, id: u32, at: i64) -> bool {
        let Some(span) = self.open.get_mut(&id).and_then(Vec::pop) else {
            return false;
        };
        let row = &mut self.spans[span].row;
        row.end = at.max(row.start);
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The spans as rows, each on the row of its id.
    pub(super) fn place(mut self, places: &mut Places) -> Vec<EventRow> {
        // A stable sort: spans of one id that begin together keep the order of the file, in which outer spans come
        // first.
        self.spans.sort_by_key(|span| span.row.start);
        // By process, the time at which each row is free again.
        let mut free_from: HashMap<&[u8], Vec<i64>> = HashMap::new();
        let mut slot_of: HashMap<u32, usize, FastHash> = HashMap::default();
        let mut rows = Vec::with_capacity(self.spans.len());
        for span in &self.spans {
            let process = &*self.processes[span.id as usize];
            let slots = free_from.entry(process).or_default();
            let known = slot_of.get(&span.id).copied();
            let slot = match known {
                Some(slot) if !span.is_root => slot,
                _ => {
                    let free = slots.iter().position(|&from| from <= span.row.start);
                    let slot = free.unwrap_or(slots.len());
                    if slot == slots.len() {
                        slots.push(i64::MIN);
                    }
                    slot_of.insert(span.id, slot);
                    slot
                }
            };
            slots[slot] = slots[slot].max(span.row.end);
            let name = format!("async {}", slot + 1);
            let place = places.place(Raw(process), Raw(name.as_bytes()));
            places.name_thread(Raw(process), Raw(name.as_bytes()), Raw(name.as_bytes()));
            rows.push(EventRow {
                lane: places.lane(place, Lane::Host, Vendor::Generic, Raw::default()),
                ..span.row
            });
        }
        debug_assert!(
            rows.iter()
                .all(|row| row.end == UNFINISHED || row.end >= row.start)
        );
        rows
    }
}

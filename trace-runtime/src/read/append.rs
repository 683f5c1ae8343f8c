//! Adds the events of a part of a file to those of the text before it.
//!
//! Ops, places and lanes are numbered in the order of their first use. A part has separate numbers, in the same order,
//! so appending the parts in order gives the same numbers as reading the whole text.

use super::collector::{Collector, EventRow, MemoryChange, SyncRow};
use super::event::{Event, Field};
use super::flows::Flow;
use super::scanner::Raw;
use super::xla;
use crate::model::wire::chrome;

impl Collector {
    /// A collector for the events of a part; the text before the part has not been read.
    pub(super) fn of_part(modules: bool) -> Collector {
        Collector {
            is_part: true,
            ..Collector::new(modules)
        }
    }

    /// True if an event can only be added after all events before it: the row of an async span depends on the spans
    /// that run at the same time, and the name of an XLA device changes the meaning of later rows.
    pub(super) fn needs_all_before(event: &Event<'_>) -> bool {
        match event.phase() {
            b'b' | b'e' => true,
            b'M' if event[Field::Name].0 == chrome::PROCESS_NAME => {
                xla::device_of(&event[Field::GivenName].text()).is_some()
            }
            _ => false,
        }
    }

    /// True if a part can be appended. It cannot if the text before it has XLA devices and the part was read without
    /// knowing that.
    pub(super) fn can_append(&self, part: &Collector) -> bool {
        !(self.places.has_xla_devices() && part.places.looked_for_xla())
    }

    /// Appends the events of the part that follows.
    pub(super) fn append(&mut self, part: Collector) {
        let ops = self.ops.append(&part.ops);
        let (places, lanes) = self.places.append(&part.places);
        let devices: Vec<u32> = (0..)
            .zip(&part.memory_devices)
            .map(|(id, name)| {
                let [kind, number]: [Raw<'_>; 2] = part.device_texts.parts(id);
                self.memory_device(kind, number, || name.clone())
            })
            .collect();
        for &(place, end) in &part.ends_of_others {
            self.end_at(places[place as usize], end);
        }
        let first = self.rows.len() as u32;
        for (place, open) in part.open {
            let of_place = self.open.entry(places[place as usize]).or_default();
            of_place.extend(open.iter().map(|row| first + row));
        }
        self.rows.extend(part.rows.iter().map(|row| EventRow {
            op: ops[row.op as usize],
            lane: lanes[row.lane as usize],
            ..*row
        }));
        self.memory
            .extend(part.memory.iter().map(|change| MemoryChange {
                place: places[change.place as usize],
                device: devices[change.device as usize],
                ..*change
            }));
        self.syncs.extend(part.syncs.iter().map(|sync| SyncRow {
            stream: places[sync.stream as usize],
            event_stream: sync.event_stream.map(|place| places[place as usize]),
            ..*sync
        }));
        let moved = |flow: &Flow| Flow {
            place: places[flow.place as usize],
            ..*flow
        };
        self.flows.extend(part.flows.iter().map(moved));
        self.handoffs.extend(part.handoffs.iter().map(moved));
        let sequences = part.sequences.into_iter();
        self.sequences
            .extend(sequences.map(|((lane, start), number)| {
                let lane = lanes[lane as usize];
                ((lane, start), number)
            }));
        for ((place, step), span) in part.step_spans {
            self.add_step(places[place as usize], step, span);
        }
        self.uncorrelated |= part.uncorrelated;
        self.xpu_calls |= part.xpu_calls;
        self.left_out.append(&part.left_out);
        self.events += part.events;
    }
}

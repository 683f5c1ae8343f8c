//! The packets of a Perfetto trace, with every string written once.
//!
//! The numbers are those of Perfetto's public protocol (`protos/perfetto/trace`).

use crate::export::json_text::without_controls;
use crate::export::protobuf::Message;
use std::collections::HashMap;
use std::io::{self, Write};

/// Writes packets, all in one sequence.
#[derive(Debug)]
pub(super) struct Packets<W> {
    out: W,
    packet: Message,
    strings: HashMap<Pool, HashMap<Box<str>, u64>>,
    /// New strings, to be written with the next packet.
    fresh: Vec<(Pool, u64, Box<str>)>,
    begun: bool,
}

/// Each pool has its own numbers; the value is the field of `InternedData`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Pool {
    Categories = 1,
    Names = 2,
    AnnotationNames = 3,
    AnnotationValues = 29,
}

/// The content of a packet, as the field of `TracePacket`.
const TRACK_EVENT: u32 = 11;
const TRACK_DESCRIPTOR: u32 = 60;

/// The `type` of a track event.
#[derive(Debug, Clone, Copy)]
pub(super) enum EventType {
    Begin = 1,
    End = 2,
    Counter = 4,
}

impl<W: Write> Packets<W> {
    pub(super) fn new(out: W) -> Self {
        Packets {
            out,
            packet: Message::default(),
            strings: HashMap::new(),
            fresh: Vec::new(),
            begun: false,
        }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The number of a string; a new string is written with the next packet.
    pub(super) fn intern(&mut self, pool: Pool, text: &str) -> u64 {
        let known = self.strings.entry(pool).or_default();
        if let Some(&id) = known.get(text) {
            return id;
        }
        let id = known.len() as u64 + 1;
        known.insert(text.into(), id);
        self.fresh.push((pool, id, without_controls(text).into()));
        id
    }

    /// A track below another, or at the top.
    pub(super) fn track(&mut self, uuid: u64, parent: Option<u64>, name: &str) -> io::Result<()> {
        self.descriptor(uuid, parent, name, |_| {})
    }

    /// A curve of bytes.
    pub(super) fn counter_track(&mut self, uuid: u64, parent: u64, name: &str) -> io::Result<()> {
        const COUNTER: u32 = 8;
        const UNIT: u32 = 3;
        const SIZE_BYTES: u64 = 3;
        self.descriptor(uuid, Some(parent), name, |track| {
            track.message(COUNTER, |counter| counter.number(UNIT, SIZE_BYTES));
        })
    }

    /// An event of a track; `fill` adds the fields that depend on its type.
    pub(super) fn event(
        &mut self,
        time_ns: u64,
        track: u64,
        kind: EventType,
        fill: impl FnOnce(&mut Message),
    ) -> io::Result<()> {
        const TYPE: u32 = 9;
        const TRACK_UUID: u32 = 11;
        self.packet(Some(time_ns), |packet| {
            packet.message(TRACK_EVENT, |event| {
                event.number(TYPE, kind as u64);
                event.number(TRACK_UUID, track);
                fill(event);
            });
        })
    }

    fn descriptor(
        &mut self,
        uuid: u64,
        parent: Option<u64>,
        name: &str,
        fill: impl FnOnce(&mut Message),
    ) -> io::Result<()> {
        const UUID: u32 = 1;
        const NAME: u32 = 2;
        const PARENT_UUID: u32 = 5;
        self.packet(None, |packet| {
            packet.message(TRACK_DESCRIPTOR, |track| {
                track.number(UUID, uuid);
                if let Some(parent) = parent {
                    track.number(PARENT_UUID, parent);
                }
                track.string(NAME, &without_controls(name));
                fill(track);
            });
        })
    }

    fn packet(&mut self, time_ns: Option<u64>, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        const PACKET: u32 = 1;
        const TIMESTAMP: u32 = 8;
        const SEQUENCE_ID: u32 = 10;
        const INTERNED_DATA: u32 = 12;
        const SEQUENCE_FLAGS: u32 = 13;
        const STATE_CLEARED: u64 = 1;
        const NEEDS_STATE: u64 = 2;
        let flags = if self.begun {
            NEEDS_STATE
        } else {
            STATE_CLEARED
        };
        self.begun = true;
        let fresh = &mut self.fresh;
        self.packet.clear();
        self.packet.message(PACKET, |packet| {
            if let Some(time_ns) = time_ns {
                packet.number(TIMESTAMP, time_ns);
            }
            packet.number(SEQUENCE_ID, 1);
            packet.number(SEQUENCE_FLAGS, flags);
            if !fresh.is_empty() {
                packet.message(INTERNED_DATA, |data| {
                    for (pool, id, text) in fresh.drain(..) {
                        data.message(pool as u32, |string| {
                            string.number(1, id);
                            string.string(2, &text);
                        });
                    }
                });
            }
            fill(packet);
        });
        self.out.write_all(self.packet.as_bytes())
    }
}

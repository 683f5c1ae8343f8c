//! The numbers of processes and rows: what `pid`, `tid` and `stream` say.

use crate::export::timeline::{Span, ThreadKey};
use crate::export::tracks::{Closed, Place, Request, Tracks};
use std::collections::HashMap;

/// Which row an event stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub(super) pid: u32,
    pub(super) tid: u64,
}

/// The row of a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub(super) row: Row,
    pub(super) number: u32,
    /// Whether nothing was put on it yet.
    pub(super) first: bool,
}

/// Where an event stands: its row, and its times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) row: Row,
    pub(super) place: Place,
}

/// Gives rows their numbers as they are first used.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    tracks: Tracks<ThreadKey>,
    threads: Vec<Row>,
    /// A device has a row for each row of a thread that uses it: there, nothing overlaps.
    streams: HashMap<(Row, &'a str), Stream>,
    stream_count: HashMap<u32, u32>,
    /// By process: the row of what its allocators said.
    memory: HashMap<u32, Row>,
    /// By process: the row of its steps.
    steps: HashMap<u32, Row>,
    /// By process: the row of its part of the critical path.
    critical_path: HashMap<u32, Row>,
    next_tid: u64,
}

/// Threads keep their own number below this; all other rows are numbered from here.
const MADE_UP_TIDS: u64 = 1_000_000_000;

/// `PyTorch`'s default stream; HTA takes streams from 1 on for device work.
const FIRST_STREAM: u32 = 7;

impl<'a> Rows<'a> {
    pub(super) fn new() -> Self {
        Rows {
            tracks: Tracks::new(),
            threads: Vec::new(),
            streams: HashMap::new(),
            stream_count: HashMap::new(),
            memory: HashMap::new(),
            steps: HashMap::new(),
            critical_path: HashMap::new(),
            next_tid: MADE_UP_TIDS,
        }
    }

    /// Where the entry stands; what ended because of it goes to `closed`.
    pub(super) fn place(&mut self, span: &Span<'a>, closed: &mut Vec<Closed>) -> Spot {
        let key = ThreadKey::of(&span.view);
        let place = self.tracks.place(key, Request::of(span), closed);
        if place.first_on_track {
            let tid = match key.thread {
                // Perfetto takes 0 for the main thread, whatever its number.
                Some(own) if (1..MADE_UP_TIDS).contains(&own) && place.lane == 0 => own,
                _ => self.new_tid(),
            };
            self.threads.push(Row { pid: key.rank, tid });
        }
        Spot {
            row: self.row(place.track),
            place,
        }
    }

    pub(super) fn row(&self, track: u32) -> Row {
        self.threads[track as usize]
    }

    /// The row of a device as this row of a thread uses it.
    pub(super) fn stream(&mut self, thread: Row, device: &'a str) -> Stream {
        if let Some(&stream) = self.streams.get(&(thread, device)) {
            return Stream {
                first: false,
                ..stream
            };
        }
        let count = self.stream_count.entry(thread.pid).or_insert(FIRST_STREAM);
        let number = *count;
        *count += 1;
        let stream = Stream {
            row: Row {
                pid: thread.pid,
                tid: self.new_tid(),
            },
            number,
            first: true,
        };
        self.streams.insert((thread, device), stream);
        stream
    }

    /// The row of what the allocators of a process said, and whether nothing was put on it yet.
    pub(super) fn memory(&mut self, pid: u32) -> (Row, bool) {
        if let Some(&row) = self.memory.get(&pid) {
            return (row, false);
        }
        let tid = self.new_tid();
        let row = Row { pid, tid };
        self.memory.insert(pid, row);
        (row, true)
    }

    /// The row of the steps of a process, and whether it is new. A row of their own, because ops may begin in one step
    /// and end in the next, and spans on one row must nest.
    pub(super) fn steps(&mut self, pid: u32) -> (Row, bool) {
        if let Some(&row) = self.steps.get(&pid) {
            return (row, false);
        }
        let tid = self.new_tid();
        let row = Row { pid, tid };
        self.steps.insert(pid, row);
        (row, true)
    }

    /// The row of the critical path in a process, and whether it is new.
    pub(super) fn critical_path(&mut self, pid: u32) -> (Row, bool) {
        if let Some(&row) = self.critical_path.get(&pid) {
            return (row, false);
        }
        let tid = self.new_tid();
        let row = Row { pid, tid };
        self.critical_path.insert(pid, row);
        (row, true)
    }

    /// Ends what is still open.
    pub(super) fn finish(&mut self, closed: &mut Vec<Closed>) {
        std::mem::replace(&mut self.tracks, Tracks::new()).finish(closed);
    }

    fn new_tid(&mut self) -> u64 {
        self.next_tid += 1;
        self.next_tid - 1
    }
}

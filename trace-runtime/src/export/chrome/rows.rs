//! The numbers of processes and rows: `pid`, `tid` and `stream`.

use crate::export::timeline::{Span, ThreadKey};
use crate::export::tracks::{Closed, Placement, Request, Tracks};
use std::collections::HashMap;

/// The row of an event in the viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ViewerRow {
    pub(super) pid: u32,
    pub(super) tid: u64,
}

/// The row of a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub(super) row: ViewerRow,
    pub(super) number: u32,
    /// True if it has no event yet.
    pub(super) first: bool,
}

/// The row and times of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) row: ViewerRow,
    pub(super) place: Placement,
}

/// Numbers rows in order of first use.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    tracks: Tracks<ThreadKey>,
    threads: Vec<ViewerRow>,
    /// A device has a row for each thread row that uses it, so that work on one row does not overlap.
    streams: HashMap<(ViewerRow, &'a str), Stream>,
    stream_count: HashMap<u32, u32>,
    /// By process: the row of its memory events.
    memory: HashMap<u32, ViewerRow>,
    /// By process: the row of its steps.
    steps: HashMap<u32, ViewerRow>,
    /// By process: the row of its part of the critical path.
    critical_path: HashMap<u32, ViewerRow>,
    next_tid: u64,
}

/// Numbers for rows that are not threads begin here. Threads below this keep their own numbers.
const MADE_UP_TIDS: u64 = 1_000_000_000;

/// `PyTorch`'s default stream. HTA considers streams from 1 on as device work.
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

    /// Places an entry; entries that ended because of it are added to `closed`.
    pub(super) fn place(&mut self, span: &Span<'a>, closed: &mut Vec<Closed>) -> Spot {
        let key = ThreadKey::of(&span.view);
        let place = self.tracks.place(key, Request::of(span), closed);
        if place.first_on_track {
            let tid = match key.thread {
                // Perfetto considers 0 as the main thread of every process.
                Some(own) if (1..MADE_UP_TIDS).contains(&own) && place.lane == 0 => own,
                _ => self.new_tid(),
            };
            self.threads.push(ViewerRow { pid: key.rank, tid });
        }
        Spot {
            row: self.row(place.track),
            place,
        }
    }

    pub(super) fn row(&self, track: u32) -> ViewerRow {
        self.threads[track as usize]
    }

    /// The row for the work of this row of a thread on a device.
    pub(super) fn stream(&mut self, thread: ViewerRow, device: &'a str) -> Stream {
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
            row: ViewerRow {
                pid: thread.pid,
                tid: self.new_tid(),
            },
            number,
            first: true,
        };
        self.streams.insert((thread, device), stream);
        stream
    }

    /// The row of the memory events of a process, and whether it is new.
    pub(super) fn memory(&mut self, pid: u32) -> (ViewerRow, bool) {
        if let Some(&row) = self.memory.get(&pid) {
            return (row, false);
        }
        let tid = self.new_tid();
        let row = ViewerRow { pid, tid };
        self.memory.insert(pid, row);
        (row, true)
    }

    /// The row of the steps of a process, and whether it is new. Steps have a separate row: ops may begin in one step
    /// and end in the next, and spans on one row must nest.
    pub(super) fn steps(&mut self, pid: u32) -> (ViewerRow, bool) {
        if let Some(&row) = self.steps.get(&pid) {
            return (row, false);
        }
        let tid = self.new_tid();
        let row = ViewerRow { pid, tid };
        self.steps.insert(pid, row);
        (row, true)
    }

    /// The row of the critical path in a process, and whether it is new.
    pub(super) fn critical_path(&mut self, pid: u32) -> (ViewerRow, bool) {
        if let Some(&row) = self.critical_path.get(&pid) {
            return (row, false);
        }
        let tid = self.new_tid();
        let row = ViewerRow { pid, tid };
        self.critical_path.insert(pid, row);
        (row, true)
    }

    /// Ends the entries that are still open.
    pub(super) fn finish(&mut self, closed: &mut Vec<Closed>) {
        std::mem::replace(&mut self.tracks, Tracks::new()).finish(closed);
    }

    fn new_tid(&mut self) -> u64 {
        self.next_tid += 1;
        self.next_tid - 1
    }
}

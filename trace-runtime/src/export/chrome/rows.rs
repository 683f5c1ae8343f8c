//! The numbers of processes and rows: what `pid`, `tid` and `stream` say.

use crate::export::timeline::{Span, ThreadKey};
use crate::export::tracks::{Closed, Place, Request, Tracks};
use std::collections::HashMap;

/// Which row an event stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) pid: u32,
    pub(super) tid: u64,
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
    threads: Tracks<ThreadKey>,
    devices: Tracks<(u32, &'a str)>,
    of_threads: Vec<Row>,
    of_devices: Vec<(Row, u32)>,
    streams: HashMap<u32, u32>,
    next_tid: u64,
    closed: Vec<Closed>,
}

/// Threads keep their own number below this; all other rows are numbered from here.
const MADE_UP_TIDS: u64 = 1_000_000_000;

/// `PyTorch`'s default stream; HTA takes streams from 1 on for device work.
const FIRST_STREAM: u32 = 7;

impl<'a> Rows<'a> {
    pub(super) fn new() -> Self {
        Rows {
            threads: Tracks::new(),
            devices: Tracks::new(),
            of_threads: Vec::new(),
            of_devices: Vec::new(),
            streams: HashMap::new(),
            next_tid: MADE_UP_TIDS,
            closed: Vec::new(),
        }
    }

    /// Where the entry stands among the threads.
    pub(super) fn of_thread(&mut self, span: &Span<'a>) -> Spot {
        self.closed.clear();
        let key = ThreadKey::of(&span.view);
        let place = self.threads.place(key, Request::of(span), &mut self.closed);
        if place.first_on_track {
            let tid = match key.thread {
                // Perfetto takes 0 for the main thread, whatever its number.
                Some(own) if (1..MADE_UP_TIDS).contains(&own) && place.lane == 0 => own,
                _ => self.new_tid(),
            };
            self.of_threads.push(Row { pid: key.rank, tid });
        }
        Spot {
            row: self.of_threads[place.track as usize],
            place,
        }
    }

    /// Where the entry stands among the devices, and on which stream; the times are those it has on
    /// its thread.
    pub(super) fn of_device(
        &mut self,
        span: &Span<'a>,
        device: &'a str,
        on_thread: Place,
    ) -> (Spot, u32) {
        self.closed.clear();
        let pid = span.view.rank().unwrap_or(0);
        let request = Request {
            start_ns: Some(on_thread.start_ns),
            ..Request::of(span)
        };
        let place = self.devices.place((pid, device), request, &mut self.closed);
        if place.first_on_track {
            let tid = self.new_tid();
            let stream = self.streams.entry(pid).or_insert(FIRST_STREAM);
            self.of_devices.push((Row { pid, tid }, *stream));
            *stream += 1;
        }
        let (row, stream) = self.of_devices[place.track as usize];
        (Spot { row, place }, stream)
    }

    fn new_tid(&mut self) -> u64 {
        self.next_tid += 1;
        self.next_tid - 1
    }
}

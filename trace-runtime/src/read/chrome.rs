//! Reads Chrome's trace format, in which Kineto and most other profilers write.

use super::collector::Collector;
use super::event::Event;
use super::header::Header;
use super::keys::Keys;
use super::own::{self, OwnTrace};
use super::reader::Reader;
use super::scanner::{Fault, Scanner};
use super::{TraceError, TraceStore, nest};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reads a trace whose events stand in the `traceEvents` of an object.
pub(super) fn object(
    bytes: &[u8],
    reader: Reader,
    read: &AtomicUsize,
) -> Result<TraceStore, TraceError> {
    let mut collector = Collector::default();
    let mut header = Header::default();
    let mut own = None;
    read_all(bytes, |scanner| {
        let mut members = scanner.open_object()?;
        while let Some(key) = scanner.next_key(&mut members)? {
            if let Some(own) = &mut own {
                OwnTrace::member(own, key, scanner, read)?;
            } else if key.0 == own::KEY && scanner.peek() == Some(b'{') {
                own = OwnTrace::begin(scanner)?;
            } else if key.0 == b"traceEvents" && scanner.peek() == Some(b'[') {
                events(scanner, &mut collector, Close::Needed, read)?;
            } else {
                header.read(key, scanner)?;
            }
        }
        the_end(scanner)
    })?;
    match own {
        Some(own) => own.finish(),
        None => finish(collector, header, reader),
    }
}

/// Reads a trace that is an array of events.
pub(super) fn array(
    bytes: &[u8],
    reader: Reader,
    read: &AtomicUsize,
) -> Result<TraceStore, TraceError> {
    let mut collector = Collector::default();
    read_all(bytes, |scanner| {
        events(scanner, &mut collector, Close::Optional, read)?;
        the_end(scanner)
    })?;
    finish(collector, Header::default(), reader)
}

/// Whether an array may end with the file: the format allows it where the array is all there is, so
/// that a program that dies leaves a trace that can be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Close {
    Needed,
    Optional,
}

/// How often somebody who watches is told how far the reader is.
pub(super) const EVENTS_PER_TICK: usize = 4096;

fn events<'a>(
    scanner: &mut Scanner<'a>,
    collector: &mut Collector<'a>,
    close: Close,
    read: &AtomicUsize,
) -> Result<(), Fault> {
    let mut items = scanner.open_array()?;
    let mut keys = Keys::new();
    loop {
        if close == Close::Optional && scanner.at_end() {
            collector
                .left_out
                .count("closing brackets that are missing");
            return Ok(());
        }
        if !scanner.next_item(&mut items)? {
            return Ok(());
        }
        if close == Close::Optional && scanner.at_end() {
            continue;
        }
        if scanner.peek() != Some(b'{') {
            return scanner.fault("an event, which is an object");
        }
        collector.add(&Event::read(scanner, &mut keys)?);
        if collector.events.is_multiple_of(EVENTS_PER_TICK) {
            read.store(scanner.position(), Ordering::Relaxed);
        }
    }
}

fn read_all<'a>(
    bytes: &'a [u8],
    read: impl FnOnce(&mut Scanner<'a>) -> Result<(), Fault>,
) -> Result<(), TraceError> {
    read(&mut Scanner::new(bytes)).map_err(|fault| fault.into_error(bytes))
}

fn the_end(scanner: &mut Scanner<'_>) -> Result<(), Fault> {
    if scanner.at_end() {
        return Ok(());
    }
    scanner.fault("nothing more: the trace is complete here")
}

fn finish(
    collector: Collector<'_>,
    header: Header,
    reader: Reader,
) -> Result<TraceStore, TraceError> {
    let nothing = collector.rows.is_empty() && collector.memory.is_empty();
    if nothing && collector.left_out.total() > 0 {
        return Err(TraceError::content(format!(
            "none of its {} events says what ran and for how long; \
             `ph` must be `X`, or `B` and `E`, and `ts` a number of microseconds",
            collector.events
        )));
    }
    nest::build(collector, header, reader)
}

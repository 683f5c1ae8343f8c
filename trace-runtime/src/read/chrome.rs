//! Reads Chrome's trace format, which Kineto and most other profilers write.

use super::collector::Collector;
use super::event::Event;
use super::header::FileHeader;
use super::keys::Keys;
use super::own::OwnTrace;
use super::reader::Reader;
use super::scanner::{Fault, Scanner};
use super::window::Window;
use super::{TraceError, TraceStore, nest};
use crate::model::wire::chrome as wire;
use std::io::Read;
use std::ops::ControlFlow;

/// Reads a trace that is an object with its events in `traceEvents`.
pub(super) fn object(
    mut window: Window<impl Read>,
    reader: Reader,
) -> Result<TraceStore, TraceError> {
    let mut collector = Collector::default();
    let mut header = FileHeader::default();
    let mut own = None;
    let mut members = window.open_object()?;
    loop {
        let found = window.piece(|scanner| {
            let mut now = members;
            let found = match scanner.next_key(&mut now)? {
                None => Member::None,
                Some(key) if key.0 == b"traceEvents" && scanner.peek() == Some(b'[') => {
                    Member::Events
                }
                Some(key) => {
                    let mut value = scanner.clone();
                    scanner.skip()?;
                    // At the end of the window a number may be cut off; with text after it, it is whole.
                    if scanner.peek().is_none() {
                        return scanner.fault("`,` or `}`");
                    }
                    match &mut own {
                        Some(own) => OwnTrace::fact(own, key, &mut value)?,
                        None if key.0 == wire::OWN && value.peek() == Some(b'{') => {
                            own = OwnTrace::begin(&mut value)?;
                        }
                        None => header.read(key, &mut value)?,
                    }
                    Member::Fact
                }
            };
            members = now;
            Ok(found)
        })?;
        match (found, &mut own) {
            (Member::Events, Some(own)) => {
                events(&mut window, Close::Needed, |scanner| own.event(scanner))?;
            }
            (Member::Events, None) => collect(&mut window, &mut collector, Close::Needed)?,
            (Member::Fact, _) => {}
            (Member::None, _) => break,
        }
    }
    the_end(&mut window)?;
    match own {
        Some(own) => own.finish(),
        None => finish(collector, header, reader),
    }
}

/// The value of a key of the top-level object.
enum Member {
    Events,
    Fact,
    None,
}

/// Reads a trace that is an array of events.
pub(super) fn array(
    mut window: Window<impl Read>,
    reader: Reader,
) -> Result<TraceStore, TraceError> {
    let mut collector = Collector::default();
    collect(&mut window, &mut collector, Close::Optional)?;
    the_end(&mut window)?;
    finish(collector, FileHeader::default(), reader)
}

/// Whether the closing bracket of an array of events may be missing. The format allows that where the
/// array is the whole file, so that the trace of a program that crashed can still be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Close {
    Needed,
    Optional,
}

/// Adds the events of an array to the collector.
fn collect(
    window: &mut Window<impl Read>,
    collector: &mut Collector,
    close: Close,
) -> Result<(), TraceError> {
    let mut keys = Keys::new();
    let closed = events(window, close, |scanner| {
        let mut event = Event::default();
        event.read(scanner, &mut keys)?;
        collector.add(&event);
        Ok(())
    })?;
    if !closed {
        let missing = "missing closing brackets";
        collector.left_out.count(missing);
    }
    Ok(())
}

/// Reads an array of events one by one. Returns whether it was closed.
fn events<R: Read>(
    window: &mut Window<R>,
    close: Close,
    mut read: impl FnMut(&mut Scanner<'_>) -> Result<(), Fault>,
) -> Result<bool, TraceError> {
    let mut items = window.open_array()?;
    window.pieces(|scanner| {
        let mut now = items;
        if close == Close::Optional && scanner.at_end()? {
            return Ok(ControlFlow::Break(false));
        }
        if !scanner.next_item(&mut now)? {
            return Ok(ControlFlow::Break(true));
        }
        if close == Close::Optional && scanner.at_end()? {
            return Ok(ControlFlow::Break(false));
        }
        if scanner.peek() != Some(b'{') {
            return scanner.fault("an event, which is an object");
        }
        read(scanner)?;
        items = now;
        Ok(ControlFlow::Continue(()))
    })
}

fn the_end(window: &mut Window<impl Read>) -> Result<(), TraceError> {
    window.piece(|scanner| -> Result<(), Fault> {
        if scanner.at_end()? {
            return Ok(());
        }
        scanner.fault("nothing more: the trace is complete here")
    })
}

fn finish(
    collector: Collector,
    header: FileHeader,
    reader: Reader,
) -> Result<TraceStore, TraceError> {
    let nothing = collector.rows.is_empty()
        && collector.memory.is_empty()
        && collector.async_spans.is_empty();
    if nothing && collector.left_out.total() > 0 {
        return Err(TraceError::not_a_trace(format!(
            "none of its {} events has a name and a duration; \
             `ph` must be `X`, or `B` and `E`, and `ts` a number of microseconds",
            collector.events
        )));
    }
    nest::build(collector, header, reader)
}

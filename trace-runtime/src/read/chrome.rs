//! Reads Chrome's trace format, which Kineto and most other profilers write.

use super::collector::Collector;
use super::event::Event;
use super::header::FileHeader;
use super::keys::Keys;
use super::own::OwnTrace;
use super::reader::Reader;
use super::scanner::{Fault, Members, Scanner};
use super::window::Window;
use super::{TraceError, TraceStore, nest, parallel};
use crate::model::wire::chrome as wire;
use std::io::Read;
use std::ops::ControlFlow;

/// Reads a trace that is an object with its events in `traceEvents`.
pub(super) fn object(
    mut window: Window<impl Read>,
    reader: Reader,
) -> Result<TraceStore, TraceError> {
    let mut collector = Collector::new(reader.modules);
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
                    // A number may be cut off at the end of the window. If other text follows, it is complete.
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
                let mut items = window.open_array()?;
                let read = |scanner: &mut Scanner<'_>| own.event(scanner);
                events(&mut window, &mut items, Close::Needed, usize::MAX, read)?;
            }
            (Member::Events, None) => collect(&mut window, &mut collector, Close::Needed, reader)?,
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

/// The kind of value that a key of the top-level object has.
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
    let mut collector = Collector::new(reader.modules);
    collect(&mut window, &mut collector, Close::Optional, reader)?;
    the_end(&mut window)?;
    finish(collector, FileHeader::default(), reader)
}

/// Whether the closing bracket of an array of events may be missing. The format allows that if the
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
    reader: Reader,
) -> Result<(), TraceError> {
    let mut keys = Keys::new();
    let mut items = window.open_array()?;
    let threads = reader.threads();
    let split = reader.split;
    let mut until = if threads > 1 {
        split.in_order
    } else {
        usize::MAX
    };
    loop {
        let end = events(window, &mut items, close, until, |scanner| {
            let mut event = Event::default();
            event.read(scanner, &mut keys)?;
            collector.add(&event);
            Ok(())
        })?;
        match end {
            End::Closed => return Ok(()),
            End::Missing => {
                collector.left_out.count("missing closing brackets");
                return Ok(());
            }
            End::Paused => parallel::collect(window, collector, threads, split)?,
        }
        until = usize::MAX;
    }
}

/// The end of an array of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    /// The file ended before the array did.
    Missing,
    /// The requested number of events was read.
    Paused,
}

/// Reads up to `count` events of an array, one by one.
fn events<R: Read>(
    window: &mut Window<R>,
    items: &mut Members,
    close: Close,
    count: usize,
    mut read: impl FnMut(&mut Scanner<'_>) -> Result<(), Fault>,
) -> Result<End, TraceError> {
    let mut left = count;
    window.pieces(|scanner| {
        if left == 0 {
            return Ok(ControlFlow::Break(End::Paused));
        }
        if close == Close::Optional && scanner.at_end()? {
            return Ok(ControlFlow::Break(End::Missing));
        }
        let mut now = *items;
        if !scanner.next_item(&mut now)? {
            return Ok(ControlFlow::Break(End::Closed));
        }
        if scanner.is_cut_off() && !items.is_first() {
            // The comma is read as a separate piece, so that the window does not hold the white space after it.
            items.set_first(true);
            return Ok(ControlFlow::Continue(()));
        }
        if close == Close::Optional && scanner.at_end()? {
            return Ok(ControlFlow::Break(End::Missing));
        }
        is_event(scanner)?;
        read(scanner)?;
        *items = now;
        left -= 1;
        Ok(ControlFlow::Continue(()))
    })
}

fn is_event(scanner: &mut Scanner<'_>) -> Result<(), Fault> {
    if scanner.peek() == Some(b'{') {
        return Ok(());
    }
    scanner.fault("an event, which is an object")
}

/// Returns whether the array has another event.
pub(super) fn next_event(scanner: &mut Scanner<'_>, items: &mut Members) -> Result<bool, Fault> {
    let found = scanner.next_item(items)?;
    if found {
        is_event(scanner)?;
    }
    Ok(found)
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

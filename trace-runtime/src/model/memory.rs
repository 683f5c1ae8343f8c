//! What an allocator said while the ops ran: every allocation and every release, in order.

use super::view::TraceView;
use std::collections::HashMap;
use std::fmt;

/// Memory that was taken or given back.
///
/// Readers fill these from traces whose profiler watched the allocator; [`TraceView::memory_events`]
/// hands them out in the order in which they happened.
///
/// [`TraceView::memory_events`]: super::TraceView::memory_events
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryEvent<'a> {
    /// When, in nanoseconds since the trace began.
    pub at_ns: i64,
    /// Bytes taken; given back where below zero.
    pub bytes: i64,
    /// The device whose memory it is: `cpu`, `cuda:0`.
    pub device_id: &'a str,
    /// The rank it happened on.
    pub rank: Option<u32>,
    /// The step of the innermost op that was running on the same thread.
    pub during: Option<usize>,
    /// Where the block lies, which pairs its release with its allocation.
    pub address: Option<u64>,
    /// Bytes allocated on the device after it, including what was there before the trace began.
    pub allocated: Option<u64>,
}

/// A [`MemoryEvent`] whose device is a string of the store.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredMemoryEvent {
    pub(super) device: u32,
    pub(super) event: MemoryEvent<'static>,
}

/// The metadata key under which a [`RecordedExecutionTrace`](super::RecordedExecutionTrace), whose
/// fields are given, keeps its memory events: one per line, `-` for what is not known.
pub(crate) const EVENTS_KEY: &str = "memory.events";

/// The memory events of a trace as that text, line by line.
pub(crate) struct EventLines<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: TraceView + ?Sized> fmt::Display for EventLines<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for event in self.0.memory_events() {
            write!(f, "{} {}", event.at_ns, event.bytes)?;
            let numbers = [
                event.rank.map(u64::from),
                event.during.map(|step| step as u64),
                event.address,
                event.allocated,
            ];
            for number in numbers {
                match number {
                    Some(number) => write!(f, " {number}")?,
                    None => f.write_str(" -")?,
                }
            }
            // Last, because a device may be called anything but two lines.
            writeln!(f, " {}", event.device_id.replace(['\n', '\r'], " "))?;
        }
        Ok(())
    }
}

/// The events in a trace's metadata; lines that are none are passed over.
pub(super) fn events_in(
    metadata: &HashMap<String, String>,
) -> impl Iterator<Item = MemoryEvent<'_>> {
    metadata
        .get(EVENTS_KEY)
        .into_iter()
        .flat_map(|text| text.lines())
        .filter_map(read_event)
}

fn read_event(line: &str) -> Option<MemoryEvent<'_>> {
    let mut words = line.splitn(7, ' ');
    let at_ns = words.next()?.parse().ok()?;
    let bytes = words.next()?.parse().ok()?;
    let mut numbers = [None; 4];
    for number in &mut numbers {
        match words.next()? {
            "-" => {}
            word => *number = Some(word.parse::<u64>().ok()?),
        }
    }
    let [rank, during, address, allocated] = numbers;
    Some(MemoryEvent {
        at_ns,
        bytes,
        rank: rank.map(u32::try_from).transpose().ok()?,
        during: during.map(usize::try_from).transpose().ok()?,
        address,
        allocated,
        device_id: words.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::TraceStoreBuilder;
    use super::*;

    #[test]
    fn events_are_read_back_and_other_lines_passed_over() {
        let event = MemoryEvent {
            at_ns: -5,
            bytes: -4096,
            device_id: "npu 3: left",
            rank: Some(2),
            during: None,
            address: Some(u64::MAX),
            allocated: Some(0),
        };
        let other = MemoryEvent {
            during: Some(7),
            address: None,
            device_id: "cpu",
            ..event
        };
        let mut builder = TraceStoreBuilder::new();
        builder.push_memory(&event);
        builder.push_memory(&other);
        let mut text = EventLines(&builder.finish()).to_string();
        text.push_str("nothing\n1 2 3\n1 x - - - - cpu\n");
        let metadata = HashMap::from([(EVENTS_KEY.to_owned(), text)]);
        let read: Vec<_> = events_in(&metadata).collect();
        assert_eq!(read, [event, other]);
    }
}

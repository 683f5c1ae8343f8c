//! Allocations and frees during the run, in order.

use super::view::TraceView;
use super::wire::metadata::MEMORY_EVENTS;
use std::collections::HashMap;
use std::fmt;

/// One allocation or free.
///
/// Readers make these from traces of a profiler that traced the allocator; [`TraceView::memory_events`]
/// returns them in order of time.
///
/// [`TraceView::memory_events`]: super::TraceView::memory_events
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryEvent<'a> {
    /// Time in nanoseconds since the trace began.
    pub at_ns: i64,
    /// Bytes allocated; below zero for a free.
    pub bytes: i64,
    /// The device that has the memory: `cpu`, `cuda:0`.
    pub device_id: &'a str,
    /// The rank it happened on.
    pub rank: Option<u32>,
    /// The `step` of the innermost op that was running on the same thread.
    pub during: Option<usize>,
    /// Address of the block, which pairs a free with its allocation.
    pub address: Option<u64>,
    /// Bytes allocated on the device after this event, including those from before the trace.
    pub allocated: Option<u64>,
    /// The op that the memory is charged to, by its position in [`memory_contexts`](super::memory_contexts). Such an
    /// event is the sum of several allocations and frees of one op.
    pub context: Option<u32>,
}

impl<'a> MemoryEvent<'a> {
    /// An allocation of `bytes` bytes, or a free if they are below zero. The other fields are `None`; set those that
    /// are known.
    pub fn new(at_ns: i64, bytes: i64, device_id: &'a str) -> MemoryEvent<'a> {
        MemoryEvent {
            at_ns,
            bytes,
            device_id,
            rank: None,
            during: None,
            address: None,
            allocated: None,
            context: None,
        }
    }

    /// Sets the rank it happened on.
    #[must_use]
    pub fn with_rank(mut self, rank: impl Into<Option<u32>>) -> Self {
        self.rank = rank.into();
        self
    }

    /// Sets the `step` of the innermost op that was running on the same thread.
    #[must_use]
    pub fn with_during(mut self, during: impl Into<Option<usize>>) -> Self {
        self.during = during.into();
        self
    }

    /// Sets the address of the block, which pairs a free with its allocation.
    #[must_use]
    pub fn with_address(mut self, address: impl Into<Option<u64>>) -> Self {
        self.address = address.into();
        self
    }

    /// Sets the op that the memory is charged to, by its position in [`memory_contexts`](super::memory_contexts).
    #[must_use]
    pub fn with_context(mut self, context: impl Into<Option<u32>>) -> Self {
        self.context = context.into();
        self
    }

    /// Sets the bytes allocated on the device after this event.
    #[must_use]
    pub fn with_allocated(mut self, allocated: impl Into<Option<u64>>) -> Self {
        self.allocated = allocated.into();
        self
    }
}

/// A [`MemoryEvent`] whose device is a string of the store.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredMemoryEvent {
    pub(super) device: u32,
    pub(super) event: MemoryEvent<'static>,
}

/// The memory events of a trace as the text of the metadata key [`MEMORY_EVENTS`]: one event per line, `-`
/// for a number that is not known.
pub(crate) struct EventLines<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: TraceView + ?Sized> fmt::Display for EventLines<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for event in self.0.memory_events() {
            write!(f, "{} {}", event.at_ns, event.bytes)?;
            if let Some(context) = event.context {
                write!(f, "/{context}")?;
            }
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
            // The device is last, because its name may contain spaces.
            writeln!(f, " {}", event.device_id.replace(['\n', '\r'], " "))?;
        }
        Ok(())
    }
}

/// The events in a trace's metadata; other lines are skipped.
pub(super) fn events_in(
    metadata: &HashMap<String, String>,
) -> impl Iterator<Item = MemoryEvent<'_>> {
    metadata
        .get(MEMORY_EVENTS)
        .into_iter()
        .flat_map(|text| text.lines())
        .filter_map(read_event)
}

fn read_event(line: &str) -> Option<MemoryEvent<'_>> {
    let mut words = line.splitn(7, ' ');
    let at_ns = words.next()?.parse().ok()?;
    let word = words.next()?;
    let (bytes, context) = match word.split_once('/') {
        Some((bytes, context)) => (bytes, Some(context.parse().ok()?)),
        None => (word, None),
    };
    let bytes = bytes.parse().ok()?;
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
        context,
    })
}

#[cfg(test)]
mod tests {
    use super::super::TraceStoreBuilder;
    use super::*;

    #[test]
    fn events_are_read_back_and_other_lines_are_skipped() {
        let event = MemoryEvent {
            at_ns: -5,
            bytes: -4096,
            device_id: "npu 3: left",
            rank: Some(2),
            during: None,
            address: Some(u64::MAX),
            allocated: Some(0),
            context: None,
        };
        let other = MemoryEvent {
            during: Some(7),
            address: None,
            context: Some(3),
            device_id: "cpu",
            ..event
        };
        let mut builder = TraceStoreBuilder::new();
        builder.push_memory(&event);
        builder.push_memory(&other);
        let mut text = EventLines(&builder.finish()).to_string();
        text.push_str("nothing\n1 2 3\n1 x - - - - cpu\n");
        let metadata = HashMap::from([(MEMORY_EVENTS.to_owned(), text)]);
        let read: Vec<_> = events_in(&metadata).collect();
        assert_eq!(read, [event, other]);
    }
}

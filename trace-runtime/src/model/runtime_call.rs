//! Calls into a device's runtime or driver: launches, copies, synchronisations.
//!
//! They are not entries: the time of a call is part of the op around it. The causal model derives launches and waits
//! from them.

use super::builder::TraceStoreBuilder;
use super::view::TraceView;
use super::wire::metadata::RUNTIME_CALLS;
use std::collections::HashMap;
use std::fmt;

/// One call into a device's runtime or driver, such as `cudaLaunchKernel` or `hipStreamSynchronize`.
///
/// Readers fill these from profiler traces; [`TraceView::runtime_calls`] returns them in the order in which they
/// began. Calls are numbered by that order, from 0.
///
/// [`TraceView::runtime_calls`]: super::TraceView::runtime_calls
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeCall<'a> {
    /// The function's name.
    pub name: &'a str,
    /// The start, in nanoseconds since the trace began.
    pub start_ns: i64,
    /// The duration, in nanoseconds.
    pub duration_ns: u64,
    /// The host thread that made it.
    pub thread: Option<u64>,
    /// The rank of that thread.
    pub rank: Option<u32>,
    /// The `step` of the innermost op on that thread that contains the call; `None` outside ops.
    pub during: Option<usize>,
    /// The stream it acts on, as the number of the stream's thread in this trace. For a stream synchronisation, the
    /// stream that is waited for; for a stream wait, the stream that waits. `None` if the trace does not contain it,
    /// and for calls that act on all streams.
    pub stream: Option<u64>,
    /// For a wait for an event, the number of the call that recorded the event.
    pub event: Option<usize>,
    /// For a wait for an event, the stream in which the event was recorded, numbered like `stream`.
    pub event_stream: Option<u64>,
}

impl<'a> RuntimeCall<'a> {
    /// A call with a name, a start and a duration in nanoseconds. Thread and rank are those that
    /// [`push_call`](super::TraceStoreBuilder::push_call) gets.
    pub fn new(name: &'a str, start_ns: i64, duration_ns: u64) -> RuntimeCall<'a> {
        RuntimeCall {
            name,
            start_ns,
            duration_ns,
            thread: None,
            rank: None,
            during: None,
            stream: None,
            event: None,
            event_stream: None,
        }
    }

    /// Sets the `step` of the innermost op that contains the call.
    #[must_use]
    pub fn with_during(mut self, during: impl Into<Option<usize>>) -> Self {
        self.during = during.into();
        self
    }

    /// Sets the stream it acts on.
    #[must_use]
    pub fn with_stream(mut self, stream: impl Into<Option<u64>>) -> Self {
        self.stream = stream.into();
        self
    }

    /// Sets the number of the call that recorded the event that this call waits for.
    #[must_use]
    pub fn with_event(mut self, event: impl Into<Option<usize>>) -> Self {
        self.event = event.into();
        self
    }

    /// Sets the stream in which the event that this call waits for was recorded.
    #[must_use]
    pub fn with_event_stream(mut self, stream: impl Into<Option<u64>>) -> Self {
        self.event_stream = stream.into();
        self
    }

    /// The end, in nanoseconds since the trace began.
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.duration_ns)
    }
}

/// A piece of device work and the runtime call that launched it. One call may launch many (a graph).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Launch {
    /// The `step` of the entry on the device.
    pub step: usize,
    /// The number of the call.
    pub call: usize,
}

impl Launch {
    /// A link from the device entry with this step to the call with this number.
    pub const fn new(step: usize, call: usize) -> Launch {
        Launch { step, call }
    }
}

/// A [`RuntimeCall`] in a store: 32 bytes. Fields that few calls have are in [`StoredTarget`].
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredCall {
    pub(super) start_ns: i64,
    pub(super) duration_ns: u64,
    /// A string of the store.
    pub(super) name: u32,
    /// Index of the thread in the store.
    pub(super) thread: u32,
    /// [`NONE`] outside ops.
    pub(super) during: u32,
    /// Index of its [`StoredTarget`]; [`NONE`] for none.
    pub(super) target: u32,
}

/// The stream and event that a synchronisation or an event record acts on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StoredTarget {
    pub(super) stream: Option<u64>,
    pub(super) event: Option<u32>,
    pub(super) event_stream: Option<u64>,
}

pub(super) const NONE: u32 = u32::MAX;

/// The calls and launches of a store.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredCalls {
    pub(super) calls: Vec<StoredCall>,
    pub(super) targets: Vec<StoredTarget>,
    /// Step and call number.
    pub(super) launches: Vec<(u32, u32)>,
}

impl StoredCalls {
    pub(super) fn heap_bytes(&self) -> usize {
        self.calls.capacity() * size_of::<StoredCall>()
            + self.targets.capacity() * size_of::<StoredTarget>()
            + self.launches.capacity() * size_of::<(u32, u32)>()
    }

    pub(super) fn launches(&self) -> impl Iterator<Item = Launch> {
        self.launches.iter().map(|&(step, call)| Launch {
            step: step as usize,
            call: call as usize,
        })
    }
}

/// The runtime calls of a trace as the text of the metadata key [`RUNTIME_CALLS`]: one call per line, `-` for
/// a number that is not known.
pub(crate) struct CallLines<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: TraceView + ?Sized> fmt::Display for CallLines<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut launches: Vec<Launch> = self.0.launches().collect();
        launches.sort_unstable_by_key(|launch| (launch.call, launch.step));
        let mut launches = launches.into_iter().peekable();
        for (number, call) in self.0.runtime_calls().enumerate() {
            write!(f, "{} {}", call.start_ns, call.duration_ns)?;
            let numbers = [
                call.rank.map(u64::from),
                call.thread,
                call.during.map(|step| step as u64),
                call.stream,
                call.event.map(|event| event as u64),
                call.event_stream,
            ];
            for number in numbers {
                match number {
                    Some(number) => write!(f, " {number}")?,
                    None => f.write_str(" -")?,
                }
            }
            let mut separator = ' ';
            while let Some(launch) = launches.next_if(|launch| launch.call == number) {
                write!(f, "{separator}{}", launch.step)?;
                separator = ',';
            }
            if separator == ' ' {
                f.write_str(" -")?;
            }
            // The name is last, because it may contain anything but a line break.
            writeln!(f, " {}", call.name.replace(['\n', '\r'], " "))?;
        }
        Ok(())
    }
}

/// The calls in a trace's metadata; lines in another form are ignored.
pub(super) fn calls_in(
    metadata: &HashMap<String, String>,
) -> impl Iterator<Item = RuntimeCall<'_>> {
    lines_in(metadata).map(|(call, _)| call)
}

impl TraceStoreBuilder {
    /// Appends the calls and launches in a text that [`CallLines`] wrote.
    pub(crate) fn push_call_lines(&mut self, text: &str) {
        for (call, launched) in text.lines().filter_map(read_line) {
            let thread = self.thread(call.thread, call.rank, None);
            let number = self.push_call(thread, &call);
            for launch in launched_by(number, launched) {
                self.push_launch(launch);
            }
        }
    }
}

/// The launches in a trace's metadata.
pub(super) fn launches_in(metadata: &HashMap<String, String>) -> impl Iterator<Item = Launch> {
    let lines = lines_in(metadata).enumerate();
    lines.flat_map(|(call, (_, steps))| launched_by(call, steps))
}

fn launched_by(call: usize, steps: &str) -> impl Iterator<Item = Launch> {
    let steps = steps.split(',').filter_map(|step| step.parse().ok());
    steps.map(move |step| Launch { step, call })
}

fn lines_in(metadata: &HashMap<String, String>) -> impl Iterator<Item = (RuntimeCall<'_>, &str)> {
    metadata
        .get(RUNTIME_CALLS)
        .into_iter()
        .flat_map(|text| text.lines())
        .filter_map(read_line)
}

fn read_line(line: &str) -> Option<(RuntimeCall<'_>, &str)> {
    let mut words = line.splitn(10, ' ');
    let start_ns = words.next()?.parse().ok()?;
    let duration_ns = words.next()?.parse().ok()?;
    let mut numbers = [None; 6];
    for number in &mut numbers {
        match words.next()? {
            "-" => {}
            word => *number = Some(word.parse::<u64>().ok()?),
        }
    }
    let [rank, thread, during, stream, event, event_stream] = numbers;
    let launched = words.next()?;
    let call = RuntimeCall {
        name: words.next()?,
        start_ns,
        duration_ns,
        thread,
        rank: rank.map(u32::try_from).transpose().ok()?,
        during: during.map(usize::try_from).transpose().ok()?,
        stream,
        event: event.map(usize::try_from).transpose().ok()?,
        event_stream,
    };
    Some((call, launched))
}

#[cfg(test)]
mod tests {
    use super::super::{NewEntry, RecordedExecutionTrace, TraceStore};
    use super::*;

    #[test]
    fn calls_and_launches_survive_both_storages() {
        let mut builder = TraceStoreBuilder::new();
        let host = builder.thread(Some(1), Some(2), Some("main"));
        let stream = builder.thread(Some(7), Some(2), Some("cuda:0 stream 7"));
        let op = builder.push(&NewEntry::new("mm", host, 0, 10)).unwrap();
        let kernels = [3, 6].map(|start| {
            let mut kernel = NewEntry::new("gemm", stream, start, 2);
            kernel.device_id = Some("cuda:0");
            builder.push(&kernel).unwrap()
        });
        let launch = RuntimeCall {
            name: "cuda Graph Launch",
            start_ns: -1,
            duration_ns: 2,
            thread: Some(1),
            rank: Some(2),
            during: Some(op),
            stream: None,
            event: None,
            event_stream: None,
        };
        let wait = RuntimeCall {
            name: "cudaStreamWaitEvent",
            during: None,
            stream: Some(7),
            event: Some(0),
            event_stream: Some(8),
            ..launch
        };
        for (number, call) in [launch, wait].iter().enumerate() {
            assert_eq!(builder.push_call(host, call), number);
        }
        for step in kernels {
            builder.push_launch(Launch { step, call: 0 });
        }
        let store = builder.finish();
        let owned = RecordedExecutionTrace::from(&store);
        assert!(owned.runtime_calls().eq([launch, wait]));
        assert!(owned.launches().eq(store.launches()));
        let back = TraceStore::try_from(&owned).unwrap();
        assert!(back.runtime_calls().eq([launch, wait]));
        assert_eq!(back.launches().count(), 2);
        assert!(!back.metadata().contains_key(RUNTIME_CALLS));
        assert_eq!(RecordedExecutionTrace::from(&back), owned);
    }

    #[test]
    fn lines_in_another_form_are_ignored() {
        let text = "1 2 - - - - - - -\n1 x - - - - - - - f\n5 1 - 4 - - - - - f g\n";
        let metadata = HashMap::from([(RUNTIME_CALLS.to_owned(), text.to_owned())]);
        let calls: Vec<_> = calls_in(&metadata).collect();
        assert_eq!(
            (calls.len(), calls[0].name, calls[0].thread),
            (1, "f g", Some(4))
        );
        assert_eq!(launches_in(&metadata).count(), 0);
    }
}

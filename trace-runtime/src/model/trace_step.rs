//! A step of a training or serving loop.

use super::entry_view::ns;
use super::json_struct::json_struct;

/// One step of a training or serving loop, of one rank: the time from the start to the end of one iteration.
///
/// Steps are not entries: they are not parents of ops, and the tables of ops do not list them. They come
/// from `Session::step()` and from annotations such as `ProfilerStep#5` in the traces of other profilers.
/// The `step` of an entry is a different thing: its position in the order in which ops began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct TraceStep {
    /// The number of the step, as the program counts them. Ranks count the same steps with the same numbers.
    pub number: u64,
    /// The start, in nanoseconds since the trace began.
    pub start_ns: i64,
    /// The end, in nanoseconds since the trace began; never before `start_ns`.
    pub end_ns: i64,
    /// The rank whose step it is; `None` if the trace has no ranks.
    pub rank: Option<u32>,
    /// The thread that marked the step, if that is known. The step covers all threads of its rank.
    pub thread: Option<u64>,
}

impl TraceStep {
    /// A step with a number, a start and an end in nanoseconds, without a rank and a thread. An end before the start
    /// is moved to it.
    pub fn new(number: u64, start_ns: i64, end_ns: i64) -> TraceStep {
        TraceStep {
            number,
            start_ns,
            end_ns: end_ns.max(start_ns),
            rank: None,
            thread: None,
        }
    }

    /// Sets the rank.
    #[must_use]
    pub fn with_rank(mut self, rank: Option<u32>) -> TraceStep {
        self.rank = rank;
        self
    }

    /// Sets the thread that marked the step.
    #[must_use]
    pub fn with_thread(mut self, thread: Option<u64>) -> TraceStep {
        self.thread = thread;
        self
    }

    /// The duration, in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.abs_diff(self.start_ns)
    }

    /// True if a moment is in the step: from its start to just before its end.
    pub fn contains(&self, at_ns: i64) -> bool {
        (self.start_ns..self.end_ns).contains(&at_ns)
    }
}

/// The JSON form of a step, in microseconds like the entries.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct WireStep {
    number: u64,
    start_us: f64,
    duration_us: f64,
    rank: Option<u32>,
    thread: Option<u64>,
}

json_struct!(WireStep {
    required: [number, start_us, duration_us],
    optional: [rank, thread],
});

impl From<&TraceStep> for WireStep {
    fn from(step: &TraceStep) -> WireStep {
        WireStep {
            number: step.number,
            start_us: step.start_ns as f64 / 1000.0,
            duration_us: step.length_ns() as f64 / 1000.0,
            rank: step.rank,
            thread: step.thread,
        }
    }
}

impl From<WireStep> for TraceStep {
    fn from(wire: WireStep) -> TraceStep {
        let start = ns(wire.start_us);
        let length = ns(wire.duration_us).max(0).unsigned_abs();
        TraceStep::new(wire.number, start, start.saturating_add_unsigned(length))
            .with_rank(wire.rank)
            .with_thread(wire.thread)
    }
}

/// The order in which a trace keeps its steps: by start, then by rank and number.
pub(crate) fn sort_steps(steps: &mut [TraceStep]) {
    steps.sort_by_key(|step| (step.start_ns, step.rank, step.number, step.end_ns));
}

//! What if some work took a different time? Replays the causal model with other durations.

mod graph;
mod heatmap;
mod peers;
mod replay;
mod scenario;
mod slowdown;

pub use heatmap::Heatmap;
pub use peers::Usual;
pub use scenario::Scenario;
pub use slowdown::{Slowdown, SlowdownPart};

use super::CausalModel;
use crate::analyze::forest::NONE;
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use peers::Peers;
use replay::{Durations, Replay};
use scenario::Factors;

/// A job that can be replayed with other durations. Made once by [`CausalModel::what_if`], for any number of scenarios.
///
/// The replay keeps the dependencies, the order of work on each thread and stream, and the recorded time between ops.
/// Waiting is computed from the new times. The replay does not know what the program would do differently: another
/// schedule, another split of the work, or work that is not in the trace.
///
/// ```
/// use trace_runtime::analyze::{CausalModel, Scenario};
/// use trace_runtime::read;
///
/// let trace = read::from_slice(br#"[
///   {"ph": "X", "cat": "cpu_op", "name": "matmul", "pid": 1, "tid": 1, "ts": 0, "dur": 80},
///   {"ph": "X", "cat": "cpu_op", "name": "softmax", "pid": 1, "tid": 1, "ts": 80, "dur": 20}
/// ]"#)?;
/// let model = CausalModel::new(&trace);
/// let job = model.what_if();
/// assert_eq!(job.recorded().total_ns, 100_000);
/// let faster = job.run(&Scenario::new().scale("matmul", 0.5));
/// assert_eq!(faster.total_ns, 60_000);
/// # Ok::<(), trace_runtime::TraceError>(())
/// ```
#[derive(Debug)]
pub struct WhatIf<'m, T: ?Sized> {
    trace: &'m T,
    replay: Replay<'m>,
    peers: Peers,
    /// By entry: whether it is communication.
    communication: Vec<bool>,
    notes: Vec<String>,
}

/// The time of a job, recorded or replayed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JobTime {
    /// The time of all steps together, in nanoseconds; from the first start to the last end if the trace has no steps.
    pub total_ns: u64,
    /// The number of each step and its time in nanoseconds. A step lasts until its last end on any rank. It begins at
    /// the end of the step before it, or at its own first start if that is later.
    pub steps: Vec<(u64, u64)>,
}

json_struct!(JobTime {
    required: [total_ns, steps],
    optional: [],
});

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// The job, ready to be replayed with other durations.
    pub fn what_if(&self) -> WhatIf<'_, T> {
        let (replay, observed) = self.replay();
        let mut notes: Vec<String> = self.meetings.notes().collect();
        if observed {
            notes.push(
                "nothing in the trace connects the rows of a rank: their observed order is assumed"
                    .to_owned(),
            );
        }
        WhatIf {
            trace: self.trace,
            replay,
            peers: Peers::of(self),
            communication: self.communicates(),
            notes,
        }
    }
}

impl<T: TraceView + ?Sized> WhatIf<'_, T> {
    /// The time of the job as it was recorded. The replay of the recorded durations gives the same.
    pub fn recorded(&self) -> JobTime {
        self.replayed(&Factors::unchanged())
    }

    /// The time of the job in a scenario.
    pub fn run(&self, scenario: &Scenario) -> JobTime {
        self.replayed(&scenario.factors(self))
    }

    /// The assumptions that the replay makes because the trace lacks facts, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn replayed(&self, durations: &impl Durations) -> JobTime {
        let steps = self.peers.steps.len();
        // The first start and the last end of each step; the last place is for work outside of steps.
        let mut spans = vec![(i64::MAX, i64::MIN); steps + 1];
        self.replay.run(durations, &mut |node, start, end| {
            let step = self.peers.step.get(node as usize).copied().unwrap_or(NONE);
            let span = &mut spans[(step as usize).min(steps)];
            *span = (span.0.min(start), span.1.max(end));
        });
        let mut time = JobTime::default();
        if steps == 0 {
            let (start, end) = spans[0];
            time.total_ns = end.saturating_sub(start).max(0).unsigned_abs();
            return time;
        }
        let mut before = i64::MIN;
        for (&number, &(start, end)) in self.peers.steps.iter().zip(&spans) {
            let ns = end.saturating_sub(start.max(before)).max(0).unsigned_abs();
            before = before.max(end);
            if start <= end {
                time.steps.push((number, ns));
                time.total_ns = time.total_ns.saturating_add(ns);
            }
        }
        time
    }
}

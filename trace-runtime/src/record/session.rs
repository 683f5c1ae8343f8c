//! From start to finish: recording every thread of the process, or one.

use super::builder::SessionBuilder;
use super::recorder;
use super::schedule::{Phase, Schedule};
use super::step_marks::StepMarks;
use crate::model::assemble::assemble;
use crate::model::wire::metadata as keys;
use crate::model::{RecordedExecutionTrace, TraceStore};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use trace_core::__engine::clock::Clock;
use trace_core::__engine::log::ThreadLog;
use trace_core::__engine::recorder::Recorder;
use trace_core::__engine::state::{self, Running};

/// A recording of every thread of the process, from [`start`](Self::start) to
/// [`finish`](Self::finish).
///
/// There is one at a time; a second start is an error. `finish` gathers what every thread has
/// recorded, whether it is running, parked or gone, without stopping it. An op that is still running
/// on another thread by then is not part of the trace; on the finishing thread it is, as
/// [`Outcome::Unfinished`](crate::Outcome::Unfinished).
///
/// ```
/// use trace_runtime::{Session, traced_op};
///
/// #[traced_op]
/// fn scale(x: &mut [f32], by: f32) {
///     x.iter_mut().for_each(|x| *x *= by);
/// }
///
/// let session = Session::start()?;
/// scale(&mut [1.0, 2.0, 3.0], 2.0);
/// let trace = session.finish();
/// assert_eq!(trace.entries[0].output_shape, [3]);
/// # Ok::<(), trace_runtime::SessionError>(())
/// ```
#[derive(Debug)]
#[must_use = "a session that is dropped at once records nothing"]
pub struct Session {
    running: Running,
    /// Takes what is recorded while warming up, and is thrown away.
    discard: Option<Running>,
    schedule: Schedule,
    metadata: HashMap<String, String>,
    output: Option<PathBuf>,
    unreachable_before: u64,
    is_over: bool,
    steps: StepMarks,
}

/// What a builder hands to a session.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) running: Running,
    pub(super) schedule: Schedule,
    pub(super) metadata: HashMap<String, String>,
    pub(super) output: Option<PathBuf>,
}

/// Why a session could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// There is one already.
    AlreadyRunning,
    /// An environment variable says something that is not understood.
    Environment {
        /// The variable.
        name: &'static str,
        /// What it says.
        value: String,
        /// What it should say.
        expected: &'static str,
    },
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::AlreadyRunning => f.write_str(
                "a session is running already and sessions do not nest; finish it first, \
                 or use `record` for a part of this thread",
            ),
            SessionError::Environment {
                name,
                value,
                expected,
            } => {
                write!(
                    f,
                    "`{name}` is `{}`; expected {expected}",
                    value.escape_debug()
                )
            }
        }
    }
}

impl std::error::Error for SessionError {}

impl Session {
    /// Starts recording all threads.
    pub fn start() -> Result<Session, SessionError> {
        Session::builder().start()
    }

    /// A session with settings of its own.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    pub(super) fn begin(settings: Settings) -> Result<Session, SessionError> {
        if !state::claim() {
            return Err(SessionError::AlreadyRunning);
        }
        let mut session = Session {
            running: settings.running,
            discard: None,
            schedule: settings.schedule,
            metadata: settings.metadata,
            output: settings.output,
            unreachable_before: state::unreachable_ops(),
            is_over: false,
            steps: StepMarks::default(),
        };
        session.steps.begin(session.running.base);
        session.enter_phase();
        Ok(session)
    }

    /// Marks the end of one step of a training or serving loop; the next step begins.
    ///
    /// The trace has the step as a [`TraceStep`](crate::TraceStep), from the step before it (or the start of the
    /// session) to this call, for all threads. Steps are numbered from 0. Time after the last call is in no step.
    /// With a [schedule](SessionBuilder::schedule) this moves it on, and only the steps that it keeps are in the
    /// trace.
    pub fn step(&mut self) {
        let before = self.schedule.phase();
        let now = self.running.clock.now();
        self.steps.end(now, before == Phase::Active);
        self.schedule.step();
        if self.schedule.phase() != before {
            self.enter_phase();
        }
    }

    /// Whether ops are kept now: always without a schedule, and in its active steps with one.
    pub fn is_active(&self) -> bool {
        self.schedule.phase() == Phase::Active
    }

    fn enter_phase(&mut self) {
        self.discard = None;
        match self.schedule.phase() {
            Phase::Wait => state::run(None),
            Phase::WarmUp => {
                self.discard = Some(self.running.with_fresh_logs());
                state::run(self.discard.clone());
            }
            Phase::Active => state::run(Some(self.running.clone())),
        }
    }

    /// A copy of what has been recorded so far; recording goes on.
    pub fn snapshot(&self) -> TraceStore {
        let logs = self.running.shared.logs();
        let rows = logs.iter().map(|log| log.copy()).collect();
        let interner = self.running.shared.signatures.with(|known| known.clone());
        let metadata = self.describe(&logs);
        let scale = self.running.clock.scale(self.running.base);
        let mut store = assemble(rows, interner, scale, metadata);
        store.set_steps(self.steps.steps(scale, self.rank()));
        store
    }

    /// Ends recording and returns the trace. If the session was asked to write a file and could not,
    /// the trace's metadata says why under `write_error`.
    pub fn finish(self) -> RecordedExecutionTrace {
        RecordedExecutionTrace::from(&self.finish_store())
    }

    /// Ends recording and returns the trace in its compact form, without copying it.
    pub fn finish_store(mut self) -> TraceStore {
        self.close()
    }

    fn close(&mut self) -> TraceStore {
        self.is_over = true;
        state::with_any(|recorder| {
            if recorder.is_of(Some(&self.running.shared)) {
                recorder.end_unfinished();
            }
        });
        state::release();
        let logs = self.running.shared.take_logs();
        let metadata = self.describe(&logs);
        let rows = logs.iter().map(|log| log.take()).collect();
        let interner = self.running.shared.signatures.take();
        let scale = self.running.clock.scale(self.running.base);
        let mut store = assemble(rows, interner, scale, metadata);
        store.set_steps(self.steps.steps(scale, self.rank()));
        if let Some(path) = &self.output
            && let Err(error) = RecordedExecutionTrace::from(&store).write(path)
        {
            store.insert_metadata(keys::WRITE_ERROR, error.to_string());
        }
        store
    }

    fn describe(&self, logs: &[Arc<ThreadLog>]) -> HashMap<String, String> {
        let mut metadata = self.metadata.clone();
        let sum = |count: fn(&ThreadLog) -> u64| logs.iter().map(|log| count(log)).sum::<u64>();
        let dropped = sum(|log| log.dropped.load(Ordering::Relaxed))
            + state::unreachable_ops().saturating_sub(self.unreachable_before);
        metadata.insert(keys::DROPPED.into(), dropped.to_string());
        let left_out = sum(|log| log.sampled_out.load(Ordering::Relaxed));
        if left_out > 0 {
            metadata.insert(keys::SAMPLED_OUT.into(), left_out.to_string());
        }
        if self.steps.dropped() > 0 {
            metadata.insert("steps_dropped".into(), self.steps.dropped().to_string());
        }
        metadata
    }

    fn rank(&self) -> Option<u32> {
        self.running.shared.rank
    }
}

/// What was asked to be written is written even if nobody calls `finish`.
impl Drop for Session {
    fn drop(&mut self) {
        if !self.is_over {
            if self.output.is_some() {
                self.close();
            } else {
                self.is_over = true;
                state::release();
            }
        }
    }
}

/// Records the ops that `body` runs on this thread, and nothing else.
///
/// Independent of sessions and of other threads: two threads may each record at once, and what is
/// recorded here is not part of a session that runs around it.
///
/// ```
/// use trace_runtime::{record, traced_op};
///
/// #[traced_op]
/// fn dot(a: &[f32], b: &[f32]) -> f32 {
///     a.iter().zip(b).map(|(a, b)| a * b).sum()
/// }
///
/// let (product, trace) = record(|| dot(&[1.0, 2.0], &[3.0, 4.0]));
/// assert_eq!(product, 11.0);
/// assert_eq!(trace.entries[0].input_shapes, [[2], [2]]);
/// ```
pub fn record<R>(body: impl FnOnce() -> R) -> (R, RecordedExecutionTrace) {
    let own = Recorder::with_clock(Clock::counter(), Some(state::thread_number()));
    let (result, own) = state::replaced_while(own, body);
    let mut trace = recorder::finish(own);
    trace.metadata.extend(compiled_out());
    (result, trace)
}

/// What an otherwise empty trace says of itself if the attribute leaves functions as written.
pub(super) fn compiled_out() -> Option<(String, String)> {
    cfg!(not(feature = "enabled"))
        .then(|| (keys::TRACING.to_owned(), keys::COMPILED_OUT.to_owned()))
}

//! A recording of all threads of the process, or of one.

mod closing;

pub(super) use closing::{report_loss, report_other_path};

use super::builder::SessionBuilder;
use super::destination::Destination;
use super::error::SessionError;
use super::heap;
use super::recorder;
use super::schedule::{Phase, Schedule};
use super::signal_output::SignalOutput;
use super::step_marks::StepMarks;
use super::stream::{OnSignal, Stream};
use crate::export::OutputFile;
use crate::model::assemble::assemble;
use crate::model::wire::metadata as keys;
use crate::model::{RecordedExecutionTrace, TraceError, TraceStore};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use trace_core::__engine::clock::Clock;
use trace_core::__engine::log::{Shared, ThreadLog};
use trace_core::__engine::recorder::Recorder;
use trace_core::__engine::state::{self, Running};

/// A recording of every thread of the process, from [`start`](Self::start) to
/// [`finish`](Self::finish).
///
/// There is one at a time; a second start is an error. `finish` gathers the ops of every thread, whether the thread is
/// running, parked or has ended, without stopping it. An op that is still running on another thread is not part of the
/// trace. On the thread that calls `finish`, open ops of a [`TraceRecorder`](crate::TraceRecorder) are entries with
/// [`Outcome::Unfinished`](crate::Outcome::Unfinished). Functions with `#[traced_op]` that are running there, and async
/// ops, are counted in the trace's `still_running`.
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
#[must_use = "the recording ends when the session is dropped; keep it until the end"]
pub struct Session {
    running: Running,
    /// The recording of the warm-up, which is discarded.
    discard: Option<Running>,
    schedule: Schedule,
    /// The steps that have ended.
    step: usize,
    metadata: HashMap<String, String>,
    output: Option<Arc<Destination>>,
    stream: Option<Stream>,
    on_signal: Option<(OnSignal, Arc<SignalOutput>)>,
    /// A failed write is reported on standard error.
    reports_errors: bool,
    unreachable_before: u64,
    is_over: bool,
    /// The process that it records.
    pid: u32,
    is_paused: bool,
    steps: StepMarks,
}

/// The checked settings of a builder.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) running: Running,
    pub(super) schedule: Schedule,
    pub(super) metadata: HashMap<String, String>,
    pub(super) output: Option<OutputFile>,
    pub(super) stream: Option<Stream>,
    /// The output is written when a signal ends the process.
    pub(super) on_signal: bool,
    /// The file of a session that streams.
    pub(super) recording: Option<PathBuf>,
    pub(super) sample_allocations: u64,
    pub(super) reports_errors: bool,
}

impl Session {
    /// Starts recording all threads.
    ///
    /// # Errors
    /// There is a session already.
    pub fn start() -> Result<Session, SessionError> {
        Session::builder().start()
    }

    /// The settings of a new session; [`SessionBuilder::start`] starts it.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    /// Begins a session that has the claim.
    pub(super) fn begin(settings: Settings) -> Result<Session, SessionError> {
        let mut session = Session {
            running: settings.running,
            discard: None,
            schedule: settings.schedule,
            step: 0,
            metadata: settings.metadata,
            output: settings.output.map(Destination::new).map(Arc::new),
            stream: settings.stream,
            on_signal: None,
            reports_errors: settings.reports_errors,
            unreachable_before: state::unreachable_ops(),
            is_over: false,
            pid: std::process::id(),
            is_paused: false,
            steps: StepMarks::default(),
        };
        heap::begin(&session.running, settings.sample_allocations);
        session.steps.begin(session.running.base);
        if let Some(output) = session.output.as_ref().filter(|_| settings.on_signal) {
            let output = Arc::new(SignalOutput {
                running: session.running.clone(),
                output: output.clone(),
                recording: settings.recording,
                unreachable_before: session.unreachable_before,
                notes: Mutex::new((session.metadata.clone(), session.steps.clone())),
            });
            let of_thread = output.clone();
            match OnSignal::install(move || of_thread.write()) {
                Ok(installed) => session.on_signal = Some((installed, output)),
                Err(error) => {
                    // The session has recorded nothing, so dropping it must not write a file.
                    session.output = None;
                    return Err(SessionError::output(TraceError::reading(error)));
                }
            }
        }
        session.enter_phase();
        Ok(session)
    }

    /// Marks the end of one step of a training or serving loop; the next step begins.
    ///
    /// The trace has the step as a [`TraceStep`](crate::TraceStep), from the step before it (or the start of the
    /// session) to this call, for all threads. Steps are numbered from 0. Time after the last call is in no step. With
    /// a [schedule](SessionBuilder::schedule), each call also advances the schedule, and only the steps that it keeps
    /// are in the trace.
    pub fn step(&mut self) {
        let before = self.phase();
        let now = self.running.clock.now();
        let is_active = before == Phase::Active;
        let kept = self.steps.end(now, is_active);
        if let Some((_, output)) = &self.on_signal {
            output.notes().1.end(now, is_active);
        }
        if let (Some(stream), Some((number, start, end))) = (&self.stream, kept) {
            stream.step(number, start, end);
        }
        self.step = self.step.saturating_add(1);
        if self.phase() != before {
            self.enter_phase();
        }
    }

    /// Nanoseconds since the session began, on the clock of the trace: an op that begins now has this start.
    ///
    /// Ranks that exchange it can be [aligned](crate::TraceStore::merge) to less than a microsecond.
    pub fn elapsed_ns(&self) -> u64 {
        let mut clock = self.running.clock.clone();
        let now = clock.now();
        let ns = clock.scale(self.running.base).ns(now);
        u64::try_from(ns).unwrap_or(0)
    }

    /// Adds a fact about the run to the trace, or replaces it.
    pub fn insert_metadata(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        if let Some(stream) = &self.stream {
            stream.metadata(&key, &value);
        }
        if let Some((_, output)) = &self.on_signal {
            output.notes().0.insert(key.clone(), value.clone());
        }
        self.metadata.insert(key, value);
    }

    /// The facts about the run that are known so far.
    pub fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    fn phase(&self) -> Phase {
        self.schedule.phase_of(self.step)
    }

    /// True if ops are recorded and kept now. False while [paused](Self::pause), and in the steps that a schedule does
    /// not keep.
    pub fn is_active(&self) -> bool {
        !self.is_paused && self.phase() == Phase::Active
    }

    /// Stops recording until [`resume`](Self::resume), on all threads. Ops that have ended are kept.
    ///
    /// An op that is running now is recorded when it ends. Steps and the schedule continue.
    pub fn pause(&mut self) {
        self.is_paused = true;
        self.enter_phase();
    }

    /// Records again after [`pause`](Self::pause). Does nothing if the session is not paused.
    pub fn resume(&mut self) {
        if std::mem::take(&mut self.is_paused) {
            self.enter_phase();
        }
    }

    fn enter_phase(&mut self) {
        self.discard = None;
        if self.is_paused {
            return state::run(None);
        }
        match self.phase() {
            Phase::Wait => state::run(None),
            Phase::WarmUp => {
                self.discard = Some(self.running.with_fresh_logs());
                state::run(self.discard.clone());
            }
            Phase::Active => state::run(Some(self.running.clone())),
        }
    }

    /// A copy of the trace so far; recording continues.
    ///
    /// A session that [streams](SessionBuilder::stream_to) reads its file. If that fails, the trace is empty and has
    /// the reason in its metadata under `write_error`.
    pub fn snapshot(&self) -> TraceStore {
        if let Some(stream) = &self.stream {
            return stream.read().unwrap_or_else(|error| empty_because(&error));
        }
        gather(
            &self.running,
            &self.metadata,
            &self.steps,
            self.unreachable_before,
        )
    }

    /// Writes the trace so far to a file, in the format of its ending; recording continues.
    ///
    /// With [`keep_last`](SessionBuilder::keep_last) these are the last ops. `.optrace` needs that, or
    /// [`stream_to`](SessionBuilder::stream_to). The file is written under another name and renamed when it is
    /// complete.
    ///
    /// # Errors
    /// The file cannot be written, or its ending does not name a format.
    pub fn dump(&self, path: impl AsRef<Path>) -> Result<(), TraceError> {
        let path = path.as_ref();
        match &self.stream {
            Some(stream) => stream.dump(path),
            None => crate::export::write_file(&self.snapshot(), path),
        }
    }

    /// Ends recording and returns the trace.
    ///
    /// Use [`finish_store`](Self::finish_store) for large traces, and [`try_finish`](Self::try_finish) for a session
    /// with an [output](SessionBuilder::output): this one never fails. If the file could not be written, the trace has
    /// the reason in its metadata under `write_error`.
    pub fn finish(self) -> RecordedExecutionTrace {
        RecordedExecutionTrace::from(&self.finish_store())
    }

    /// Ends recording and returns the trace in its compact form, without copying it. Handles a failed write as
    /// [`finish`](Self::finish) does.
    pub fn finish_store(mut self) -> TraceStore {
        let (mut store, written) = self.close();
        if let Err(error) = written {
            store.insert_metadata(keys::WRITE_ERROR, error.to_string());
        }
        store
    }

    /// Ends recording and returns the trace in its compact form, or an error if its file could not be written.
    ///
    /// # Errors
    ///
    /// Writing the [output](SessionBuilder::output) failed. [`SessionError::into_trace`] has the trace.
    pub fn try_finish(mut self) -> Result<TraceStore, SessionError> {
        match self.close() {
            (store, Ok(())) => Ok(store),
            (store, Err(error)) => Err(SessionError::write(error, store)),
        }
    }

    /// True if this is a copy of the session in a forked child, which does not take part in it.
    fn is_in_fork(&self) -> bool {
        self.pid != std::process::id()
    }

    fn rank(&self) -> Option<u32> {
        self.running.shared.rank
    }
}

/// A copy of the trace so far of a session whose rows are on the heap.
pub(super) fn gather(
    running: &Running,
    facts: &HashMap<String, String>,
    steps: &StepMarks,
    unreachable_before: u64,
) -> TraceStore {
    let shared = &running.shared;
    let (rows, interner, metadata) = state::undisturbed(|| {
        let logs = shared.logs();
        let rows = logs.iter().map(|log| log.copy()).collect();
        // Copied after the rows, so that it has every signature that they name.
        let interner = shared.signatures.copy();
        let metadata = describe(shared, &logs, facts, steps, unreachable_before);
        (rows, interner, metadata)
    });
    let scale = running.clock.scale(running.base);
    let mut store = assemble(rows, interner, scale, metadata);
    store.set_steps(steps.steps(scale, shared.rank));
    store
}

fn describe(
    shared: &Shared,
    logs: &[Arc<ThreadLog>],
    facts: &HashMap<String, String>,
    steps: &StepMarks,
    unreachable_before: u64,
) -> HashMap<String, String> {
    let mut metadata = facts.clone();
    let sum = |count: fn(&ThreadLog) -> u64| logs.iter().map(|log| count(log)).sum::<u64>();
    let dropped = sum(|log| log.dropped.load(Ordering::Relaxed))
        + state::unreachable_ops().saturating_sub(unreachable_before);
    metadata.insert(keys::DROPPED.into(), dropped.to_string());
    let left_out = sum(|log| log.sampled_out.load(Ordering::Relaxed));
    if left_out > 0 {
        metadata.insert(keys::SAMPLED_OUT.into(), left_out.to_string());
    }
    let too_short = sum(|log| log.filtered_out.load(Ordering::Relaxed));
    if too_short > 0 {
        metadata.insert(keys::FILTERED_OUT.into(), too_short.to_string());
    }
    metadata.extend(panics(shared));
    if steps.dropped() > 0 {
        metadata.insert("steps_dropped".into(), steps.dropped().to_string());
    }
    metadata
}

/// The metadata about panics in the code that describes ops.
pub(super) fn panics(shared: &Shared) -> impl Iterator<Item = (String, String)> {
    shared.failures.all().into_iter().map(|failure| {
        let (expression, op) = (failure.expression, failure.operation);
        let key = format!("{}{expression}.{op}", keys::PANICKED_PREFIX);
        (key, format!("{} {}", failure.count, failure.message))
    })
}

fn empty_because(error: &TraceError) -> TraceStore {
    let mut store = TraceStore::default();
    store.insert_metadata(keys::WRITE_ERROR, error.to_string());
    store
}

/// Records the ops that `body` runs on this thread, and nothing else.
///
/// Independent of sessions and of other threads: two threads may record at the same time, and these ops are not part of
/// a session that is running.
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

/// The metadata of an otherwise empty trace in a build in which the attribute does nothing.
pub(super) fn compiled_out() -> Option<(String, String)> {
    cfg!(not(feature = "enabled"))
        .then(|| (keys::TRACING.to_owned(), keys::COMPILED_OUT.to_owned()))
}

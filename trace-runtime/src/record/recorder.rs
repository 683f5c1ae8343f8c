//! The public recorder of one thread.

use super::live_trace::LiveTrace;
use super::session::panics;
use crate::model::assemble::{assemble, entries_of};
use crate::model::wire::metadata::DROPPED;
use crate::model::{RecordedExecutionTrace, TraceStore};
use std::cell::RefCell;
use std::collections::HashMap;
use trace_core::__engine::clock::Clock;
use trace_core::__engine::recorder::Recorder;
use trace_core::__engine::state;

/// Records the ops of one thread.
///
/// There are two ways to use one. A recorder from [`new`](Self::new) records the ops that its methods begin and end,
/// and [`finish`](Self::finish) returns them. [`with_recorder`](crate::with_recorder) gives access to the recorder that
/// `#[traced_op]` uses on a thread; its ops belong to the session.
///
/// Ops opened by [`begin_op`](Self::begin_op) are flat: the next `begin_op` ends them. Ops opened by
/// [`begin_nested`](Self::begin_nested) stay open until they are ended, and ops that begin in between are inside them.
/// The two mix: `begin_op` ends the innermost op only if `begin_op` opened it, and never one that `#[traced_op]` or
/// `begin_nested` opened.
///
/// ```
/// use trace_runtime::TraceRecorder;
///
/// let mut recorder = TraceRecorder::new();
/// recorder.begin_nested("layer");
/// recorder.begin_op("matmul");
/// recorder.end_op_with_shapes(vec![vec![64, 32], vec![32, 8]], vec![64, 8]);
/// recorder.begin_op("relu"); // ended by the end of `layer`
/// recorder.end_nested();
///
/// let trace = recorder.finish();
/// assert_eq!(trace.entries[1].operation, "matmul");
/// assert_eq!(trace.entries[1].parent, Some(0));
/// ```
#[derive(Debug)]
pub struct TraceRecorder {
    recorder: Recorder,
    live: LiveTrace,
}

impl TraceRecorder {
    /// A recorder that belongs to no session.
    pub fn new() -> TraceRecorder {
        TraceRecorder::with_clock(Clock::counter())
    }

    /// A recorder whose clock advances by `step_ns` each time it is read: for tests that compare
    /// times.
    pub fn with_stepped_clock(step_ns: u64) -> TraceRecorder {
        TraceRecorder::with_clock(Clock::stepped(step_ns))
    }

    fn with_clock(clock: Clock) -> TraceRecorder {
        TraceRecorder {
            recorder: Recorder::with_clock(clock, None),
            live: LiveTrace::new(),
        }
    }

    /// Begins an op. Ends the previous one if `begin_op` opened it and it is still open.
    pub fn begin_op(&mut self, operation: impl Into<String>) {
        self.changing().begin_op(operation);
    }

    /// Ends the innermost op with the shapes of its inputs and its output. Does nothing when no op is
    /// open that `begin_op` or [`begin_nested`](Self::begin_nested) opened, or when a function with
    /// `#[traced_op]` runs inside it.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "the signature is part of the contract"
    )]
    pub fn end_op_with_shapes(&mut self, input_shapes: Vec<Vec<usize>>, output_shape: Vec<usize>) {
        self.changing()
            .end_op_with_shapes(&input_shapes, &output_shape);
    }

    /// Ends the innermost op without shapes. Its output then has no dims, like a scalar.
    pub fn end_op(&mut self) {
        self.changing().end_op();
    }

    /// Begins an op inside the innermost open one, which stays open.
    pub fn begin_nested(&mut self, operation: impl Into<String>) {
        self.changing().begin_nested(operation);
    }

    /// Ends the innermost op that [`begin_nested`](Self::begin_nested) opened, and the ops inside it that `begin_op`
    /// opened. Does nothing when there is none.
    pub fn end_nested(&mut self) {
        self.changing().end_nested();
    }

    /// Runs `body` as an op. Ops that it begins are inside this op.
    pub fn scope<R>(
        &mut self,
        operation: impl Into<String>,
        body: impl FnOnce(&mut TraceRecorder) -> R,
    ) -> R {
        self.begin_nested(operation);
        let depth = self.recorder.depth();
        let result = body(self);
        self.changing().end_frames_above(depth, crate::Outcome::Ok);
        self.end_nested();
        result
    }

    /// The trace so far, without open ops. Its cost is proportional to the number of ops that ended since the last
    /// call.
    pub fn current_trace(&self) -> &RecordedExecutionTrace {
        self.live.get(|covered| {
            let Some(recorded) = self.recorder.rows_since(covered) else {
                return Vec::new();
            };
            recorded
                .shared
                .signatures
                .with(|known| entries_of(recorded.rows, known, recorded.scale))
        })
    }

    /// Ends recording. Ops that are still open end now.
    pub fn finish(self) -> RecordedExecutionTrace {
        finish(self.recorder)
    }

    /// The recorder, for changes. Invalidates the trace of [`current_trace`](Self::current_trace).
    fn changing(&mut self) -> &mut Recorder {
        self.live.invalidate();
        &mut self.recorder
    }
}

impl Default for TraceRecorder {
    fn default() -> Self {
        TraceRecorder::new()
    }
}

/// The trace of a recorder that belongs to no session.
pub(super) fn finish(recorder: Recorder) -> RecordedExecutionTrace {
    let Some(own) = recorder.finish() else {
        return RecordedExecutionTrace::new();
    };
    let mut metadata = HashMap::new();
    if own.dropped > 0 {
        metadata.insert(DROPPED.to_owned(), own.dropped.to_string());
    }
    metadata.extend(panics(&own.shared));
    let interner = own.shared.signatures.with(|known| known.clone());
    let store: TraceStore = assemble(vec![own.rows], interner, own.scale, metadata);
    RecordedExecutionTrace::from(&store)
}

/// Runs `f` on the recorder that `#[traced_op]` uses on this thread. Returns `None`, without a call of `f`, if this
/// thread does not record or its recorder is in use.
///
/// Ops that run inside `f` are not recorded, only counted as dropped: the recorder is in use.
///
/// ```
/// use trace_runtime::{record, with_recorder};
///
/// let ((), trace) = record(|| {
///     with_recorder(|recorder| recorder.begin_op("load"));
///     with_recorder(|recorder| recorder.end_op());
/// });
/// assert_eq!(trace.entries[0].operation, "load");
/// ```
pub fn with_recorder<R>(f: impl FnOnce(&mut TraceRecorder) -> R) -> Option<R> {
    if !state::is_anyone_recording() {
        return None;
    }
    state::with_active(|place| f(&mut Lent::new(place).recorder))
}

thread_local! {
    /// The trace that `current_trace` returned last on this thread, and its recording.
    static SHOWN: RefCell<(u32, LiveTrace)> = const { RefCell::new((0, LiveTrace::new())) };
}

/// A thread's recorder, moved out of its place while a caller of [`with_recorder`] has it.
struct Lent<'a> {
    recorder: TraceRecorder,
    place: &'a mut Recorder,
}

impl Lent<'_> {
    fn new(place: &mut Recorder) -> Lent<'_> {
        let recorder = std::mem::replace(place, Recorder::idle());
        let shown = SHOWN.try_with(|shown| shown.replace((0, LiveTrace::new())));
        let mut live = match shown {
            Ok((generation, live)) if generation == recorder.generation() => live,
            _ => LiveTrace::new(),
        };
        // Annotated functions may have recorded ops since the last call.
        live.invalidate();
        let recorder = TraceRecorder { recorder, live };
        Lent { recorder, place }
    }
}

/// Puts the recorder back, even if the caller panics.
impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let recorder = std::mem::replace(&mut self.recorder.recorder, Recorder::idle());
        let live = std::mem::replace(&mut self.recorder.live, LiveTrace::new());
        let _ = SHOWN.try_with(|shown| shown.replace((recorder.generation(), live)));
        *self.place = recorder;
    }
}

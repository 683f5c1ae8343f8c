//! The per-thread writer: opens and closes ops, and appends a row for each that closes.

mod guarded;
mod tasks;

pub(in crate::record) use guarded::GuardedOp;
pub(in crate::record) use tasks::{EndedTask, Linked};

use crate::model::assemble::{OpRef, RawExtra};
use crate::model::chunk::{LONG_DURATION, NO_PARENT, Steps, facts, facts_with_extra};
use crate::model::{DType, Device, Outcome, RecordedExecutionTrace};
use crate::record::clock::Clock;
use crate::record::live_trace::LiveTrace;
use crate::record::log::Shared;
use crate::record::sink::{Said, TensorSink};
use crate::record::site::Sites;
use crate::record::target::{Target, is_exhausted};
use std::sync::Arc;

/// Records the ops of one thread.
///
/// There are two ways to use one. On its own, [`new`](Self::new) to [`finish`](Self::finish), it
/// records what it is told. The one that stands behind `#[traced_op]` on each thread is reached with
/// [`with_recorder`](crate::with_recorder), and what it records belongs to the session.
///
/// Ops opened by [`begin_op`](Self::begin_op) are flat: the next `begin_op` ends them. Ops opened by
/// [`begin_nested`](Self::begin_nested) stay open until they are ended, and whatever begins in
/// between is inside of them. The two mix: `begin_op` ends the innermost op only if `begin_op` opened
/// it, and never one that `#[traced_op]` or `begin_nested` opened.
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
    /// What `state` said when the target was chosen.
    pub(in crate::record) seen: u32,
    /// A word of its own: loaded together with `parent`, it would wait for the stores of both.
    next_step: u64,
    place: Place,
    /// The innermost open op of this thread, or [`NO_PARENT`].
    parent: u32,
    /// The op of another thread or task that stands around this one.
    link: Option<OpRef>,
    clock: Clock,
    target: Option<Target>,
    sites: Sites,
    sink: TensorSink,
    /// What [`begin_op`](Self::begin_op) and [`begin_nested`](Self::begin_nested) opened.
    frames: Vec<Frame>,
    /// Of ops that are open.
    extras: Vec<RawExtra>,
    live: LiveTrace,
}

/// An op that is open.
#[derive(Debug, Clone, Copy)]
struct OpenOp {
    start: u64,
    steps: Steps,
    said: Said,
    has_extra: bool,
}

/// An op that the recorder itself keeps open.
#[derive(Debug)]
struct Frame {
    op: OpenOp,
    opened_by: OpenedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenedBy {
    BeginOp,
    BeginNested,
}

/// A recording and how many frames are open in it, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(u64);

impl Place {
    /// Differs between any two recordings, so that an op never ends in one it did not begin in.
    fn of_generation(generation: u32) -> Place {
        Place(u64::from(generation) << 32)
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn depth(self) -> usize {
        self.0 as u32 as usize
    }
}

impl TraceRecorder {
    /// A recorder of its own.
    pub fn new() -> TraceRecorder {
        TraceRecorder::with_clock(Clock::counter(), None)
    }

    /// A recorder whose clock advances by `step_ns` each time it is read: for tests that compare
    /// times.
    pub fn with_stepped_clock(step_ns: u64) -> TraceRecorder {
        TraceRecorder::with_clock(Clock::stepped(step_ns), None)
    }

    pub(in crate::record) fn with_clock(mut clock: Clock, thread: Option<u64>) -> TraceRecorder {
        let mut recorder = TraceRecorder::idle();
        recorder.target = Some(Target::of_its_own(clock.base(), thread));
        recorder.clock = clock;
        recorder.place = Place::of_generation(crate::record::state::new_generation());
        recorder
    }

    /// A recorder that records nothing yet.
    pub(in crate::record) const fn idle() -> TraceRecorder {
        TraceRecorder {
            seen: 0,
            next_step: 0,
            place: Place(0),
            parent: NO_PARENT,
            link: None,
            clock: Clock::stopped(),
            target: None,
            sites: Sites::new(),
            sink: TensorSink::new(),
            frames: Vec::new(),
            extras: Vec::new(),
            live: LiveTrace::new(),
        }
    }

    /// Makes this the recorder of a thread in a session, or of nothing.
    pub(in crate::record) fn attach(&mut self, session: Option<crate::record::state::Running>) {
        *self = TraceRecorder {
            seen: self.seen,
            ..TraceRecorder::idle()
        };
        if let Some(running) = session {
            self.clock = running.clock.clone();
            self.target = Some(Target::of_session(running));
            self.place = Place::of_generation(crate::record::state::new_generation());
        }
    }

    /// Whether this recorder is part of that session.
    pub(in crate::record) fn is_of(&self, session: Option<&Arc<Shared>>) -> bool {
        match (self.session(), session) {
            (Some(ours), Some(session)) => Arc::ptr_eq(ours, session),
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether it records for itself, whatever sessions there are.
    pub(in crate::record) fn is_its_own(&self) -> bool {
        self.target.as_ref().is_some_and(Target::is_its_own)
    }

    #[inline]
    pub(in crate::record) fn is_on(&self) -> bool {
        self.target.is_some()
    }

    pub(in crate::record) fn session(&self) -> Option<&Arc<Shared>> {
        self.target.as_ref().map(Target::shared)
    }

    /// Begins an op. Ends the previous one if `begin_op` opened it and it is still open.
    pub fn begin_op(&mut self, operation: impl Into<String>) {
        if self.innermost() == Some(OpenedBy::BeginOp) {
            self.end_op();
        }
        self.open_frame(operation.into(), OpenedBy::BeginOp);
    }

    /// Ends the innermost op with the shapes of its inputs and its output. Does nothing when no op is
    /// open that `begin_op` or [`begin_nested`](Self::begin_nested) opened, or when a function with
    /// `#[traced_op]` runs inside of it.
    #[allow(clippy::needless_pass_by_value, reason = "the described signature")]
    pub fn end_op_with_shapes(&mut self, input_shapes: Vec<Vec<usize>>, output_shape: Vec<usize>) {
        self.end_frame(Outcome::Ok, |sink| {
            sink.begin_inputs();
            for dims in &input_shapes {
                sink.tensor(dims, DType::Unknown, Device::Unknown);
            }
            sink.begin_outputs();
            sink.tensor(&output_shape, DType::Unknown, Device::Unknown);
        });
    }

    /// Ends the innermost op without shapes: its output counts as a scalar, as it does when
    /// [`end_op_with_shapes`](Self::end_op_with_shapes) is given none.
    pub fn end_op(&mut self) {
        self.end_op_with_shapes(Vec::new(), Vec::new());
    }

    /// Begins an op inside of the innermost open one, which stays open.
    pub fn begin_nested(&mut self, operation: impl Into<String>) {
        self.open_frame(operation.into(), OpenedBy::BeginNested);
    }

    /// Ends the innermost op that [`begin_nested`](Self::begin_nested) opened, and what `begin_op`
    /// left open inside of it. Does nothing when there is none.
    pub fn end_nested(&mut self) {
        let below = self
            .frames
            .len()
            .checked_sub(2)
            .map(|index| self.frames[index].opened_by);
        if self.innermost() == Some(OpenedBy::BeginOp) && below == Some(OpenedBy::BeginNested) {
            self.end_op();
        }
        if self.innermost() == Some(OpenedBy::BeginNested) {
            self.end_frame(Outcome::Ok, |_| {});
        }
    }

    /// Runs `body` as an op of its own; what it begins is inside of it.
    pub fn scope<R>(
        &mut self,
        operation: impl Into<String>,
        body: impl FnOnce(&mut TraceRecorder) -> R,
    ) -> R {
        self.begin_nested(operation);
        let depth = self.frames.len();
        let result = body(self);
        self.end_frames_above(depth, Outcome::Ok);
        self.end_nested();
        result
    }

    /// What has been recorded so far, open ops left out. Costs nothing when nothing has changed since
    /// the last call, and otherwise only what is new.
    pub fn current_trace(&self) -> &RecordedExecutionTrace {
        self.live.get(|covered| match &self.target {
            Some(target) => target.entries_since(covered, &self.clock),
            None => Vec::new(),
        })
    }

    /// Ends recording. Ops that are still open end now.
    pub fn finish(mut self) -> RecordedExecutionTrace {
        self.end_frames_above(0, Outcome::Ok);
        match self.target.take() {
            Some(target) => RecordedExecutionTrace::from(&target.into_store(&self.clock)),
            None => RecordedExecutionTrace::new(),
        }
    }

    /// Ends what `begin_op` and `begin_nested` left open as [`Outcome::Unfinished`].
    pub(in crate::record) fn end_unfinished(&mut self) {
        self.end_frames_above(0, Outcome::Unfinished);
    }

    fn end_frames_above(&mut self, depth: usize, outcome: Outcome) {
        while self.frames.len() > depth {
            // Whatever a guard keeps open above it ends later, or never.
            self.parent = self
                .frames
                .last()
                .map_or(NO_PARENT, |frame| frame.op.steps.step());
            match self.innermost() {
                Some(OpenedBy::BeginOp) if outcome == Outcome::Ok => self.end_op(),
                _ => self.end_frame(outcome, |_| {}),
            }
        }
    }

    /// Who opened the innermost op, if the recorder itself keeps it open.
    fn innermost(&self) -> Option<OpenedBy> {
        let frame = self.frames.last()?;
        (frame.op.steps.step() == self.parent).then_some(frame.opened_by)
    }

    fn open_frame(&mut self, operation: String, opened_by: OpenedBy) {
        let Some(target) = &mut self.target else {
            return;
        };
        if target.is_careful() && is_exhausted(self.next_step) {
            return target.drop_row();
        }
        let number = target.number_of(operation);
        let base = self.sink.begin(number);
        let op = self.open(base);
        self.frames.push(Frame { op, opened_by });
        self.place.0 += 1;
    }

    fn end_frame(&mut self, outcome: Outcome, describe: impl FnOnce(&mut TensorSink)) {
        if self.innermost().is_none() {
            return;
        }
        let end = self.now();
        if let Some(frame) = self.frames.pop() {
            self.place.0 -= 1;
            self.sink.rewind(frame.op.said);
            self.sink.begin_outputs();
            describe(&mut self.sink);
            self.close(&frame.op, end, outcome);
        }
    }

    #[inline]
    pub(in crate::record) fn now(&mut self) -> u64 {
        self.clock.now()
    }

    /// Opens an op whose inputs have been described since `base`. The start is stamped last:
    /// describing a large tensor is our cost, not the op's.
    #[inline]
    fn open(&mut self, base: u32) -> OpenOp {
        let step = self.next_step as u32;
        self.next_step += 1;
        let parent = std::mem::replace(&mut self.parent, step);
        let mut has_extra = false;
        if self.sink.has_meta() || (parent == NO_PARENT && self.link.is_some()) {
            has_extra = true;
            self.open_extra(step, parent);
        }
        let (said, steps) = (self.sink.said(base), Steps::new(step, parent));
        OpenOp {
            start: self.now(),
            steps,
            said,
            has_extra,
        }
    }

    #[cold]
    #[inline(never)]
    fn open_extra(&mut self, step: u32, parent: u32) {
        self.extras.push(RawExtra {
            step,
            parent: if parent == NO_PARENT { self.link } else { None },
            meta: self.sink.take_meta(),
            ..RawExtra::default()
        });
    }

    /// Appends an op whose inputs and outputs have been described.
    #[inline(never)]
    fn close(&mut self, op: &OpenOp, end: u64, outcome: Outcome) {
        self.close_inline(op, end, outcome);
    }

    /// The same where it is worth its code.
    #[allow(clippy::inline_always, reason = "the call would cost a fifth of an op")]
    #[inline(always)]
    fn close_inline(&mut self, op: &OpenOp, end: u64, outcome: Outcome) {
        self.parent = op.steps.parent();
        let Some(target) = &mut self.target else {
            return;
        };
        let Some(signature) = self.sink.number(op.said, &target.shared().signatures) else {
            return target.drop_row();
        };
        let outcome = if self.sink.has_failed() {
            Outcome::Error
        } else {
            outcome
        };
        let duration = end.saturating_sub(op.start);
        if op.has_extra || duration >= LONG_DURATION {
            self.push_with_extra(op, duration, signature, outcome);
        } else {
            let facts = facts(duration, signature, outcome);
            target.push([op.start, facts, op.steps.0]);
        }
        self.live.invalidate();
    }

    /// Appends a row of the few that have more to say than fits.
    #[cold]
    #[inline(never)]
    fn push_with_extra(&mut self, op: &OpenOp, duration: u64, signature: u32, outcome: Outcome) {
        let extra = take_extra(&mut self.extras, op.steps.step());
        if let Some(target) = &mut self.target {
            target.add_extra(RawExtra {
                duration: Some(duration),
                ..extra
            });
            let facts = facts_with_extra(duration, signature, outcome);
            target.push([op.start, facts, op.steps.0]);
        }
    }
}

fn take_extra(extras: &mut Vec<RawExtra>, step: u32) -> RawExtra {
    match extras.iter().rposition(|extra| extra.step == step) {
        Some(index) => extras.swap_remove(index),
        None => RawExtra {
            step,
            ..RawExtra::default()
        },
    }
}

impl Default for TraceRecorder {
    fn default() -> Self {
        TraceRecorder::new()
    }
}

//! The per-thread writer: opens and closes ops, and appends a row for each that closes.

mod guarded;
mod tasks;

pub(crate) use guarded::GuardedOp;
pub(crate) use tasks::{EndedTask, LabelScope, Linked};

use crate::engine::chunk::{LONG_DURATION, NO_PARENT, Steps, facts, facts_with_extra};
use crate::engine::clock::Clock;
use crate::engine::labels::{LabelNumber, Labels, NO_LABEL, REFUSED_LABEL};
use crate::engine::log::Shared;
use crate::engine::rows::{OpRef, RawExtra};
use crate::engine::signatures::{FILTERED, REFUSED};
use crate::engine::sink::{OpWords, TensorSink};
use crate::engine::site::Sites;
use crate::engine::target::{Recorded, Target, is_exhausted};
use crate::{DType, Device, Outcome};
use std::sync::Arc;

/// Records the ops of one thread: for a session, or on its own.
///
/// Ops opened by [`begin_op`](Self::begin_op) are flat: the next `begin_op` ends them. Ops opened by
/// [`begin_nested`](Self::begin_nested) stay open until they are ended, and whatever begins in
/// between is inside of them.
#[derive(Debug)]
pub struct Recorder {
    /// The value of `state::STATE` when the target was chosen.
    pub(crate) seen: u32,
    /// A word of its own: loaded together with `parent`, it would wait for the stores of both.
    next_step: u64,
    place: Place,
    /// The innermost open op of this thread, or [`NO_PARENT`].
    parent: u32,
    /// The op of another thread or task that the ops of this one are inside of.
    link: Option<OpRef>,
    clock: Clock,
    target: Option<Target>,
    sites: Sites,
    labels: Labels,
    /// The label of the scope that the thread is in.
    label: LabelNumber,
    sink: TensorSink,
    /// Ops that [`begin_op`](Self::begin_op) and [`begin_nested`](Self::begin_nested) opened.
    frames: Vec<Frame>,
    /// The extras of ops that are open.
    extras: Vec<RawExtra>,
}

/// An op that is open.
#[derive(Debug, Clone, Copy)]
struct OpenOp {
    start: u64,
    steps: Steps,
    words: OpWords,
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

impl Recorder {
    /// A recorder that belongs to no session.
    pub fn with_clock(mut clock: Clock, thread: Option<u64>) -> Recorder {
        let mut recorder = Recorder::idle();
        recorder.target = Some(Target::of_its_own(clock.base(), thread));
        recorder.clock = clock;
        recorder.place = Place::of_generation(crate::engine::state::new_generation());
        recorder
    }

    /// A recorder that records nothing yet.
    pub const fn idle() -> Recorder {
        Recorder {
            seen: 0,
            next_step: 0,
            place: Place(0),
            parent: NO_PARENT,
            link: None,
            clock: Clock::stopped(),
            target: None,
            sites: Sites::new(),
            labels: Labels::new(),
            label: NO_LABEL,
            sink: TensorSink::new(),
            frames: Vec::new(),
            extras: Vec::new(),
        }
    }

    /// Makes this the recorder of a thread in a session, or of nothing.
    pub(crate) fn attach(&mut self, session: Option<crate::engine::state::Running>) {
        *self = Recorder {
            seen: self.seen,
            ..Recorder::idle()
        };
        if let Some(running) = session {
            self.clock = running.clock.clone();
            self.target = Some(Target::of_session(running));
            self.place = Place::of_generation(crate::engine::state::new_generation());
        }
    }

    /// Whether this recorder is part of that session.
    pub fn is_of(&self, session: Option<&Arc<Shared>>) -> bool {
        match (self.session(), session) {
            (Some(ours), Some(session)) => Arc::ptr_eq(ours, session),
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether it records for itself, whatever sessions there are.
    pub(crate) fn is_its_own(&self) -> bool {
        self.target.as_ref().is_some_and(Target::is_its_own)
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.target.is_some()
    }

    pub fn session(&self) -> Option<&Arc<Shared>> {
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
    pub fn end_op_with_shapes(&mut self, input_shapes: &[Vec<usize>], output_shape: &[usize]) {
        self.end_frame(Outcome::Ok, |sink| {
            sink.begin_inputs();
            for dims in input_shapes {
                sink.tensor(dims, DType::Unknown, Device::Unknown);
            }
            sink.begin_outputs();
            sink.tensor(output_shape, DType::Unknown, Device::Unknown);
        });
    }

    /// Ends the innermost op without shapes: its output counts as a scalar, as it does when
    /// [`end_op_with_shapes`](Self::end_op_with_shapes) is given none.
    pub fn end_op(&mut self) {
        self.end_op_with_shapes(&[], &[]);
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

    /// How many ops `begin_op` and `begin_nested` keep open.
    pub fn depth(&self) -> usize {
        self.frames.len()
    }

    /// A number that differs between any two recordings of the process.
    pub fn generation(&self) -> u32 {
        self.place.generation()
    }

    /// A copy of this thread's rows past the first so many, in the order in which they ended.
    pub fn rows_since(&self, covered: usize) -> Option<Recorded> {
        let target = self.target.as_ref()?;
        Some(target.rows_since(covered, &self.clock))
    }

    /// Ends recording. Ops that are still open end now. None if it never recorded.
    pub fn finish(mut self) -> Option<Recorded> {
        self.end_frames_above(0, Outcome::Ok);
        Some(self.target.take()?.into_rows(&self.clock))
    }

    /// Ends what `begin_op` and `begin_nested` left open as [`Outcome::Unfinished`].
    pub fn end_unfinished(&mut self) {
        self.end_frames_above(0, Outcome::Unfinished);
    }

    /// Ends what `begin_op` and `begin_nested` left open, down to the first `depth`.
    pub fn end_frames_above(&mut self, depth: usize, outcome: Outcome) {
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

    /// The method that opened the innermost op, if the recorder itself keeps it open.
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
        let op = target.number_of(operation);
        let number = if self.label == NO_LABEL {
            op
        } else {
            labelled(&mut self.labels, target, op, self.label)
        };
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
            self.sink.rewind(frame.op.words);
            self.sink.begin_outputs();
            describe(&mut self.sink);
            self.close(&frame.op, end, outcome);
        }
    }

    #[inline]
    pub(crate) fn now(&mut self) -> u64 {
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
        let (words, steps) = (self.sink.op_words(base), Steps::new(step, parent));
        OpenOp {
            start: self.now(),
            steps,
            words,
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

    /// The same inlined, for the hot path.
    #[allow(clippy::inline_always, reason = "the call would cost a fifth of an op")]
    #[inline(always)]
    fn close_inline(&mut self, op: &OpenOp, end: u64, outcome: Outcome) {
        self.parent = op.steps.parent();
        let Some(target) = &mut self.target else {
            return;
        };
        let Some(signature) = self.sink.number(op.words, target.shared()) else {
            return self.drop_op(op);
        };
        let outcome = if self.sink.has_failed() {
            Outcome::Error
        } else {
            outcome
        };
        let duration = end.saturating_sub(op.start);
        if target.is_careful() && target.is_too_short(duration) {
            return self.forget_extra(op);
        }
        if op.has_extra || duration >= LONG_DURATION {
            self.push_with_extra(op, duration, signature, outcome);
        } else {
            let facts = facts(duration, signature, outcome);
            target.push([op.start, facts, op.steps.0]);
        }
    }

    /// Counts an op whose signature did not fit.
    #[cold]
    #[inline(never)]
    fn drop_op(&mut self, op: &OpenOp) {
        self.forget_extra(op);
        if let Some(target) = &mut self.target {
            target.drop_row();
        }
    }

    #[cold]
    #[inline(never)]
    fn forget_extra(&mut self, op: &OpenOp) {
        if op.has_extra {
            take_extra(&mut self.extras, op.steps.step());
        }
    }

    /// Appends one of the few rows that have an extra.
    #[cold]
    #[inline(never)]
    fn push_with_extra(&mut self, op: &OpenOp, duration: u64, signature: u32, outcome: Outcome) {
        let extra = take_extra(&mut self.extras, op.steps.step());
        if let Some(target) = &mut self.target {
            let facts = facts_with_extra(duration, signature, outcome);
            let extra = RawExtra {
                duration: Some(duration),
                ..extra
            };
            target.push_with_extra([op.start, facts, op.steps.0], extra);
        }
    }
}

/// The number of an op with a label.
#[inline]
fn labelled(labels: &mut Labels, target: &Target, op: u32, label: LabelNumber) -> u32 {
    match labels.op(op, label) {
        Some(number) => number,
        None => new_labelled(labels, target, op, label),
    }
}

#[cold]
#[inline(never)]
fn new_labelled(labels: &mut Labels, target: &Target, op: u32, label: LabelNumber) -> u32 {
    if op == FILTERED {
        return FILTERED;
    }
    if op == REFUSED || label == REFUSED_LABEL {
        return REFUSED;
    }
    let shared = target.shared();
    let number = shared
        .signatures
        .labelled(op, labels.path(label), &shared.room);
    labels.add_op(op, label, number, &shared.room);
    number
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

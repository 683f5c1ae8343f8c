//! The per-thread writer: opens and closes ops, and appends a row for each that closes.

use super::clock::Clock;
use super::live_trace::LiveTrace;
use super::log::{Shared, ThreadLog};
use super::signatures::SignatureCache;
use super::sink::TensorSink;
use super::site::Site;
use crate::model::assemble::{OpRef, RawExtra, ThreadRows, assemble, entries_of};
use crate::model::chunk::{Chunk, LONG_DURATION, MAX_ROWS, NO_PARENT, Row};
use crate::model::{
    DType, Device, Outcome, RecordedExecutionTrace, RecordedTraceEntry, TraceStore,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    pub(super) sink: TensorSink,
    frames: Vec<Frame>,
    cache: SignatureCache,
    target: Option<Target>,
    next_step: u32,
    /// The innermost open op of this thread, or [`NO_PARENT`].
    parent: u32,
    /// The op of another thread or task that stands around this one.
    link: Option<OpRef>,
    /// Differs between any two recordings, so that an op never ends in one it did not begin in.
    generation: u32,
    /// What `state` said when the target was chosen.
    pub(super) seen: u32,
    live: LiveTrace,
}

/// Where the rows go.
#[derive(Debug)]
struct Target {
    clock: Clock,
    base: u64,
    shared: Arc<Shared>,
    log: Arc<ThreadLog>,
    chunk: Arc<Chunk>,
    next_rows: usize,
    full: bool,
    owned: bool,
    sample: u32,
    seen_of_site: Vec<u32>,
    names: HashMap<String, u32>,
}

/// An open op.
#[derive(Debug)]
struct Frame {
    start: u64,
    base: u32,
    step: u32,
    parent: u32,
    opened_by: OpenedBy,
    extra: Option<Box<RawExtra>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenedBy {
    BeginOp,
    BeginNested,
    Guard,
}

/// An op that a guard holds open: how deep it lies, in which recording.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opened {
    depth: u32,
    generation: u32,
}

impl Opened {
    pub(super) const NOTHING: Opened = Opened {
        depth: u32::MAX,
        generation: 0,
    };

    #[inline]
    pub(super) fn is_nothing(self) -> bool {
        self.depth == u32::MAX
    }
}

/// A thread's chunks grow from the first to the second: short threads stay small.
const FIRST_ROWS: usize = 64;
/// What a recorder of its own may fill before it drops and counts.
pub(super) const DEFAULT_LIMIT: usize = 1 << 30;

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

    pub(super) fn with_clock(mut clock: Clock, thread: Option<u64>) -> TraceRecorder {
        let shared = Arc::new(Shared::new(DEFAULT_LIMIT, None, 1));
        let log = shared.add_log(thread, None);
        let base = match &clock {
            Clock::Counter(_) => clock.now(),
            Clock::Stepped { .. } => 0,
        };
        let mut recorder = TraceRecorder::idle();
        recorder.target = Some(Target::new(clock, base, shared, log, true));
        recorder.generation = super::state::new_generation();
        recorder
    }

    /// A recorder that records nothing yet.
    pub(super) const fn idle() -> TraceRecorder {
        TraceRecorder {
            sink: TensorSink::new(),
            frames: Vec::new(),
            cache: SignatureCache::new(),
            target: None,
            next_step: 0,
            parent: NO_PARENT,
            link: None,
            generation: 0,
            seen: 0,
            live: LiveTrace::new(),
        }
    }

    /// Makes this the recorder of a thread in a session, or of nothing.
    pub(super) fn attach(&mut self, session: Option<(Arc<Shared>, Clock, u64)>) {
        let seen = self.seen;
        *self = TraceRecorder {
            sink: std::mem::replace(&mut self.sink, TensorSink::new()),
            ..TraceRecorder::idle()
        };
        self.sink.cut(0);
        self.seen = seen;
        if let Some((shared, clock, base)) = session {
            let current = std::thread::current();
            let log = shared.add_log(
                Some(super::state::thread_number()),
                current.name().map(str::to_owned),
            );
            self.target = Some(Target::new(clock, base, shared, log, false));
            self.generation = super::state::new_generation();
        }
    }

    /// Whether this recorder is part of that session.
    pub(super) fn is_of(&self, session: Option<&Arc<Shared>>) -> bool {
        match (&self.target, session) {
            (Some(target), Some(session)) => Arc::ptr_eq(&target.shared, session),
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether it records for itself, whatever sessions there are.
    pub(super) fn is_its_own(&self) -> bool {
        self.target.as_ref().is_some_and(|target| target.owned)
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.target.is_some()
    }

    /// Begins an op. Ends the previous one if `begin_op` opened it and it is still open.
    pub fn begin_op(&mut self, operation: impl Into<String>) {
        if self.innermost() == Some(OpenedBy::BeginOp) {
            self.end_op();
        }
        self.open_named(operation.into(), OpenedBy::BeginOp);
    }

    /// Ends the innermost op with the shapes of its inputs and its output. Does nothing when no op is
    /// open that `begin_op` or [`begin_nested`](Self::begin_nested) opened.
    pub fn end_op_with_shapes(&mut self, input_shapes: Vec<Vec<usize>>, output_shape: Vec<usize>) {
        if matches!(self.innermost(), None | Some(OpenedBy::Guard)) {
            return;
        }
        let end = self.now();
        self.sink.begin_inputs();
        for dims in &input_shapes {
            self.sink.tensor(dims, DType::Unknown, Device::Unknown);
        }
        self.sink.begin_outputs();
        self.sink
            .tensor(&output_shape, DType::Unknown, Device::Unknown);
        self.close(end, Outcome::Ok);
    }

    /// Ends the innermost op without shapes: its output counts as a scalar, as it does when
    /// [`end_op_with_shapes`](Self::end_op_with_shapes) is given none.
    pub fn end_op(&mut self) {
        self.end_op_with_shapes(Vec::new(), Vec::new());
    }

    /// Begins an op inside of the innermost open one, which stays open.
    pub fn begin_nested(&mut self, operation: impl Into<String>) {
        self.open_named(operation.into(), OpenedBy::BeginNested);
    }

    /// Ends the innermost op that [`begin_nested`](Self::begin_nested) opened, and whatever `begin_op`
    /// left open inside of it. Does nothing when there is none.
    pub fn end_nested(&mut self) {
        if self.innermost() == Some(OpenedBy::BeginOp) && self.frames.len() > 1 {
            let below = self.frames[self.frames.len() - 2].opened_by;
            if below == OpenedBy::BeginNested {
                self.end_op();
            }
        }
        if self.innermost() == Some(OpenedBy::BeginNested) {
            let end = self.now();
            self.sink.begin_outputs();
            self.close(end, Outcome::Ok);
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
        // A body that left something open does not keep the scope open.
        while self.frames.len() > depth {
            self.end_innermost(Outcome::Ok);
        }
        self.end_nested();
        result
    }

    /// What has been recorded so far, open ops left out. Costs nothing when nothing has changed since
    /// the last call, and otherwise only what is new.
    pub fn current_trace(&self) -> &RecordedExecutionTrace {
        self.live.get(|covered| match &self.target {
            Some(target) => target.entries_since(covered),
            None => Vec::new(),
        })
    }

    /// Ends recording. Ops that are still open end now.
    pub fn finish(mut self) -> RecordedExecutionTrace {
        while !self.frames.is_empty() {
            self.end_innermost(Outcome::Ok);
        }
        match self.target.take() {
            Some(target) => RecordedExecutionTrace::from(&target.store(target.log.take())),
            None => RecordedExecutionTrace::new(),
        }
    }

    /// Ends every open op as [`Outcome::Unfinished`].
    pub(super) fn end_unfinished(&mut self) {
        while !self.frames.is_empty() {
            self.end_innermost(Outcome::Unfinished);
        }
    }

    fn end_innermost(&mut self, outcome: Outcome) {
        if self.innermost() == Some(OpenedBy::BeginOp) && outcome == Outcome::Ok {
            return self.end_op();
        }
        let end = self.now();
        self.sink.begin_outputs();
        self.close(end, outcome);
    }

    fn innermost(&self) -> Option<OpenedBy> {
        self.frames.last().map(|frame| frame.opened_by)
    }

    pub(super) fn now(&mut self) -> u64 {
        self.target.as_mut().map_or(0, |target| target.clock.now())
    }

    fn open_named(&mut self, operation: String, opened_by: OpenedBy) {
        let Some(target) = &mut self.target else {
            return;
        };
        let op = target.number_of(operation);
        let base = self.sink.top();
        self.sink.begin(op);
        self.open(base, opened_by);
    }

    /// Opens an op whose inputs have been described since `base`. The start is stamped last:
    /// describing a large tensor is our cost, not the op's.
    #[inline]
    fn open(&mut self, base: usize, opened_by: OpenedBy) {
        let step = self.next_step;
        self.next_step += 1;
        let parent = std::mem::replace(&mut self.parent, step);
        let mut extra = None;
        if self.sink.has_meta() || (parent == NO_PARENT && self.link.is_some()) {
            extra = self.extra(step, parent);
        }
        let start = self.now();
        self.frames.push(Frame {
            start,
            base: base as u32,
            step,
            parent,
            opened_by,
            extra,
        });
    }

    #[cold]
    #[inline(never)]
    fn extra(&mut self, step: u32, parent: u32) -> Option<Box<RawExtra>> {
        Some(Box::new(RawExtra {
            step,
            parent: if parent == NO_PARENT { self.link } else { None },
            meta: self.sink.take_meta(),
            ..RawExtra::default()
        }))
    }

    /// Begins an op that a guard will end.
    #[inline]
    pub(super) fn begin_guarded(
        &mut self,
        site: &'static Site,
        inputs: impl FnOnce(&mut TensorSink),
    ) -> Opened {
        let Some(target) = &mut self.target else {
            return Opened::NOTHING;
        };
        let op = site.number();
        if target.sample > 1 && target.leaves_out(op) {
            return Opened::NOTHING;
        }
        let base = self.sink.top();
        self.sink.begin(op);
        inputs(&mut self.sink);
        let opened = Opened {
            depth: self.frames.len() as u32,
            generation: self.generation,
        };
        self.open(base, OpenedBy::Guard);
        opened
    }

    /// Ends an op that a guard held open, with whatever was left open inside of it.
    #[inline]
    pub(super) fn end_guarded(
        &mut self,
        opened: Opened,
        outcome: Outcome,
        outputs: impl FnOnce(&mut TensorSink),
    ) {
        let end = self.now();
        let innermost = self.frames.len() == opened.depth as usize + 1;
        if (!innermost || opened.generation != self.generation) && !self.uncover(opened) {
            return;
        }
        self.sink.begin_outputs();
        let inputs_end = self.sink.top();
        outputs(&mut self.sink);
        let outcome = if self.sink.has_failed() {
            self.sink.cut(inputs_end);
            Outcome::Error
        } else {
            outcome
        };
        self.close(end, outcome);
    }

    /// Closes what lies above an op; false if the op is not of this recording.
    #[cold]
    #[inline(never)]
    fn uncover(&mut self, opened: Opened) -> bool {
        if opened.generation != self.generation || self.frames.len() <= opened.depth as usize {
            return false;
        }
        while self.frames.len() > opened.depth as usize + 1 {
            self.end_innermost(Outcome::Ok);
        }
        true
    }

    /// Appends the innermost op, whose inputs and outputs lie on the sink.
    #[inline]
    fn close(&mut self, end: u64, outcome: Outcome) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        self.parent = frame.parent;
        let base = frame.base as usize;
        let Some(target) = &mut self.target else {
            return;
        };
        let words = self.sink.since(base);
        let signature = self.cache.number(words, &target.shared.signatures);
        self.sink.cut(base);
        let duration = end.saturating_sub(frame.start);
        let mut row = Row {
            start: frame.start,
            duration,
            signature: signature.unwrap_or_default(),
            outcome,
            extra: false,
            step: frame.step,
            parent: frame.parent,
        };
        if signature.is_none() {
            target.drop_row();
            return;
        }
        if frame.extra.is_some() || duration >= LONG_DURATION {
            let extra = frame.extra.map_or_else(RawExtra::default, |extra| *extra);
            target.add_extra(
                &mut row,
                RawExtra {
                    step: frame.step,
                    duration: Some(duration),
                    ..extra
                },
            );
        }
        if !target.chunk.push(row) && !target.push_to_new_chunk(row) {
            target.drop_row();
        }
        self.live.invalidate();
    }
}

/// What follows an op to other threads and across `.await`.
impl TraceRecorder {
    /// The innermost open op, as other threads may refer to it.
    pub(super) fn current(&self) -> Option<OpRef> {
        let target = self.target.as_ref()?;
        if self.parent == NO_PARENT {
            return self.link;
        }
        Some(OpRef::OnThread {
            uid: target.log.uid,
            step: self.parent,
        })
    }

    pub(super) fn session(&self) -> Option<&Arc<Shared>> {
        self.target.as_ref().map(|target| &target.shared)
    }

    /// Puts `op` around what begins next; give the result to [`unlink`](Self::unlink).
    pub(super) fn link(&mut self, op: Option<OpRef>) -> Linked {
        let linked = Linked {
            parent: self.parent,
            link: self.link,
            generation: self.generation,
        };
        self.parent = NO_PARENT;
        self.link = op;
        linked
    }

    pub(super) fn unlink(&mut self, linked: Linked) {
        if linked.generation == self.generation {
            self.parent = linked.parent;
            self.link = linked.link;
        }
    }

    /// Describes the inputs of a task that is not on this thread's stack.
    pub(super) fn describe_task(
        &mut self,
        site: &'static Site,
        inputs: impl FnOnce(&mut TensorSink),
    ) -> (Vec<usize>, Vec<(&'static str, String)>) {
        let base = self.sink.top();
        self.sink.begin(site.number());
        inputs(&mut self.sink);
        let words = self.sink.since(base).to_vec();
        self.sink.cut(base);
        (words, self.sink.take_meta())
    }

    /// Appends a task that has ended on this thread.
    pub(super) fn end_task(&mut self, task: EndedTask<'_>, outputs: impl FnOnce(&mut TensorSink)) {
        let base = self.sink.top();
        self.sink.restore(task.words);
        let (end, parent) = (self.now(), self.parent);
        let step = self.next_step;
        self.next_step += 1;
        self.sink.begin_outputs();
        let inputs_end = self.sink.top();
        outputs(&mut self.sink);
        let mut outcome = task.outcome;
        if self.sink.has_failed() {
            self.sink.cut(inputs_end);
            outcome = Outcome::Error;
        }
        self.frames.push(Frame {
            start: task.start,
            base: base as u32,
            step,
            parent: NO_PARENT,
            opened_by: OpenedBy::Guard,
            extra: Some(Box::new(RawExtra { step, ..task.extra })),
        });
        self.close(end, outcome);
        self.parent = parent;
    }
}

/// What stood around an op before [`TraceRecorder::link`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Linked {
    parent: u32,
    link: Option<OpRef>,
    generation: u32,
}

/// A task that has run to its end, or been dropped before.
pub(super) struct EndedTask<'a> {
    pub(super) words: &'a [usize],
    pub(super) start: u64,
    pub(super) outcome: Outcome,
    pub(super) extra: RawExtra,
}

impl Default for TraceRecorder {
    fn default() -> Self {
        TraceRecorder::new()
    }
}

impl Target {
    fn new(
        clock: Clock,
        base: u64,
        shared: Arc<Shared>,
        log: Arc<ThreadLog>,
        owned: bool,
    ) -> Target {
        Target {
            clock,
            base,
            sample: shared.sample,
            shared,
            log,
            // Has no rows, so the first op asks for a real one.
            chunk: Arc::new(Chunk::with_rows(0)),
            next_rows: FIRST_ROWS,
            full: false,
            owned,
            seen_of_site: Vec::new(),
            names: HashMap::new(),
        }
    }

    fn number_of(&mut self, operation: String) -> u32 {
        match self.names.get(&operation) {
            Some(&number) => number,
            None => {
                let number = self.shared.signatures.name(&operation);
                self.names.insert(operation, number);
                number
            }
        }
    }

    /// Whether sampling leaves out this execution. The first of each site is always recorded.
    #[cold]
    fn leaves_out(&mut self, op: u32) -> bool {
        let op = op as usize;
        if op >= self.seen_of_site.len() {
            self.seen_of_site.resize(op + 1, 0);
        }
        let seen = self.seen_of_site[op];
        self.seen_of_site[op] = (seen + 1) % self.sample;
        if seen != 0 {
            self.log.sampled_out.fetch_add(1, Ordering::Relaxed);
        }
        seen != 0
    }

    #[cold]
    #[inline(never)]
    fn push_to_new_chunk(&mut self, row: Row) -> bool {
        if self.full || !self.shared.take_room(self.next_rows) {
            self.full = true;
            return false;
        }
        self.chunk = Arc::new(Chunk::with_rows(self.next_rows));
        self.log.add_chunk(self.chunk.clone());
        self.next_rows = (self.next_rows * 2).min(MAX_ROWS);
        self.chunk.push(row)
    }

    #[cold]
    fn drop_row(&mut self) {
        self.log.dropped.fetch_add(1, Ordering::Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn add_extra(&mut self, row: &mut Row, extra: RawExtra) {
        row.extra = true;
        self.log.add_extra(extra);
    }

    /// The entries of this thread past the first so many, in the order in which they ended.
    fn entries_since(&self, covered: usize) -> Vec<RecordedTraceEntry> {
        let rows = self.log.since(covered);
        self.shared
            .signatures
            .with(|known| entries_of(rows, known, self.clock.scale(self.base)))
    }

    fn store(&self, rows: ThreadRows) -> TraceStore {
        let mut metadata = HashMap::new();
        let dropped = self.log.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            metadata.insert("dropped".to_owned(), dropped.to_string());
        }
        let interner = self.shared.signatures.with(|known| known.clone());
        assemble(vec![rows], interner, self.clock.scale(self.base), metadata)
    }
}

//! The per-thread writer: opens and closes ops, and appends a row for each that closes.

mod frames;
mod guarded;
#[cfg_attr(not(feature = "alloc"), path = "no_heap.rs")]
mod heap;
mod open_ops;
mod suspended;
mod tasks;

pub(crate) use guarded::{abandon, begin, begin_sync, end};
#[cfg(feature = "alloc")]
pub(crate) use heap::Mark;
pub(crate) use open_ops::OpId;
pub(crate) use tasks::{EndedTask, LabelScope, Linked};

use crate::Outcome;
use crate::describe::Describe;
use crate::engine::chunk::{LONG_DURATION, NO_PARENT, Steps, facts, facts_with_extra};
use crate::engine::clock::Clock;
use crate::engine::failures::is_failure;
use crate::engine::labels::{LabelNumber, Labels, NO_LABEL};
use crate::engine::local::CLOSED;
use crate::engine::log::Shared;
use crate::engine::rows::{OpRef, RawExtra};
use crate::engine::signatures::{FILTERED, REFUSED};
use crate::engine::sink::{NOWHERE, OpWords, TensorSink};
use crate::engine::site::{Site, Sites};
use crate::engine::state;
use crate::engine::target::{Recorded, Target};
use crate::site_name::SiteName;
use open_ops::{OpenOp, OpenOps};
use std::cell::Cell;
use std::sync::Arc;
use suspended::Suspended;

/// Records the ops of one thread: for a session, or on its own.
///
/// Ops opened by [`begin_op`](Self::begin_op) are flat: the next `begin_op` ends them. Ops opened by
/// [`begin_nested`](Self::begin_nested) stay open until they are ended, and ops that begin in between are inside them.
#[derive(Debug)]
pub struct Recorder {
    /// The value of `state::STATE` when the target was chosen.
    pub(crate) seen: u32,
    /// True if the thread is ending and its recorder has been freed: its ops are then counted, not recorded.
    pub(crate) is_gone: bool,
    /// The id of the op that begins next.
    next_id: Cell<OpId>,
    open: OpenOps,
    /// The open ops that need more than an [`OpenOp`].
    unusual: Vec<Unusual>,
    suspended: Vec<Suspended>,
    /// The op of another thread or task that is the parent of this thread's outermost ops.
    link: Option<OpRef>,
    clock: Clock,
    target: Option<Box<Target>>,
    /// The sites of the label scope that the thread is in.
    sites: Sites,
    labels: Labels,
    /// The label of the scope that the thread is in.
    label: LabelNumber,
    pub(crate) sink: TensorSink,
    /// The extras of ops that are open.
    extras: Vec<RawExtra>,
}

/// An open op that does not end on the short path.
#[derive(Debug)]
struct Unusual {
    id: OpId,
    words: OpWords,
    has_extra: bool,
    opened_by: OpenedBy,
    /// The row of the op is written, but an op inside it is still open.
    has_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenedBy {
    Guard,
    BeginOp,
    BeginNested,
}

/// An op that ends now.
#[derive(Debug, Clone, Copy)]
struct Ending {
    start: u64,
    end: u64,
    steps: Steps,
    has_extra: bool,
    outcome: Outcome,
}

impl Recorder {
    /// A recorder that belongs to no session.
    pub fn with_clock(mut clock: Clock, thread: Option<u64>) -> Recorder {
        let mut recorder = Recorder::idle();
        recorder.target = Some(Box::new(Target::of_its_own(clock.base(), thread)));
        recorder.clock = clock;
        recorder.next_id = first_id();
        recorder
    }

    /// A recorder that records nothing yet.
    pub const fn idle() -> Recorder {
        Recorder {
            seen: 0,
            is_gone: false,
            next_id: Cell::new(0),
            open: OpenOps::new(),
            unusual: Vec::new(),
            suspended: Vec::new(),
            link: None,
            clock: Clock::stopped(),
            target: None,
            sites: Sites::new(),
            labels: Labels::new(),
            label: NO_LABEL,
            sink: TensorSink::new(),
            extras: Vec::new(),
        }
    }

    /// Makes this the recorder of a thread in a session; with `None`, a recorder that records nothing.
    pub(crate) fn attach(&mut self, session: Option<state::Running>) {
        *self = Recorder {
            seen: self.seen,
            is_gone: self.is_gone,
            ..Recorder::idle()
        };
        if let Some(running) = session {
            self.clock = running.clock.clone();
            let target = Box::new(Target::of_session(running));
            self.open.publish_in(target.open_slot());
            self.target = Some(target);
            self.next_id = first_id();
        }
    }

    /// True if this recorder is part of that session.
    pub fn is_of(&self, session: Option<&Arc<Shared>>) -> bool {
        match (self.session(), session) {
            (Some(ours), Some(session)) => Arc::ptr_eq(ours, session),
            (None, None) => true,
            _ => false,
        }
    }

    /// True if it belongs to no session.
    pub(crate) fn is_its_own(&self) -> bool {
        self.target
            .as_ref()
            .is_some_and(|target| target.is_its_own())
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.target.is_some()
    }

    pub fn session(&self) -> Option<&Arc<Shared>> {
        self.target.as_ref().map(|target| target.shared())
    }

    /// A number that differs between any two recordings of the process.
    pub fn generation(&self) -> u32 {
        (self.next_id.get() >> 32) as u32
    }

    /// A copy of this thread's rows after the first `covered`, in the order in which they ended.
    pub fn rows_since(&self, covered: usize) -> Option<Recorded> {
        let target = self.target.as_ref()?;
        Some(target.rows_since(covered, &self.clock))
    }

    /// Ends recording. Ops that are still open end now. None if it never recorded.
    pub fn finish(mut self) -> Option<Recorded> {
        self.end_frames_above(0, Outcome::Ok);
        Some(self.target.take()?.into_rows(&self.clock))
    }

    /// Ops of this thread that have begun and not ended.
    pub fn open_ops(&self) -> u64 {
        let open = (1..=self.open.len()).filter_map(|index| self.open.get(index));
        (open.filter(|op| op.is_op()).count() + self.suspended.len()) as u64
    }

    /// Frees the memory that the recorder of a finished session still has.
    pub fn detach(&mut self) {
        self.attach(None);
    }

    /// Counts an op that runs after the recorder of its thread was freed.
    #[cold]
    fn count_if_gone(&self) {
        if self.is_gone {
            state::count_unreachable();
        }
    }

    #[inline]
    pub(crate) fn now(&mut self) -> u64 {
        self.clock.now()
    }

    /// The value of `STATE` for which ops may take the short path; [`CLOSED`] if they must take the long one.
    pub(crate) fn phase(&self) -> u32 {
        let needs_extra = self.link.is_some() && self.open.innermost_step() == NO_PARENT;
        if self.is_plain() && !needs_extra {
            self.seen
        } else {
            CLOSED
        }
    }

    /// True if every op is recorded, and no more than its row, by a clock that the short path can read.
    fn is_plain(&self) -> bool {
        self.clock.is_shared()
            && self
                .target
                .as_ref()
                .is_some_and(|target| !target.is_careful())
    }

    /// Number of ops that have begun.
    fn next_step(&self) -> u64 {
        u64::from(self.next_id.get() as u32)
    }

    /// The label of an op that begins.
    #[inline]
    fn label_of(&mut self, inputs: &mut impl Describe) -> Option<LabelNumber> {
        let Some(target) = self.target.as_ref() else {
            self.count_if_gone();
            return None;
        };
        let (labels, scope) = (&mut self.labels, self.label);
        let room = &target.shared().room;
        let label = inputs.label(|text| labels.number(scope, text, room));
        Some(label.unwrap_or(scope))
    }

    /// Lets the inputs of an op describe themselves; `None` if the op is not recorded.
    fn begin_words(
        &mut self,
        site: Site<impl SiteName>,
        label: LabelNumber,
        inputs: impl Describe,
    ) -> Option<()> {
        let (scope, next_step) = (self.label, self.next_step());
        let (labels, target) = (&mut self.labels, self.target.as_mut()?);
        let (elsewhere, path) = labels.sites_and_path(label);
        let sites = if label == scope {
            Some(&mut self.sites)
        } else {
            elsewhere
        };
        let known = sites
            .as_ref()
            .and_then(|sites| sites.at_first_look(site.key()));
        let op = match known {
            Some(op) => op,
            None => number_of_site(sites, target, &self.sink, (site, path)),
        };
        if op == FILTERED || (target.is_careful() && target.leaves_out(op, next_step)) {
            return None;
        }
        self.sink.begin(op);
        inputs.describe(&mut self.sink);
        Some(())
    }

    /// Opens an op whose inputs have been described. The start is stamped last: describing a large tensor is our cost,
    /// not the op's.
    fn open_op(&mut self, opened_by: OpenedBy) -> OpId {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        let (step, parent) = (id as u32, self.open.innermost_step());
        let has_extra = self.sink.has_meta() || (parent == NO_PARENT && self.link.is_some());
        if has_extra {
            self.open_extra(step, parent);
        }
        let words = self.sink.op_words();
        let is_usual =
            opened_by == OpenedBy::Guard && words.at != NOWHERE && !has_extra && self.is_plain();
        if !is_usual {
            self.unusual.push(Unusual {
                id,
                words,
                has_extra,
                opened_by,
                has_ended: false,
            });
        }
        let signature = self.signature_of_inputs();
        let (expected, start) = (self.sink.expected(words), self.clock.now());
        self.put_open(id, |op| {
            op.at.set(words.at);
            op.expected.set(expected);
            op.start.set(start);
            if !is_usual {
                op.make_unusual();
            }
        });
        if let Some(signature) = signature {
            self.open.publish(facts(0, signature, Outcome::Ok));
        }
        id
    }

    /// The signature of the inputs that have been described, if open ops are published.
    fn signature_of_inputs(&mut self) -> Option<u32> {
        let target = self.target.as_ref().filter(|_| self.open.is_published())?;
        self.sink
            .number_of_inputs(self.sink.op_words(), target.shared())
    }

    fn put_open(&mut self, id: OpId, set: impl FnOnce(&OpenOp)) {
        if self.open.next().is_none() {
            self.open.grow();
        }
        if let Some((op, index)) = self.open.next() {
            self.open.open((op, index), id);
            set(op);
        }
    }

    fn open_extra(&mut self, step: u32, parent: u32) {
        self.extras.push(RawExtra {
            step,
            parent: if parent == NO_PARENT { self.link } else { None },
            meta: self.sink.take_meta(),
            ..RawExtra::default()
        });
    }

    /// The words of an open op that have been described so far.
    fn words_of(&self, index: usize) -> OpWords {
        let Some(op) = self.open.get(index) else {
            return OpWords::known(NOWHERE, 0);
        };
        let unusual = self.unusual.iter().rfind(|unusual| unusual.id == op.id());
        unusual.map_or_else(
            || OpWords::known(op.at.get(), self.words_below(op.step())),
            |unusual| unusual.words,
        )
    }

    /// End of the words, on the stack, of the open ops that began before this step.
    fn words_below(&self, step: u32) -> u32 {
        let below = self
            .unusual
            .iter()
            .filter(|unusual| (unusual.id as u32) < step);
        below.map(|unusual| unusual.words.top()).max().unwrap_or(0)
    }

    /// Continues to describe an open op.
    fn resume(&mut self, index: usize) {
        let words = self.words_of(index);
        self.sink.resume(words);
        if index < self.open.len() {
            // The op ends before the ops inside it, whose words are above its own words.
            let words = self.sink.take_words();
            self.sink.set_top(self.words_below(NO_PARENT));
            self.sink.restore(&words);
        }
    }

    /// Appends an op whose inputs and outputs have been described, and removes it from the open ops.
    fn close(&mut self, index: usize, end: u64, outcome: Outcome) {
        let Some(op) = self.open.get(index) else {
            return;
        };
        let id = op.id();
        let (start, steps) = (
            op.start.get(),
            Steps::new(op.step(), self.open.step(index - 1)),
        );
        let unusual = self.unusual.iter().rposition(|unusual| unusual.id == id);
        let has_extra = unusual.is_some_and(|at| self.unusual[at].has_extra);
        self.append(Ending {
            start,
            end,
            steps,
            has_extra,
            outcome,
        });
        if index == self.open.len() {
            if let Some(at) = unusual {
                self.unusual.remove(at);
            }
            self.leave_heap(index);
            self.open.pop();
            self.pop_ended();
        } else {
            self.keep_ended(index, unusual);
        }
        self.sink.set_top(self.words_below(NO_PARENT));
    }

    /// Keeps an op among the open ops if an op inside it has not ended, until that one ends too.
    #[cold]
    fn keep_ended(&mut self, index: usize, unusual: Option<usize>) {
        if let Some(at) = unusual {
            self.unusual.remove(at);
        }
        if let Some(op) = self.open.get(index) {
            op.make_unusual();
            self.unusual.push(Unusual {
                id: op.id(),
                words: OpWords::known(NOWHERE, 0),
                has_extra: false,
                opened_by: OpenedBy::Guard,
                has_ended: true,
            });
        }
        if let Some(inside) = self.open.get(index + 1) {
            inside.make_unusual();
        }
    }

    /// Removes ops that had ended and were kept for an op inside them, which is removed now.
    fn pop_ended(&mut self) {
        while let Some(op) = self.open.get(self.open.len())
            && op.is_unusual()
            && let Some(at) = self
                .unusual
                .iter()
                .rposition(|unusual| unusual.id == op.id() && unusual.has_ended)
        {
            self.unusual.remove(at);
            self.leave_heap(self.open.len());
            self.open.pop();
        }
    }

    /// Appends the row of an op whose inputs and outputs have been described.
    fn append(&mut self, op: Ending) {
        let Some(target) = &mut self.target else {
            return;
        };
        let Some(signature) = self.sink.number(target.shared()) else {
            return self.drop_op(op);
        };
        let outcome = if self.sink.is_unusual() {
            unusual_outcome(&mut self.sink, target.shared(), signature, op.outcome)
        } else {
            op.outcome
        };
        let duration = op.end.saturating_sub(op.start);
        if target.is_careful() && target.is_too_short(duration) {
            return self.forget_extra(op);
        }
        if op.has_extra || duration >= LONG_DURATION {
            let mut extra = take_extra(&mut self.extras, op.steps.step());
            extra.duration = Some(duration);
            if extra.meta.iter().any(|(key, _)| is_failure(key)) {
                let shared = target.shared();
                shared
                    .failures
                    .take_from(&mut extra.meta, signature, &shared.signatures);
            }
            let facts = facts_with_extra(duration, signature, outcome);
            target.push_with_extra([op.start, facts, op.steps.0], extra);
        } else {
            let facts = facts(duration, signature, outcome);
            target.push([op.start, facts, op.steps.0]);
        }
    }

    /// Counts an op whose signature did not fit.
    #[cold]
    fn drop_op(&mut self, op: Ending) {
        self.forget_extra(op);
        if let Some(target) = &mut self.target {
            target.drop_row();
        }
    }

    fn forget_extra(&mut self, op: Ending) {
        if op.has_extra {
            take_extra(&mut self.extras, op.steps.step());
        }
    }
}

/// The id of the first op of a recording.
fn first_id() -> Cell<OpId> {
    Cell::new(u64::from(state::new_generation()) << 32)
}

/// The number of the op of a site with a label, if [`Sites::at_first_look`] does not find it.
#[cold]
#[inline(never)]
fn number_of_site(
    sites: Option<&mut Sites>,
    target: &Target,
    sink: &TensorSink,
    (site, label): (Site<impl SiteName>, &str),
) -> u32 {
    let Some(sites) = sites else {
        return REFUSED;
    };
    let key = site.key();
    let op = sites.find(key).unwrap_or_else(|| {
        let op = target.number_of_site(site, label);
        if op != REFUSED {
            sites.add(key, op);
        }
        op
    });
    if op == FILTERED || sink.latest_of(op).is_some_and(|latest| latest.at != 0) {
        sites.show(key);
    }
    op
}

/// The outcome of an op whose result is an error, or whose outputs could not be described.
#[cold]
#[inline(never)]
fn unusual_outcome(
    sink: &mut TensorSink,
    shared: &Shared,
    signature: u32,
    outcome: Outcome,
) -> Outcome {
    let mut meta = sink.take_meta();
    if !meta.is_empty() {
        shared
            .failures
            .take_from(&mut meta, signature, &shared.signatures);
    }
    if sink.has_failed() {
        Outcome::Error
    } else {
        outcome
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

//! Whether anything records: one word that every op reads, and the recorder of each thread.

use super::block::{HeldMemory, hold_memory};
use super::clock::Clock;
use super::failures;
use super::local::{CLOSED, Local};
use super::log::Shared;
use super::recorder::Recorder;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// 0 while nothing records. Otherwise a number that changes whenever a session starts or ends.
static STATE: AtomicU32 = AtomicU32::new(0);

static CONTROL: Mutex<Control> = Mutex::new(Control {
    is_claimed: false,
    session: None,
    locals: 0,
    changes: 0,
});

/// Ops that began while their thread's recorder was in use or already freed.
static UNREACHABLE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static LOCAL: Local = const { Local::new() };
    static EXIT: Exit = const { Exit };
    static THREAD_NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// Frees a thread's recorder when the thread ends. Its rows are in its log.
struct Exit;

impl Drop for Exit {
    fn drop(&mut self) {
        exchange(Recorder::idle());
    }
}

struct Control {
    /// True if there is a session. It may be waiting for its schedule, or paused.
    is_claimed: bool,
    /// The session that threads record for now.
    session: Option<Running>,
    /// Number of threads whose recorder belongs to no session.
    locals: u32,
    changes: u32,
}

/// The data that a thread needs to join the session.
#[derive(Debug, Clone)]
pub struct Running {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub base: u64,
    /// The only thread that records, by its number.
    pub only: Option<u64>,
}

impl Running {
    /// The same session with nothing recorded yet.
    pub fn with_fresh_logs(&self) -> Running {
        Running {
            shared: Arc::new(self.shared.fresh()),
            ..self.clone()
        }
    }
}

impl Control {
    fn lock() -> MutexGuard<'static, Control> {
        CONTROL.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&mut self) {
        // Skips 0 and the two phases that are not states.
        self.changes = ((self.changes + 1) % CLOSED).max(1);
        let on = self.session.is_some() || self.locals > 0;
        STATE.store(if on { self.changes } else { 0 }, Ordering::Release);
    }
}

/// True if any thread records; one relaxed load.
#[inline]
pub fn is_anyone_recording() -> bool {
    STATE.load(Ordering::Relaxed) != 0
}

/// The number of the current state; 0 while nothing records.
#[inline]
pub(crate) fn now() -> u32 {
    STATE.load(Ordering::Relaxed)
}

/// Makes the caller the process's only session, unless there is one.
pub fn claim() -> bool {
    let mut control = Control::lock();
    !std::mem::replace(&mut control.is_claimed, true)
}

/// Makes threads record for this session, or for nothing. Only the session that made the claim calls this.
pub fn run(running: Option<Running>) {
    if let Some(running) = &running {
        failures::quiet_hook();
        running.shared.prepare();
    }
    let mut control = Control::lock();
    control.session = running;
    control.publish();
}

/// Ends the claim, and recording with it.
pub fn release() {
    let mut control = Control::lock();
    control.is_claimed = false;
    control.session = None;
    control.publish();
}

/// Proves that code runs on one thread: it is on that thread's stack and cannot leave it.
pub(crate) struct ThisThread(PhantomData<*const ()>);

impl ThisThread {
    #[inline]
    pub(crate) fn new() -> ThisThread {
        ThisThread(PhantomData)
    }

    /// The recorder of this thread. `LocalKey::with` would pass it to a closure; the variables that a large closure
    /// captures would go through memory.
    #[inline]
    #[allow(unsafe_code, clippy::unused_self, reason = "see below")]
    pub(crate) fn local(&self) -> &Local {
        let local: *const Local = LOCAL.with(std::ptr::from_ref);
        // SAFETY: `LOCAL` has no destructor, so its memory is valid as long as the thread runs. The reference does not
        // outlive `self`, which is on the thread's stack, and does not leave the thread: neither of them is `Send`.
        unsafe { &*local }
    }
}

/// Runs `f` on this thread's recorder, if it records.
pub fn with_active<R>(f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
    with_joined(ThisThread::new().local(), |recorder| {
        recorder.is_on().then(|| f(recorder))
    })
}

/// Runs `f` on a thread's recorder after updating it to the running session. Counts an op if the recorder is in use.
pub(crate) fn with_joined<R>(
    local: &Local,
    f: impl FnOnce(&mut Recorder) -> Option<R>,
) -> Option<R> {
    let done = local.with(|recorder| {
        if recorder.seen != now() {
            join(recorder);
        }
        f(recorder)
    });
    if done.is_none() {
        UNREACHABLE.fetch_add(1, Ordering::Relaxed);
    }
    done.flatten()
}

/// Runs `f` on this thread's recorder without updating it first, to end ops that began there.
pub fn with_any<R>(f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
    ThisThread::new().local().with(f)
}

/// True if this thread's recorder is in use now: memory that it allocates is the tracer's, not the program's.
#[cfg(feature = "alloc")]
#[inline]
pub(crate) fn is_recorder_in_use() -> bool {
    ThisThread::new().local().is_busy()
}

/// True if the code of a user describes tensors on the short path of this thread.
pub(crate) fn is_describing() -> bool {
    ThisThread::new().local().is_describing()
}

/// Attaches a thread's recorder to the session that is running now.
#[cold]
#[inline(never)]
fn join(recorder: &mut Recorder) {
    let control = Control::lock();
    recorder.seen = STATE.load(Ordering::Relaxed);
    if recorder.is_its_own() {
        return;
    }
    // A recorder that is attached after `EXIT` has run would never be freed.
    let running = EXIT.try_with(|_| control.session.clone());
    recorder.is_gone = running.is_err() && control.session.is_some();
    let running = running.ok().flatten();
    drop(control);
    let running = running.filter(|running| running.only.is_none_or(|only| only == thread_number()));
    if !recorder.is_of(running.as_ref().map(|running| &running.shared)) {
        recorder.attach(running);
    }
}

/// Replaces this thread's recorder by `own` while `body` runs, and returns `own` afterwards.
pub fn replaced_while<R>(own: Recorder, body: impl FnOnce() -> R) -> (R, Recorder) {
    struct PutBack(Option<Recorder>);
    impl Drop for PutBack {
        fn drop(&mut self) {
            if let Some(outer) = self.0.take() {
                exchange(outer);
                count_locals(|locals| locals - 1);
            }
        }
    }
    failures::quiet_hook();
    let mut put_back = PutBack(exchange(own));
    count_locals(|locals| locals + 1);
    let result = body();
    let outer = put_back.0.take();
    count_locals(|locals| locals - 1);
    let own = outer.and_then(exchange).unwrap_or_else(Recorder::idle);
    (result, own)
}

fn exchange(recorder: Recorder) -> Option<Recorder> {
    with_any(|current| std::mem::replace(current, recorder))
}

fn count_locals(change: impl FnOnce(u32) -> u32) {
    let mut control = Control::lock();
    control.locals = change(control.locals);
    control.publish();
}

thread_local! {
    /// Held by the thread that forks. Otherwise another thread might hold a lock during the fork, and in the child,
    /// which does not have that thread, it would never be unlocked.
    static HELD: RefCell<Option<(MutexGuard<'static, Control>, HeldMemory)>> = const { RefCell::new(None) };
}

/// Called by the thread that forks, before it does.
pub fn before_fork() {
    let _ = HELD.try_with(|held| held.replace(Some((Control::lock(), hold_memory()))));
}

/// The parent or the child of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkSide {
    Parent,
    Child,
}

/// Called by the thread that has forked. A child leaves the session of its parent. Returns true if there was a session.
pub fn after_fork(side: ForkSide) -> bool {
    let held = HELD.try_with(RefCell::take).ok().flatten();
    let Some((mut control, memory)) = held.filter(|_| side == ForkSide::Child) else {
        return false;
    };
    drop(memory);
    let was_recording = control.is_claimed;
    control.is_claimed = false;
    control.session = None;
    // The thread that forked is the only one of the child.
    control.locals = u32::from(with_any(|recorder| recorder.is_its_own()).unwrap_or(false));
    if control.locals == 0 {
        // Not dropped: its chunk is in the ring of the parent.
        std::mem::forget(exchange(Recorder::idle()));
    }
    control.publish();
    was_recording
}

/// A number that differs from those of the last two billion recordings of this process.
pub fn new_generation() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    // 31 bits, and never 0.
    (NEXT.fetch_add(1, Ordering::Relaxed) & (u32::MAX >> 1)).max(1)
}

/// This thread's number: threads are counted from 1 as they first record.
pub fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    THREAD_NUMBER
        .try_with(|number| {
            if number.get() == 0 {
                number.set(NEXT.fetch_add(1, Ordering::Relaxed));
            }
            number.get()
        })
        .unwrap_or(0)
}

/// Counts an op whose thread has no recorder that can be used now.
pub(crate) fn count_unreachable() {
    UNREACHABLE.fetch_add(1, Ordering::Relaxed);
}

/// Runs `f` as if this thread's recorder were in use. Ops that run inside, such as those of a traced allocator, are
/// counted and not recorded, so they never wait for a lock that `f` holds.
pub fn undisturbed<R>(f: impl FnOnce() -> R) -> R {
    let mut f = Some(f);
    let done = with_any(|_| f.take().map(|f| f()));
    match (done.flatten(), f) {
        (Some(result), _) => result,
        // The recorder is in use already.
        (None, Some(f)) => f(),
        (None, None) => unreachable!("`f` has run, so there is a result"),
    }
}

/// Number of ops since the start of the process that could not be recorded because their thread's recorder could not be
/// used.
pub fn unreachable_ops() -> u64 {
    UNREACHABLE.load(Ordering::Relaxed)
}

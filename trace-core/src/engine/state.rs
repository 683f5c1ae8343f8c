//! Whether anything records: one word that every op reads, and the recorder of each thread.

use super::clock::Clock;
use super::log::Shared;
use super::recorder::Recorder;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// 0 while nothing records anywhere; else a number that changes whenever what a thread records for may have changed.
static STATE: AtomicU32 = AtomicU32::new(0);

static CONTROL: Mutex<Control> = Mutex::new(Control {
    is_claimed: false,
    session: None,
    locals: 0,
    changes: 0,
});

/// Ops that began while their thread's recorder was in use or already gone.
static UNREACHABLE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Without a destructor, which would be checked on every access: [`EXIT`] has it.
    static RECORDER: RefCell<ManuallyDrop<Recorder>> =
        const { RefCell::new(ManuallyDrop::new(Recorder::idle())) };
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
    /// There is a session. It may be waiting for its schedule, or paused.
    is_claimed: bool,
    /// The session that threads record for now.
    session: Option<Running>,
    /// Threads that record for themselves.
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
        self.changes = self.changes.wrapping_add(1).max(1);
        let on = self.session.is_some() || self.locals > 0;
        STATE.store(if on { self.changes } else { 0 }, Ordering::Release);
    }
}

/// Whether any thread records; one relaxed load.
#[inline]
pub fn is_anyone_recording() -> bool {
    STATE.load(Ordering::Relaxed) != 0
}

/// Makes the caller the process's only session, unless there is one.
pub fn claim() -> bool {
    let mut control = Control::lock();
    !std::mem::replace(&mut control.is_claimed, true)
}

/// Makes threads record for this session, or for nothing. Only the session that made the claim calls this.
pub fn run(running: Option<Running>) {
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

/// Runs `f` on this thread's recorder, if it records.
pub fn with_active<R>(f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
    with_joined(|recorder| recorder.is_on().then(|| f(recorder)))
}

/// Runs `f` on this thread's recorder after updating it to the running session.
#[inline]
pub fn with_joined<R>(f: impl FnOnce(&mut Recorder) -> Option<R>) -> Option<R> {
    RECORDER
        .try_with(|cell| {
            let Ok(mut recorder) = cell.try_borrow_mut() else {
                UNREACHABLE.fetch_add(1, Ordering::Relaxed);
                return None;
            };
            if recorder.seen != STATE.load(Ordering::Relaxed) {
                join(&mut recorder);
            }
            f(&mut recorder)
        })
        .unwrap_or(None)
}

/// Runs `f` on this thread's recorder without updating it first, to end what began there.
#[inline]
pub fn with_any<R>(f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
    let ran = RECORDER.try_with(|cell| {
        cell.try_borrow_mut()
            .ok()
            .map(|mut recorder| f(&mut recorder))
    });
    ran.ok().flatten()
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
    let running = EXIT.try_with(|_| control.session.clone()).ok().flatten();
    drop(control);
    let running = running.filter(|running| running.only.is_none_or(|only| only == thread_number()));
    if !recorder.is_of(running.as_ref().map(|running| &running.shared)) {
        recorder.attach(running);
    }
}

/// Puts a recorder of its own in place of this thread's while `body` runs, and returns it.
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

/// A number that no other recording of this process has.
pub fn new_generation() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
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

/// Ops that could not be recorded because their thread's recorder was out of reach, ever.
pub fn unreachable_ops() -> u64 {
    UNREACHABLE.load(Ordering::Relaxed)
}

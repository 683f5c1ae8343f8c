//! A session's recording of the heap, and the slots of its threads.

use super::changes::{Change, Changes};
use super::contexts::{Context, Contexts, OUTSIDE};
use super::counters::{Counters, Counts};
use super::{ON, SAMPLED, TRACER, owner, sampling, shadow, thread, tracer};
use crate::engine::clock::Clock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The data that the threads of one recording share.
#[derive(Debug)]
pub(super) struct HeapSession {
    /// The value of [`ON`] while it records.
    pub(super) number: u32,
    pub(super) contexts: Contexts,
    pub(super) changes: Changes,
    pub(super) clock: Clock,
    /// The only thread that is recorded, by its number.
    only: Option<u64>,
    /// Bytes per recorded block, on average; 0 if every block is recorded.
    sampled_every: u64,
}

impl HeapSession {
    pub(super) fn records(&self, thread: u64) -> bool {
        self.only.is_none_or(|only| only == thread)
    }
}

/// The counters of one thread. A slot is used again when its thread has ended, and never freed: a thread may still
/// write to it when its session is over.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) index: u16,
    is_taken: AtomicBool,
    /// The recording that the counters belong to.
    number: AtomicU32,
    pub(super) counters: Counters,
    /// Counts the ops of all threads that used the slot, so that the slot and this number identify the op of a block.
    pub(super) next_op: AtomicU32,
    session: Mutex<Option<Arc<HeapSession>>>,
    /// Blocks that could not be recorded: there is no memory for their owner, or no room for their address.
    pub(super) unrecorded: AtomicU64,
}

/// A block's owner has 12 bits for its slot.
const MAX_SLOTS: usize = 1 << 12;

static SLOTS: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());
static SESSION: Mutex<Option<Arc<HeapSession>>> = Mutex::new(None);
static SHARED_SLOT: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    fn new(index: usize) -> &'static Slot {
        Box::leak(Box::new(Slot {
            index: index as u16,
            is_taken: AtomicBool::new(true),
            number: AtomicU32::new(0),
            counters: Counters::new(),
            next_op: AtomicU32::new(1),
            session: Mutex::new(None),
            unrecorded: AtomicU64::new(0),
        }))
    }

    fn prepare(&self, session: &Arc<HeapSession>) {
        if self.number.load(Ordering::Relaxed) != session.number {
            self.counters.reset();
            self.unrecorded.store(0, Ordering::Relaxed);
            *lock(&self.session) = Some(session.clone());
            self.number.store(session.number, Ordering::Relaxed);
        }
        self.counters.add(OUTSIDE);
    }

    pub(super) fn session(&self) -> Option<Arc<HeapSession>> {
        lock(&self.session).clone()
    }

    /// Lets another thread use the slot.
    pub(super) fn release(&self) {
        self.is_taken.store(false, Ordering::Release);
    }
}

/// A slot for a thread that joins the recording; `None` if it is not recorded, or there are too many threads.
pub(super) fn slot_for(thread: u64) -> Option<&'static Slot> {
    let session = lock(&SESSION).clone()?;
    if !session.records(thread) {
        return None;
    }
    let mut slots = lock(&SLOTS);
    // The first slot is shared by threads that have none.
    let is_free = |slot: &&&'static Slot| {
        slot.is_taken
            .compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    };
    let slot = match slots.iter().skip(1).find(is_free) {
        Some(slot) => *slot,
        None if slots.len() < MAX_SLOTS => {
            let slot = Slot::new(slots.len());
            slots.push(slot);
            slot
        }
        None => return None,
    };
    slot.prepare(&session);
    Some(slot)
}

pub(super) fn is_recorded(thread: u64) -> bool {
    let session = lock(&SESSION);
    session
        .as_ref()
        .is_some_and(|session| session.records(thread))
}

/// Bytes per recorded block, on average; 0 if every block is recorded.
pub(super) fn sampled_every() -> u64 {
    let session = lock(&SESSION);
    session.as_ref().map_or(0, |session| session.sampled_every)
}

/// Runs `f` on the slot of threads that have none: they have ended already, or there are too many.
pub(super) fn with_shared_slot(f: impl FnOnce(&'static Slot)) {
    let slot = lock(&SLOTS).first().copied();
    if let Some(slot) = slot {
        let _one_at_a_time = lock(&SHARED_SLOT);
        f(slot);
    }
}

/// Begins to record the heap: every block, or one block per `sampled_every` bytes on average if that is not 0. Returns
/// false and records nothing if the program does not use `TracedAlloc`.
pub fn begin(clock: &Clock, only: Option<u64>, sampled_every: u64) -> bool {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread::as_tracer(|| {
        tracer::reset();
        let mut number = (NEXT.fetch_add(1, Ordering::Relaxed) & !SAMPLED).max(1);
        if sampled_every > 0 {
            number |= SAMPLED;
            sampling::clear();
        }
        if owner::tag_of(number) == owner::FIRST_TAG {
            // Tags are counted from 1 again, so words of earlier recordings would look like words of this one.
            shadow::clear();
        }
        let session = Arc::new(HeapSession {
            number,
            contexts: Contexts::default(),
            changes: Changes::new(),
            clock: clock.clone(),
            only,
            sampled_every,
        });
        let mut slots = lock(&SLOTS);
        if slots.is_empty() {
            slots.push(Slot::new(0));
        }
        slots[0].prepare(&session);
        drop(slots);
        *lock(&SESSION) = Some(session);
        ON.store(number, Ordering::Release);
    });
    let is_installed = thread::is_installed();
    if !is_installed {
        drop(finish());
    }
    is_installed
}

/// The counts so far, added up over all contexts and threads. Exact while no other thread allocates.
pub fn totals() -> Counts {
    let mut sum = Counts::default();
    let Some(number) = lock(&SESSION).as_ref().map(|session| session.number) else {
        return sum;
    };
    for slot in lock(&SLOTS).iter() {
        if slot.number.load(Ordering::Relaxed) == number {
            slot.counters.add_up(&mut sum);
        }
    }
    tracer::add_to(&mut sum);
    sum
}

/// The heap as a session recorded it.
#[derive(Debug, Default)]
pub struct HeapRecord {
    /// The first has the number 3: see [`OUTSIDE`] and its neighbours.
    pub contexts: Vec<Context>,
    /// By the number of the context.
    pub counts: Vec<Counts>,
    /// In the order of their times.
    pub changes: Vec<Change>,
    /// Blocks that could not be recorded.
    pub unrecorded: u64,
    /// Bytes per recorded block, on average; the figures are estimates then. 0 if they are exact.
    pub sampled_every: u64,
}

/// Ends recording. `None` if the heap is not being recorded.
pub fn finish() -> Option<HeapRecord> {
    thread::as_tracer(|| {
        let session = lock(&SESSION).take()?;
        ON.store(0, Ordering::Release);
        let at = session.clock.clone().now();
        let contexts = session.contexts.take();
        let mut counts = vec![Counts::default(); contexts.len() + 3];
        let mut unrecorded = 0;
        for slot in lock(&SLOTS).iter() {
            if slot.number.load(Ordering::Relaxed) != session.number {
                continue;
            }
            *lock(&slot.session) = None;
            slot.counters.add_to(&mut counts);
            unrecorded += slot.unrecorded.load(Ordering::Relaxed);
            session.changes.log((0..counts.len()).filter_map(|context| {
                let bytes = slot.counters.get(context as u16)?.change_to_log();
                Some(Change {
                    at,
                    context: context as u16,
                    bytes,
                })
            }));
        }
        if session.sampled_every > 0 {
            counts.iter_mut().for_each(Counts::in_blocks);
        }
        tracer::add_to(&mut counts[usize::from(TRACER)]);
        Some(HeapRecord {
            contexts,
            counts,
            changes: session.changes.take(),
            unrecorded,
            sampled_every: session.sampled_every,
        })
    })
}

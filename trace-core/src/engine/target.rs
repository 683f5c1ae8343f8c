//! The destination of a recorder's rows: the chunks of its thread's log.

use super::chunk::{Chunk, MAX_ROWS, NO_PARENT, PackedRow, Steps};
use super::clock::Clock;
use super::extra_words;
use super::log::{Shared, ThreadLog};
use super::open_slot::OpenSlot;
use super::rows::{RawExtra, ThreadRows};
use super::signatures::{FILTERED, REFUSED};
use super::site::{Site, Sites};
use super::state::{self, Running};
use super::storage::Storage;
use super::ticks::TickScale;
use crate::site_name::SiteName;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The destination of a recorder's rows.
#[derive(Debug)]
pub(crate) struct Target {
    chunk: Current,
    /// True if some ops are not recorded: because of sampling, a filter, or because the steps run out.
    is_careful: bool,
    sample: u32,
    /// Shorter executions are left out.
    min_ticks: u64,
    shared: Arc<Shared>,
    log: Arc<ThreadLog>,
    base: u64,
    next_rows: usize,
    is_full: bool,
    is_its_own: bool,
    /// By op number, the number of executions since the last recorded one.
    left_out: Vec<u32>,
    names: HashMap<String, u32>,
}

/// A row has 32 bits for its step, and the last number means no parent.
const LAST_STEP: u64 = NO_PARENT as u64;
/// Bytes of a name in a thread's table, without its text.
const NAME_BYTES: usize = 96;
/// A thread's chunks grow from this to the largest: so threads with few ops need little memory.
const FIRST_ROWS: usize = 64;
/// The default of the memory limit, in bytes.
pub const DEFAULT_LIMIT: usize = 1 << 30;

impl Target {
    /// For a recorder that belongs to no session.
    pub(crate) fn of_its_own(base: u64, thread: Option<u64>) -> Target {
        let shared = Arc::new(Shared::new(DEFAULT_LIMIT, None, 1));
        let log = shared.add_log(thread, None);
        Target {
            is_its_own: true,
            ..Target::new(base, shared, log)
        }
    }

    /// For this thread's recorder in a session.
    pub(crate) fn of_session(running: Running) -> Target {
        let name = std::thread::current().name().map(str::to_owned);
        let log = running.shared.add_log(Some(state::thread_number()), name);
        let min_ticks = running.clock.ticks_in(running.shared.filter.min_ns());
        Target {
            min_ticks,
            ..Target::new(running.base, running.shared, log)
        }
    }

    fn new(base: u64, shared: Arc<Shared>, log: Arc<ThreadLog>) -> Target {
        Target {
            chunk: Current::none(shared.storage.clone()),
            is_careful: shared.sample > 1 || shared.filter.min_ns() > 0,
            min_ticks: 0,
            sample: shared.sample,
            shared,
            log,
            base,
            next_rows: FIRST_ROWS,
            is_full: false,
            is_its_own: false,
            left_out: Vec::new(),
            names: HashMap::new(),
        }
    }

    pub(crate) fn is_its_own(&self) -> bool {
        self.is_its_own
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The slot in which the thread's open ops are published, if there is one.
    pub(crate) fn open_slot(&self) -> Option<OpenSlot> {
        OpenSlot::new(self.shared.storage.as_ref()?, self.log.uid)
    }

    pub(crate) fn uid(&self) -> u32 {
        self.log.uid
    }

    /// The number of an op that is named at run time.
    pub(crate) fn number_of(&mut self, operation: String) -> u32 {
        if let Some(&number) = self.names.get(&operation) {
            return number;
        }
        let shared = &self.shared;
        let number = shared.signatures.op(&operation, None, None, &shared.room);
        if number != REFUSED && shared.room.take(NAME_BYTES + operation.capacity()) {
            self.names.insert(operation, number);
        }
        number
    }

    /// The number of the op of a site with a label, which is empty for none. [`REFUSED`] if it does not fit.
    pub(crate) fn number_of_site(&self, site: Site<impl SiteName>, label: &str) -> u32 {
        let operation = site.operation();
        let shared = &self.shared;
        if !shared.filter.keeps(&operation.name, operation.module) {
            return FILTERED;
        }
        let location = Some(operation.location).filter(|location| !location.is_empty());
        let op = shared
            .signatures
            .op(&operation.name, operation.kind, location, &shared.room);
        if label.is_empty() || op == REFUSED {
            return op;
        }
        if !shared.room.take(Sites::SITE_BYTES) {
            return REFUSED;
        }
        shared.signatures.labelled(op, label, &shared.room)
    }

    #[inline]
    pub(crate) fn is_careful(&self) -> bool {
        self.is_careful
    }

    /// True if this execution is not recorded: sampling leaves it out, or there are no steps left. The
    /// first execution of each op is always recorded.
    #[cold]
    pub(crate) fn leaves_out(&mut self, op: u32, next_step: u64) -> bool {
        if is_exhausted(next_step) {
            self.drop_row();
            return true;
        }
        if self.sample == 1 || op == REFUSED {
            return false;
        }
        let op = op as usize;
        if op >= self.left_out.len() {
            self.left_out.resize(op + 1, 0);
        }
        let left_out = self.left_out[op];
        self.left_out[op] = (left_out + 1) % self.sample;
        if left_out != 0 {
            self.log.sampled_out.fetch_add(1, Ordering::Relaxed);
        }
        left_out != 0
    }

    /// True if an execution is too short for the filter. It is counted then.
    #[cold]
    pub(crate) fn is_too_short(&mut self, duration: u64) -> bool {
        let is_too_short = duration < self.min_ticks;
        if is_too_short {
            self.log.filtered_out.fetch_add(1, Ordering::Relaxed);
        }
        is_too_short
    }

    /// Appends a row if the chunk has room for it.
    #[inline]
    pub(crate) fn push_here(&self, row: PackedRow) -> bool {
        self.chunk.rows.push_packed(row)
    }

    /// Appends a row, or counts it if there is no room.
    pub(crate) fn push(&mut self, [start, facts, steps]: PackedRow) {
        if !self.chunk.rows.push_packed([start, facts, steps]) {
            self.push_to_new_chunk(start, facts, steps);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_to_new_chunk(&mut self, start: u64, facts: u64, steps: u64) {
        // Checked here, well before the end, to keep it off the hot path.
        self.is_careful |= u64::from(Steps(steps).step()) > LAST_STEP / 2;
        if self.add_chunk() {
            self.chunk.rows.push_packed([start, facts, steps]);
        } else {
            self.drop_row();
        }
    }

    /// Continues in a new chunk; false if the memory limit is reached, or the storage has no room now.
    fn add_chunk(&mut self) -> bool {
        if self.chunk.storage.is_some() {
            return self.chunk.renew(self.log.uid);
        }
        if self.is_full || !self.shared.room.take(Chunk::bytes(self.next_rows)) {
            self.is_full = true;
            return false;
        }
        self.chunk.rows = Arc::new(Chunk::with_rows(self.next_rows));
        self.log.add_chunk(self.chunk.rows.clone());
        self.next_rows = (self.next_rows * 2).min(MAX_ROWS);
        true
    }

    /// Appends a row and its extra: both, or neither if one does not fit. The extra comes first, so that no reader
    /// finds the row without it.
    pub(crate) fn push_with_extra(&mut self, row: PackedRow, extra: RawExtra) {
        if self.chunk.storage.is_some() {
            return self.push_into_storage(row, &extra);
        }
        let has_room = (!self.chunk.rows.is_full() || self.add_chunk())
            && self.shared.room.take(extra.bytes());
        if has_room {
            self.log.add_extra(extra);
            self.push(row);
        } else {
            self.drop_row();
        }
    }

    /// [`push_with_extra`](Self::push_with_extra) for a storage in which an extra is in the chunk of its row.
    fn push_into_storage(&mut self, row: PackedRow, extra: &RawExtra) {
        if self.chunk.rows.is_full() && !self.add_chunk() {
            return self.drop_row();
        }
        let words = extra_words::encode(extra, self.chunk.rows.extra_capacity());
        // Tries the rest of this chunk first, then a new one.
        let has_room = self.chunk.rows.push_extra(&words)
            || (self.add_chunk() && self.chunk.rows.push_extra(&words));
        if has_room {
            self.push(row);
        } else {
            self.drop_row();
        }
    }

    #[cold]
    pub(crate) fn drop_row(&mut self) {
        self.log.dropped.fetch_add(1, Ordering::Relaxed);
        if let Some(storage) = &self.shared.storage {
            storage.count_dropped();
        }
    }

    /// A copy of this thread's rows after the first `covered`.
    pub(crate) fn rows_since(&self, covered: usize, clock: &Clock) -> Recorded {
        self.recorded(self.log.since(covered), clock)
    }

    /// The rows of this thread: moved out if the recorder belongs to no session, else copied, because the session
    /// needs them for its own trace.
    pub(crate) fn into_rows(self, clock: &Clock) -> Recorded {
        let rows = if self.is_its_own {
            self.log.take()
        } else {
            self.log.copy()
        };
        self.recorded(rows, clock)
    }

    fn recorded(&self, rows: ThreadRows, clock: &Clock) -> Recorded {
        Recorded {
            rows,
            shared: self.shared.clone(),
            scale: clock.scale(self.base),
            dropped: self.log.dropped.load(Ordering::Relaxed),
        }
    }
}

/// The chunk that a thread appends to, which goes back to its storage when it is full or the thread is done.
#[derive(Debug)]
struct Current {
    rows: Arc<Chunk>,
    storage: Option<Arc<dyn Storage>>,
}

impl Current {
    /// A chunk without room for rows, so the first op requests a real one.
    fn none(storage: Option<Arc<dyn Storage>>) -> Current {
        Current {
            rows: Arc::new(Chunk::with_rows(0)),
            storage,
        }
    }

    fn renew(&mut self, log: u32) -> bool {
        self.seal();
        let chunk = self.storage.as_ref().and_then(|storage| storage.chunk(log));
        let has_room = chunk.is_some();
        if let Some(chunk) = chunk {
            self.rows = Arc::new(chunk);
        }
        has_room
    }

    /// Returns the chunk to the storage; another thread may then use its block.
    fn seal(&mut self) {
        if let Some(storage) = &self.storage
            && self.rows.is_in_region()
        {
            let rows = std::mem::replace(&mut self.rows, Arc::new(Chunk::with_rows(0)));
            storage.seal(&rows);
        }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.seal();
    }
}

/// Rows of one thread, and the tables that they refer to.
#[derive(Debug)]
pub struct Recorded {
    pub rows: ThreadRows,
    /// Has the signatures that rows refer to.
    pub shared: Arc<Shared>,
    pub scale: TickScale,
    /// Ops that were not recorded because there was no room.
    pub dropped: u64,
}

/// True if all step numbers that fit into a row are used.
pub(crate) fn is_exhausted(next_step: u64) -> bool {
    next_step >= LAST_STEP
}

//! Where a recorder's rows go: the chunks of its thread's log.

use super::clock::Clock;
use super::log::{Shared, ThreadLog};
use super::site::{KindCode, Site, Sites};
use super::state::{self, Running};
use crate::model::assemble::{RawExtra, ThreadRows, assemble, entries_of};
use crate::model::chunk::{Chunk, MAX_ROWS, NO_PARENT, PackedRow, Steps};
use crate::model::{RecordedTraceEntry, TraceStore};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where a recorder's rows go.
#[derive(Debug)]
pub(super) struct Target {
    chunk: Arc<Chunk>,
    /// Something stands between an op and being recorded: sampling, or the end of the steps.
    is_careful: bool,
    sample: u32,
    shared: Arc<Shared>,
    log: Arc<ThreadLog>,
    base: u64,
    next_rows: usize,
    is_full: bool,
    is_its_own: bool,
    /// By the number of the op, how many executions of it came since the last that was recorded.
    left_out: Vec<u32>,
    names: HashMap<String, u32>,
}

/// A row has 32 bits for its step, and the last number stands for no parent.
const LAST_STEP: u64 = NO_PARENT as u64;
/// A thread's chunks grow from this to the largest: short threads stay small.
const FIRST_ROWS: usize = 64;
/// What may be filled before rows are dropped and counted, unless somebody says otherwise.
pub(super) const DEFAULT_LIMIT: usize = 1 << 30;

impl Target {
    /// For a recorder that belongs to no session.
    pub(super) fn of_its_own(base: u64, thread: Option<u64>) -> Target {
        let shared = Arc::new(Shared::new(DEFAULT_LIMIT, None, 1));
        let log = shared.add_log(thread, None);
        Target {
            is_its_own: true,
            ..Target::new(base, shared, log)
        }
    }

    /// For this thread's recorder in a session.
    pub(super) fn of_session(running: Running) -> Target {
        let name = std::thread::current().name().map(str::to_owned);
        let log = running.shared.add_log(Some(state::thread_number()), name);
        Target::new(running.base, running.shared, log)
    }

    fn new(base: u64, shared: Arc<Shared>, log: Arc<ThreadLog>) -> Target {
        Target {
            // Has no rows, so the first op asks for a real one.
            chunk: Arc::new(Chunk::with_rows(0)),
            is_careful: shared.sample > 1,
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

    pub(super) fn is_its_own(&self) -> bool {
        self.is_its_own
    }

    #[inline]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn uid(&self) -> u32 {
        self.log.uid
    }

    /// The number of an op that is named at run time.
    pub(super) fn number_of(&mut self, operation: String) -> u32 {
        if let Some(&number) = self.names.get(&operation) {
            return number;
        }
        let number = self.shared.signatures.op(operation.clone(), None);
        self.names.insert(operation, number);
        number
    }

    /// The number of the op of a site that the thread has not come by, or that is not found at first look.
    #[cold]
    #[inline(never)]
    pub(super) fn number_of_site(
        &self,
        sites: &mut Sites,
        name: &'static str,
        kind: KindCode,
    ) -> u32 {
        let site = Site { name, kind };
        sites.find(site, || {
            let (name, kind) = site.operation();
            self.shared.signatures.op(name, kind)
        })
    }

    #[inline]
    pub(super) fn is_careful(&self) -> bool {
        self.is_careful
    }

    /// Whether this execution is not recorded: sampling leaves it out, or there are no steps left. The
    /// first execution of each op is always recorded.
    #[cold]
    pub(super) fn leaves_out(&mut self, op: u32, next_step: u64) -> bool {
        if is_exhausted(next_step) {
            self.drop_row();
            return true;
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

    #[inline]
    pub(super) fn push(&mut self, [start, facts, steps]: PackedRow) {
        if !self.chunk.push_packed([start, facts, steps]) {
            self.push_to_new_chunk(start, facts, steps);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_to_new_chunk(&mut self, start: u64, facts: u64, steps: u64) {
        // Looked at here, well before the end, to keep the question off the hot path.
        self.is_careful |= u64::from(Steps(steps).step()) > LAST_STEP / 2;
        if self.is_full || !self.shared.take_room(self.next_rows) {
            self.is_full = true;
            return self.drop_row();
        }
        self.chunk = Arc::new(Chunk::with_rows(self.next_rows));
        self.chunk.push_packed([start, facts, steps]);
        self.log.add_chunk(self.chunk.clone());
        self.next_rows = (self.next_rows * 2).min(MAX_ROWS);
    }

    #[cold]
    pub(super) fn drop_row(&mut self) {
        self.log.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_extra(&mut self, extra: RawExtra) {
        self.log.add_extra(extra);
    }

    /// The entries of this thread past the first so many, in the order in which they ended.
    pub(super) fn entries_since(&self, covered: usize, clock: &Clock) -> Vec<RecordedTraceEntry> {
        let rows = self.log.since(covered);
        let scale = clock.scale(self.base);
        self.shared
            .signatures
            .with(|known| entries_of(rows, known, scale))
    }

    /// What this thread has recorded.
    pub(super) fn into_store(self, clock: &Clock) -> TraceStore {
        let mut metadata = HashMap::new();
        let dropped = self.log.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            metadata.insert("dropped".to_owned(), dropped.to_string());
        }
        // A session that goes on needs both for its own trace.
        let rows: ThreadRows = if self.is_its_own {
            self.log.take()
        } else {
            self.log.copy()
        };
        let interner = self.shared.signatures.with(|known| known.clone());
        assemble(vec![rows], interner, clock.scale(self.base), metadata)
    }
}

/// Whether all steps that a row can hold have been given out.
pub(super) fn is_exhausted(next_step: u64) -> bool {
    next_step >= LAST_STEP
}

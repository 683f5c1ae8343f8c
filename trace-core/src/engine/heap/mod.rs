//! Heap memory by op: what [`TracedAlloc`](crate::TracedAlloc) calls while a session records.
//!
//! Every allocation is charged to a *context*: the innermost op of its thread with the shapes of its inputs, inside the
//! context of the op around it. A word of [shadow memory](shadow) remembers the context of each block, so that its free
//! is charged to the op that allocated it, on whichever thread that happens. Counters belong to one thread each and are
//! added up when the session ends. Nothing here takes a lock except a new context, a new thread and a logged change.
//!
//! An op is open on its thread between [`enter`] and [`leave`], which the recorder calls. Memory that the recorder
//! itself allocates is charged to [`TRACER`].

mod changes;
mod contexts;
mod counters;
mod session;
mod shadow;
mod thread;
mod tracer;

pub use changes::Change;
pub use contexts::{Context, OTHER, OUTSIDE, TRACER};
pub use counters::Counts;
pub use session::{HeapRecord, begin, finish, totals};
pub(crate) use thread::{
    adopt, allocated, context, context_of, count_call, enter, freed, give_back, leave, restore,
    take,
};

use std::sync::atomic::{AtomicU32, Ordering};

/// 0 while no session records the heap, else a number that differs between sessions.
static ON: AtomicU32 = AtomicU32::new(0);

/// Whether a session records the heap; one relaxed load.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed) != 0
}

//! Heap memory by op. [`TracedAlloc`](crate::TracedAlloc) calls this while a session records.
//!
//! Every allocation is charged to a *context*: the innermost op of its thread with the shapes of its inputs, inside the
//! context of the op around it. A word of shadow memory (`shadow.rs`) remembers the context of each block, so that its
//! free is charged to the op that allocated it, on any thread. Counters belong to one thread each and are added up when
//! the session ends. Nothing here takes a lock except a new context, a new thread and a logged change.
//!
//! An op is entered at the first allocation or free inside it (`open_ops.rs`), so an op that does neither costs nothing
//! here. Memory that the recorder itself allocates is charged to [`TRACER`]. A recording may sample blocks
//! (`sampling.rs`).

mod changes;
mod contexts;
mod counters;
mod open_ops;
mod owner;
mod sampling;
mod session;
mod shadow;
mod slow_path;
mod thread;
mod tracer;

pub use changes::Change;
pub use contexts::{Context, OTHER, OUTSIDE, TRACER};
pub use counters::Counts;
pub(crate) use open_ops::{Entered, context, context_of, count_call, enter, leave, leave_ended};
pub use session::{HeapRecord, begin, finish, totals};
pub(crate) use thread::{allocated, freed, passes_by, restore, take, was_passed_by};

use std::sync::atomic::{AtomicU32, Ordering};

/// 0 while no session records the heap, else a number that differs between sessions, perhaps with [`SAMPLED`].
static ON: AtomicU32 = AtomicU32::new(0);
/// Set if the session records a sample of the blocks.
const SAMPLED: u32 = 1 << 31;

/// 0 while no session records the heap; one relaxed load.
#[inline]
pub(crate) fn now() -> u32 {
    ON.load(Ordering::Relaxed)
}

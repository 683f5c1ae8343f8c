//! Memory: live bytes over time, the ops that held them, and the bytes that each op allocated.

mod growth;
mod heap_row;
mod live;
mod owner;
mod stacks;

pub use growth::{MemoryGrowth, memory_growth};
pub use heap_row::{HeapRow, heap_by_shape, heap_stacks};
pub use live::{HeldStack, LiveMemory, MemoryHolder, live_memory};
#[cfg(feature = "html")]
pub(crate) use owner::OwnerOp;
pub(crate) use owner::{Owner, Owners};
pub use stacks::{MemoryWeight, memory_collapsed};

use crate::model::TraceView;
use crate::model::wire::metadata::{MEMORY_SAMPLED, of_rank};

/// If the heap was sampled, the average distance in bytes between two recorded blocks: figures of the heap are then
/// estimates. The largest value of all ranks; `None` if every block was recorded.
pub fn memory_sampled_every<T: TraceView + ?Sized>(trace: &T) -> Option<u64> {
    let metadata = trace.metadata();
    let number = |key: &str| metadata.get(key)?.trim().parse::<u64>().ok();
    let ranks = heap_row::ranks(trace).into_iter().flatten();
    let of_ranks = ranks.filter_map(|rank| number(&of_rank(rank, MEMORY_SAMPLED)));
    number(MEMORY_SAMPLED).into_iter().chain(of_ranks).max()
}

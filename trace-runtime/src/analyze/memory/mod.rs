//! Memory: how much was live and when, which ops held it, and what each op allocated.

mod growth;
mod heap_row;
mod live;
mod owner;

pub use growth::{MemoryGrowth, memory_growth};
pub use heap_row::{HeapRow, heap_by_shape, heap_stacks};
pub use live::{HeldStack, LiveMemory, MemoryHolder, live_memory};
#[cfg(feature = "html")]
pub(crate) use owner::{Owner, OwnerOp, Owners};

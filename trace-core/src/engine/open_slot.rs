//! The open ops of a thread, where a reader of the session's storage finds them after a crash.

use super::block::{Block, header};
use super::chunk::Steps;
use super::storage::Storage;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A row for each open op, the outermost first: the row that it would have if it ended now, without a duration.
pub(crate) struct OpenSlot {
    block: Block,
    place: u32,
    storage: Arc<dyn Storage>,
}

impl OpenSlot {
    pub(crate) fn new(storage: &Arc<dyn Storage>, log: u32) -> Option<OpenSlot> {
        let (block, place) = storage.open_ops(log)?;
        Some(OpenSlot {
            block,
            place,
            storage: storage.clone(),
        })
    }

    /// Publishes the op at a depth from 1 on. Ops beyond the last depth are only counted.
    #[inline]
    pub(crate) fn open(&self, depth: u32, start: u64, signature: u64, steps: Steps) {
        if let Some(row) = self.block.rows().get((depth as usize).wrapping_sub(1)) {
            row[0].store(start, Ordering::Relaxed);
            row[1].store(signature, Ordering::Relaxed);
            row[2].store(steps.0, Ordering::Relaxed);
        }
        self.set_depth(depth);
    }

    #[inline]
    pub(crate) fn set_depth(&self, depth: u32) {
        self.block.header()[header::LEN].store(u64::from(depth), Ordering::Release);
    }
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.storage.close_open_ops(self.place);
    }
}

impl fmt::Debug for OpenSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSlot")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

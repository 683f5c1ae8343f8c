//! The places of rows in a store: which row is the next entry, and the thread of each row.

use super::chunk::{MAX_ROWS, SLOT_BITS};
use std::sync::Arc;

/// The keys of the rows of a store, in the order in which ops began.
#[derive(Debug, Clone)]
pub(super) enum RowOrder {
    /// Rows are stored in the order in which ops began, in chunks that are full except for the last one. The value is
    /// the number of rows.
    AsStored(u32),
    /// The key of each entry's row.
    Keys(Vec<u32>),
}

impl Default for RowOrder {
    fn default() -> Self {
        RowOrder::AsStored(0)
    }
}

impl RowOrder {
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            RowOrder::AsStored(len) => *len as usize,
            RowOrder::Keys(keys) => keys.len(),
        }
    }

    /// The key of the row of an entry.
    ///
    /// # Panics
    /// If there is no such entry.
    #[inline]
    pub(super) fn key(&self, index: usize) -> u32 {
        match self {
            RowOrder::AsStored(len) => {
                if index >= *len as usize {
                    no_entry(index, *len);
                }
                index as u32
            }
            RowOrder::Keys(keys) => keys[index],
        }
    }

    /// Adds the key of the next entry.
    pub(super) fn push(&mut self, key: u32) {
        match self {
            RowOrder::AsStored(len) if key == *len && *len < u32::MAX => *len += 1,
            RowOrder::AsStored(len) => {
                let keys = (0..*len).chain([key]);
                *self = RowOrder::Keys(keys.collect());
            }
            RowOrder::Keys(keys) => keys.push(key),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        if let RowOrder::Keys(keys) = self {
            keys.shrink_to_fit();
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            RowOrder::AsStored(_) => 0,
            RowOrder::Keys(keys) => keys.capacity() * size_of::<u32>(),
        }
    }
}

/// Out of line: the text of the message would cost each entry four instructions.
#[cold]
#[inline(never)]
fn no_entry(index: usize, len: u32) -> ! {
    panic!("no entry {index} of {len}")
}

/// The chunk and the slot of a key.
#[inline]
pub(super) fn locate(key: u32) -> (usize, usize) {
    let slot = key as usize & (MAX_ROWS - 1);
    ((key >> SLOT_BITS) as usize, slot)
}

/// The threads of the rows of one chunk.
#[derive(Debug, Clone)]
pub(super) enum ChunkThreads {
    /// All rows are of this thread.
    One(u32),
    /// By slot.
    Each(Arc<[u16]>),
    /// By slot, in a trace with more threads than fit into 16 bits.
    EachOfMany(Arc<[u32]>),
}

impl ChunkThreads {
    /// The threads of consecutive rows.
    pub(super) fn of_rows(threads: &[u32]) -> ChunkThreads {
        let first = threads.first().copied().unwrap_or(0);
        if threads.iter().all(|&thread| thread == first) {
            return ChunkThreads::One(first);
        }
        let narrow = threads.iter().map(|&thread| u16::try_from(thread));
        match narrow.collect::<Result<Arc<[u16]>, _>>() {
            Ok(narrow) => ChunkThreads::Each(narrow),
            Err(_) => ChunkThreads::EachOfMany(threads.into()),
        }
    }

    #[inline]
    pub(super) fn at(&self, slot: usize) -> u32 {
        match self {
            ChunkThreads::One(thread) => *thread,
            ChunkThreads::Each(threads) => threads[slot].into(),
            ChunkThreads::EachOfMany(threads) => threads[slot],
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            ChunkThreads::One(_) => 0,
            ChunkThreads::Each(threads) => size_of_val(&**threads),
            ChunkThreads::EachOfMany(threads) => size_of_val(&**threads),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_listed_only_if_rows_are_in_another_order() {
        let mut order = RowOrder::default();
        order.push(0);
        order.push(1);
        assert!(matches!(order, RowOrder::AsStored(2)));
        order.push(1 << SLOT_BITS);
        order.push(2);
        let keys: Vec<u32> = (0..order.len()).map(|index| order.key(index)).collect();
        assert_eq!(keys, [0, 1, 1 << SLOT_BITS, 2]);
        assert_eq!(locate(keys[2]), (1, 0));
    }

    #[test]
    #[should_panic(expected = "no entry 1 of 1")]
    fn an_entry_past_the_end_is_not_read() {
        let mut order = RowOrder::default();
        order.push(0);
        order.key(1);
    }

    #[test]
    fn threads_of_rows_take_the_least_memory_that_holds_them() {
        let lists = [vec![7; 5], vec![1, 2, 65_535], vec![1, 65_536, 2]];
        let bytes = lists.map(|list| {
            let threads = ChunkThreads::of_rows(&list);
            let found: Vec<u32> = (0..list.len()).map(|slot| threads.at(slot)).collect();
            assert_eq!(found, list);
            threads.heap_bytes()
        });
        assert_eq!(bytes, [0, 6, 12]);
    }
}

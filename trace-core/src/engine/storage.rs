//! Storage for a session's rows and tables that is not on the heap: a ring that trace-runtime maps.

use super::block::Block;
use super::chunk::Chunk;
use super::interner::Signature;
use super::rows::Thread;
use crate::OpKind;
use std::fmt;

/// Memory that may outlive the process. Chunks are returned when they are full, and tables are published before the
/// first row that refers to them.
///
/// No method may record an op or wait for another thread that does.
pub trait Storage: fmt::Debug + Send + Sync {
    /// An empty chunk for the thread with this log, or `None` if there is no room now.
    fn chunk(&self, log: u32) -> Option<Chunk>;

    /// The thread that had this chunk appends nothing more to it.
    fn seal(&self, chunk: &Chunk);

    /// Publishes a table entry. If there is no room, it returns false and no row may refer to the entry.
    fn publish(&self, entry: TableEntry<'_>) -> bool;

    /// A block in which the thread with this log publishes its open ops, or `None` if there are too many threads.
    fn open_ops(&self, log: u32) -> Option<(Block, u32)>;

    /// Takes back the block at a place that [`open_ops`](Self::open_ops) gave.
    fn close_open_ops(&self, place: u32);

    /// Counts an op that was not recorded because there was no room.
    fn count_dropped(&self);
}

/// An entry of a table, which rows refer to by number.
#[derive(Debug, Clone, Copy)]
pub enum TableEntry<'a> {
    /// A name, a label or a device of ops.
    String { number: u32, text: &'a str },
    /// An op without its tensors. Name and label are strings.
    Op {
        number: u32,
        name: u32,
        kind: Option<OpKind>,
        label: Option<u32>,
    },
    /// An op with its tensors.
    Signature {
        number: u32,
        signature: &'a Signature,
        words: &'a [usize],
    },
    /// A named device, and its code in the words of signatures.
    Device { code: u16, name: &'a str },
    /// The thread of a log.
    Thread { log: u32, thread: &'a Thread },
}

//! The rows of one thread, as trace-runtime gets them.

use super::chunk::Chunk;
use crate::PauseKind;
use std::borrow::Cow;
use std::sync::Arc;

/// The rows of one thread. They are in the order in which ops ended, and their steps count the
/// ops of this thread alone.
#[derive(Debug)]
pub struct ThreadRows {
    pub thread: Thread,
    /// Distinguishes threads in [`OpRef`].
    pub uid: u32,
    pub chunks: Vec<(Arc<Chunk>, usize)>,
    pub extras: Vec<RawExtra>,
}

/// The thread that ops ran on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Thread {
    pub id: Option<u64>,
    pub rank: Option<u32>,
    pub name: Option<String>,
}

/// The values that do not fit into a row. Times are in ticks; steps count the ops of the thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawExtra {
    /// The step of the row, in its thread's count.
    pub step: u32,
    pub duration: Option<u64>,
    pub suspended: u64,
    /// In order, without overlap. If there are many suspensions, only the longest are listed.
    pub pauses: Option<Box<Pauses>>,
    pub parent: Option<OpRef>,
    /// The number of a task, which may begin and end on different threads. Its children refer to this number.
    pub task: Option<u32>,
    pub meta: Meta,
}

impl RawExtra {
    /// Bytes that it takes, in a list that may be half empty.
    pub(crate) fn bytes(&self) -> usize {
        let texts: usize = self.meta.iter().map(|(_, text)| text.capacity() + 16).sum();
        2 * size_of::<RawExtra>()
            + self.pauses.as_ref().map_or(0, |pauses| pauses.bytes())
            + self.meta.capacity() * size_of::<(Cow<'static, str>, String)>()
            + texts
    }
}

/// Keys and values of `meta(…)`. Keys are literals, except in traces that were read from files.
pub type Meta = Vec<(Cow<'static, str>, String)>;

/// A period in which an op was suspended or waited, in ticks since the op began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPause {
    pub kind: PauseKind,
    pub from: u64,
    /// [`u64::MAX`] for a pause that lasts until the op ends.
    pub until: u64,
}

/// The pauses of one op. Boxed, because few ops have any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pauses(pub Vec<RawPause>);

impl Pauses {
    fn bytes(&self) -> usize {
        size_of::<Pauses>() + self.0.capacity() * size_of::<RawPause>()
    }
}

/// An op of any thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpRef {
    OnThread { uid: u32, step: u32 },
    Task(u32),
}

//! Flow events (arrows from one row to another), for traces without correlation numbers.

use super::scanner::Raw;
use crate::model::hash::FastHash;
use std::collections::HashMap;
use std::hash::BuildHasher as _;

/// One end of an arrow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) at: i64,
    pub(super) id: u64,
    pub(super) place: u32,
    pub(super) begins: bool,
}

impl Flow {
    /// Ids are numbers or strings, and are only compared for equality.
    pub(super) fn id_of(id: Raw<'_>) -> u64 {
        static HASH: std::sync::OnceLock<FastHash> = std::sync::OnceLock::new();
        id.number()
            .unwrap_or_else(|| HASH.get_or_init(FastHash::default).hash_one(id))
    }
}

/// Follows arrows while the rows are walked, both in order of time.
#[derive(Debug, Default)]
pub(super) struct Arrows {
    begins: Vec<Flow>,
    ends: Vec<Flow>,
    next_begin: usize,
    next_end: usize,
    /// The entry at which an arrow starts.
    sources: HashMap<u64, usize, FastHash>,
    /// The latest arrow that ended at a place: its time, and the entry at which it started.
    arrived: HashMap<u32, (i64, usize), FastHash>,
}

impl Arrows {
    pub(super) fn new(mut flows: Vec<Flow>) -> Arrows {
        flows.sort_by_key(|flow| flow.at);
        let (begins, ends) = flows.into_iter().partition(|flow| flow.begins);
        Arrows {
            begins,
            ends,
            ..Arrows::default()
        }
    }

    /// Advances to a row that starts at `start`. `innermost` finds the entry that runs at a place and time.
    pub(super) fn advance(&mut self, start: i64, innermost: impl Fn(u32, i64) -> Option<usize>) {
        while let Some(flow) = self.begins.get(self.next_begin)
            && flow.at < start
        {
            if let Some(source) = innermost(flow.place, flow.at) {
                self.sources.insert(flow.id, source);
            }
            self.next_begin += 1;
        }
        while let Some(flow) = self.ends.get(self.next_end)
            && flow.at <= start
        {
            if let Some(&source) = self.sources.get(&flow.id) {
                self.arrived.insert(flow.place, (flow.at, source));
            }
            self.next_end += 1;
        }
    }

    /// The entry whose arrow ends at the place and time at which a row starts.
    pub(super) fn source(&self, place: u32, start: i64) -> Option<usize> {
        let &(at, source) = self.arrived.get(&place)?;
        (at == start).then_some(source)
    }
}

//! The latest rows of a recording.

use crate::model::chunk::PackedRow;
use std::collections::{HashSet, VecDeque};
use trace_core::__engine::rows::RawExtra;

#[derive(Debug, Default)]
pub(super) struct RecentRows {
    parts: VecDeque<Part>,
    rows: usize,
    most: usize,
    /// True if rows were removed to make room for newer ones.
    has_removed: bool,
}

#[derive(Debug)]
pub(super) struct Part {
    pub(super) log: u32,
    pub(super) rows: Vec<PackedRow>,
    pub(super) extras: Vec<RawExtra>,
}

impl RecentRows {
    pub(super) fn new(most: usize) -> RecentRows {
        RecentRows {
            most,
            ..RecentRows::default()
        }
    }

    pub(super) fn add(&mut self, part: Part) {
        if self.most == 0 || part.rows.is_empty() {
            return;
        }
        self.rows += part.rows.len();
        self.parts.push_back(part);
        while self.rows > self.most
            && self.parts.len() > 1
            && let Some(oldest) = self.parts.pop_front()
        {
            self.rows -= oldest.rows.len();
            self.has_removed = true;
        }
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter()
    }

    pub(super) fn has_removed(&self) -> bool {
        self.has_removed
    }

    /// The numbers of the signatures of these rows.
    pub(super) fn signatures(&self) -> HashSet<u32> {
        let rows = self.parts.iter().flat_map(|part| &part.rows);
        rows.map(|row| crate::model::chunk::Row::unpack(*row).signature)
            .collect()
    }
}

//! Counts the events that a reader did not keep, for the metadata of the trace.

use crate::model::TraceStoreBuilder;
use crate::model::wire::metadata::LEFT_OUT_PREFIX;

/// Counts by sort of event.
#[derive(Debug, Default)]
pub(super) struct LeftOut(Vec<(&'static str, u64)>);

impl LeftOut {
    pub(super) fn count(&mut self, sort: &'static str) {
        self.add(sort, 1);
    }

    pub(super) fn append(&mut self, other: &LeftOut) {
        for &(sort, count) in &other.0 {
            self.add(sort, count);
        }
    }

    fn add(&mut self, sort: &'static str, more: u64) {
        // There are only a few sorts, so a search is faster than a map.
        match self.0.iter_mut().find(|(known, _)| *known == sort) {
            Some((_, count)) => *count += more,
            None => self.0.push((sort, more)),
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Adds the counts to the metadata of a trace.
    pub(super) fn write_to(&self, builder: &mut TraceStoreBuilder) {
        for (sort, count) in &self.0 {
            builder.metadata(format!("{LEFT_OUT_PREFIX}{sort}"), count.to_string());
        }
    }
}

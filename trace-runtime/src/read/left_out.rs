//! What a reader met and could not keep: counted, and told with the trace.

use crate::model::TraceStoreBuilder;
use std::collections::BTreeMap;

/// The metadata keys under which a trace says what its reader left out; the number is the value.
pub const LEFT_OUT_PREFIX: &str = "read.left_out.";

/// Counts by what it was.
#[derive(Debug, Default)]
pub(super) struct LeftOut(BTreeMap<&'static str, u64>);

impl LeftOut {
    pub(super) fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(super) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    pub(super) fn tell(&self, builder: &mut TraceStoreBuilder) {
        for (what, count) in &self.0 {
            builder.metadata(format!("{LEFT_OUT_PREFIX}{what}"), count.to_string());
        }
    }
}

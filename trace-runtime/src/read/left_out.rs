//! What a reader met and could not keep: counted, and told with the trace.

use crate::model::TraceStoreBuilder;

/// The metadata keys under which a trace says what its reader left out; the number is the value.
pub const LEFT_OUT_PREFIX: &str = "read.left_out.";

/// Counts by what it was.
#[derive(Debug, Default)]
pub(super) struct LeftOut(Vec<(&'static str, u64)>);

impl LeftOut {
    pub(super) fn count(&mut self, what: &'static str) {
        // A few, and the same ones again and again.
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.0.push((what, 1)),
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    pub(super) fn tell(&self, builder: &mut TraceStoreBuilder) {
        for (what, count) in &self.0 {
            builder.metadata(format!("{LEFT_OUT_PREFIX}{what}"), count.to_string());
        }
    }
}

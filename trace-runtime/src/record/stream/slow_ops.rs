//! Finds ops that ran longer than a limit, in the rows of a ring while it is written.

use super::ring::Ring;
use crate::model::optrace::tables::{Decoded, decode};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;
use trace_core::__engine::block::{TABLES, header};
use trace_core::__engine::chunk::{Row, is_unchanged};

/// The limits, and which rows have been checked. The threads that record do no work for this.
#[derive(Debug, Default)]
pub(super) struct SlowOps {
    /// By name, in ticks.
    limits: HashMap<String, u64>,
    /// The limits by the number of the string that is the name.
    by_string: HashMap<u32, u64>,
    by_signature: HashMap<u32, u64>,
    tables_seen: usize,
    /// By block, the sequence number of its chunk and the number of rows that were checked.
    seen: Vec<(u64, usize)>,
}

impl SlowOps {
    pub(super) fn new(
        limits: &[(String, Duration)],
        ticks_in: impl Fn(Duration) -> u64,
    ) -> SlowOps {
        SlowOps {
            limits: limits
                .iter()
                .map(|(name, limit)| (name.clone(), ticks_in(*limit)))
                .collect(),
            ..SlowOps::default()
        }
    }

    /// True if an op that ran longer than its limit has ended since the last call.
    pub(super) fn look(&mut self, ring: &Ring) -> bool {
        if self.limits.is_empty() {
            return false;
        }
        let found = (0..ring.blocks())
            .filter(|place| self.look_at(ring, *place))
            .count();
        found > 0
    }

    fn learn(&mut self, ring: &Ring) {
        let tables = ring.tables();
        let new = tables.history().get(self.tables_seen..).unwrap_or_default();
        self.tables_seen += new.len();
        for entry in decode(new) {
            match entry {
                Decoded::String(number, name) => {
                    let limit = self.limits.get(&name);
                    self.by_string.extend(limit.map(|limit| (number, *limit)));
                }
                Decoded::Signature {
                    number, operation, ..
                } => {
                    let limit = self.by_string.get(&operation);
                    self.by_signature
                        .extend(limit.map(|limit| (number, *limit)));
                }
                _ => {}
            }
        }
    }

    fn look_at(&mut self, ring: &Ring, place: u32) -> bool {
        let Some(block) = ring.block(place) else {
            return false;
        };
        let sequence = block.header()[header::SEQUENCE].load(Ordering::Acquire);
        if sequence == 0 || block.header()[header::OWNER].load(Ordering::Relaxed) == TABLES {
            return false;
        }
        let len = block.header()[header::LEN].load(Ordering::Acquire) as usize;
        if self.seen.len() <= place as usize {
            self.seen.resize(place as usize + 1, (0, 0));
        }
        let from = match self.seen[place as usize] {
            (seen, rows) if seen == sequence => rows,
            _ => 0,
        };
        if from >= len {
            return false;
        }
        self.seen[place as usize] = (sequence, len);
        // Read after the number of rows, so the tables contain everything that these rows refer to.
        self.learn(ring);
        let is_slow = block.rows()[..len.min(block.rows().len())][from..]
            .iter()
            .any(|words| {
                let row = Row::unpack([0, 1, 2].map(|word| words[word].load(Ordering::Relaxed)));
                let limit = self.by_signature.get(&row.signature);
                limit.is_some_and(|limit| row.duration > *limit)
            });
        is_slow && is_unchanged(&block, sequence)
    }
}

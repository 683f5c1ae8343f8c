//! The figures that a follower has about its recording.

use super::{FollowState, Follower, LiveOp, OpenOp, OpenThread};
use crate::model::chunk::Row;
use crate::model::optrace::collect::Faults;
use crate::model::optrace::header::live;
use crate::model::ticks::TickScale;
use crate::model::{TraceError, TraceStore};

impl Follower {
    /// The ops of the recording, in the order in which they were first read.
    pub fn ops(&self) -> Vec<LiveOp> {
        self.totals.at(self.now(), &self.open, self.scale())
    }

    /// The threads that are inside an op now, with their open ops. Other threads are not listed.
    pub fn open_threads(&self) -> Vec<OpenThread> {
        let (now, scale) = (self.now(), self.scale());
        let op = |row: Row| {
            Some(OpenOp {
                operation: self.tables.operation_of(row.signature)?.to_owned(),
                input_shapes: self.tables.input_shapes_of(row.signature),
                duration_ns: u64::try_from(scale.ns(now).saturating_sub(scale.ns(row.start)))
                    .unwrap_or(0),
            })
        };
        let threads = self.open.iter().filter(|(_, rows)| !rows.is_empty());
        threads
            .map(|(log, rows)| {
                let thread = self.tables.thread(*log);
                OpenThread {
                    name: thread.and_then(|thread| thread.name.clone()),
                    thread: thread.and_then(|thread| thread.id),
                    ops: rows
                        .iter()
                        .filter_map(|(_, row)| op(Row::unpack(*row)))
                        .collect(),
                }
            })
            .collect()
    }

    /// The latest ops as a trace, if [`keeping`](Self::keeping) was called: all of the recording while it has fewer
    /// ops than are kept.
    ///
    /// # Errors
    /// The recording is damaged.
    pub fn recent(&self) -> Result<TraceStore, TraceError> {
        let mut signatures = self.recent.signatures();
        for (_, row) in self.open.iter().flat_map(|(_, rows)| rows) {
            signatures.insert(Row::unpack(*row).signature);
        }
        let mut restored = self.tables.only(|number| signatures.contains(&number));
        for part in self.recent.parts() {
            restored.add_decoded(part.log, part.rows.clone(), part.extras.clone());
        }
        for (log, rows) in &self.open {
            restored.add_open(*log, rows.iter().map(|(_, row)| *row).collect());
        }
        restored.finish(self.header, &self.live, &Faults::default())
    }

    /// True if [`recent`](Self::recent) has only the latest ops, not the whole recording.
    pub fn has_older(&self) -> bool {
        self.recent.has_removed()
    }

    /// The number of the process that records.
    pub fn pid(&self) -> u64 {
        self.header.pid
    }

    /// Nanoseconds from the start of the recording to the latest time that its process wrote to the file; it writes the
    /// time every 10 ms.
    pub fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.scale().ns(self.now())).unwrap_or(0)
    }

    /// Ops that have ended and were read.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// Ops that were not recorded because there was no room.
    pub fn dropped(&self) -> u64 {
        self.live[live::DROPPED]
    }

    /// Ops that cannot be read: their records are damaged.
    pub fn lost(&self) -> u64 {
        let of_part = self.part.as_ref().map_or(0, |(_, part)| part.lost_ops());
        self.lost
            .saturating_add(self.main.lost_ops())
            .saturating_add(of_part)
    }

    /// The result of the last [`update`](Self::update).
    pub fn state(&self) -> FollowState {
        self.state
    }

    fn now(&self) -> u64 {
        self.live[live::NOW].max(self.last_end)
    }

    fn scale(&self) -> TickScale {
        TickScale::new(self.header.base_ticks, self.header.rate)
    }
}

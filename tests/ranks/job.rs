//! Traces of several ranks, built by hand.

use std::collections::BTreeMap;
use trace_runtime::model::{NewEntry, TraceStep, TraceStoreBuilder};
use trace_runtime::{OpKind, TraceStore};

/// Ops of ranks in any order; they are sorted when the trace is built.
#[derive(Default)]
pub(crate) struct Job {
    ops: Vec<Op>,
    steps: Vec<TraceStep>,
    facts: Vec<(String, String)>,
}

struct Op {
    rank: u32,
    thread: u64,
    name: String,
    start: i64,
    end: i64,
    kind: OpKind,
    meta: BTreeMap<String, String>,
}

impl Job {
    pub(crate) fn op(&mut self, rank: u32, name: &str, start: i64, end: i64) {
        self.on_thread(rank, 1, name, start, end, OpKind::Compute, &[]);
    }

    /// A collective or message with facts about it.
    pub(crate) fn comm(
        &mut self,
        rank: u32,
        name: &str,
        (start, end): (i64, i64),
        facts: &[(&str, &str)],
    ) {
        self.on_thread(rank, 1, name, start, end, OpKind::Communication, facts);
    }

    #[allow(clippy::too_many_arguments, reason = "a row of a table")]
    pub(crate) fn on_thread(
        &mut self,
        rank: u32,
        thread: u64,
        name: &str,
        start: i64,
        end: i64,
        kind: OpKind,
        facts: &[(&str, &str)],
    ) {
        self.ops.push(Op {
            rank,
            thread,
            name: name.to_owned(),
            start,
            end,
            kind,
            meta: facts
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        });
    }

    pub(crate) fn step(&mut self, rank: u32, number: u64, start: i64, end: i64) {
        self.steps
            .push(TraceStep::new(number, start, end).with_rank(Some(rank)));
    }

    pub(crate) fn fact(&mut self, key: &str, value: &str) {
        self.facts.push((key.to_owned(), value.to_owned()));
    }

    pub(crate) fn trace(mut self) -> TraceStore {
        self.ops.sort_by_key(|op| (op.start, -op.end));
        let mut builder = TraceStoreBuilder::new();
        let mut open: Vec<(usize, u32, u64, i64)> = Vec::new();
        for op in &self.ops {
            let thread = builder.thread(Some(op.thread), Some(op.rank), None);
            open.retain(|&(_, _, _, end)| end > op.start || op.start == op.end);
            let mut entry = NewEntry::new(&op.name, thread, op.start, op.end.abs_diff(op.start));
            entry.kind = Some(op.kind);
            entry.meta = op.meta.clone();
            entry.parent = open
                .iter()
                .rev()
                .find(|&&(_, rank, thread, end)| {
                    (rank, thread) == (op.rank, op.thread) && op.end <= end
                })
                .map(|one| one.0);
            let index = builder.push(&entry).unwrap();
            open.push((index, op.rank, op.thread, op.end));
        }
        for step in self.steps {
            builder.step(step);
        }
        for (key, value) in self.facts {
            builder.metadata(key, value);
        }
        builder.finish()
    }
}

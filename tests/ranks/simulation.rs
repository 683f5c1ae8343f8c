//! Jobs whose ranks run in steps and wait for each other.

use crate::job::Job;
use trace_runtime::{OpKind, TraceStore};

/// A job that is simulated: every rank has its own time, and waits where MPI would wait.
pub(crate) struct Simulation {
    pub(crate) job: Job,
    at: Vec<i64>,
    calls: usize,
    random: u64,
}

impl Simulation {
    pub(crate) fn new(ranks: usize) -> Simulation {
        Simulation {
            job: Job::default(),
            at: vec![0; ranks],
            calls: 0,
            random: 88_172_645_463_325_252,
        }
    }

    /// A time that varies by a few percent, as those of real ops do.
    fn about(&mut self, ns: i64) -> i64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ns + ns * (self.random % 41) as i64 / 1000 - ns / 50
    }

    pub(crate) fn work(&mut self, rank: usize, op: &str, ns: i64) {
        let end = self.at[rank] + self.about(ns);
        self.job.op(rank as u32, op, self.at[rank], end);
        self.at[rank] = end;
    }

    pub(crate) fn load(&mut self, rank: usize, ns: i64) {
        let end = self.at[rank] + self.about(ns);
        let start = self.at[rank];
        self.job
            .on_thread(rank as u32, 1, "load_batch", start, end, OpKind::Io, &[]);
        self.at[rank] = end;
    }

    pub(crate) fn all_reduce(&mut self, ns: i64) {
        self.calls += 1;
        let number = self.calls.to_string();
        let facts = [("process_group", "world"), ("sequence", number.as_str())];
        let end = *self.at.iter().max().unwrap() + self.about(ns);
        for (rank, at) in self.at.iter_mut().enumerate() {
            self.job.comm(rank as u32, "all_reduce", (*at, end), &facts);
            *at = end;
        }
    }

    pub(crate) fn message(&mut self, from: usize, to: usize, ns: i64) {
        self.calls += 1;
        let tag = self.calls.to_string();
        let (sender, receiver) = (from.to_string(), to.to_string());
        let sent = self.at[from];
        let facts = [("peer", receiver.as_str()), ("tag", tag.as_str())];
        self.job
            .comm(from as u32, "send", (sent, sent + 500), &facts);
        self.at[from] += 500;
        let facts = [("peer", sender.as_str()), ("tag", tag.as_str())];
        let asked = self.at[to];
        let end = asked.max(sent) + self.about(ns);
        self.job.comm(to as u32, "recv", (asked, end), &facts);
        self.at[to] = end;
    }

    /// Runs `step` for each of `count` steps and marks them on every rank.
    pub(crate) fn steps(
        mut self,
        count: u64,
        mut step: impl FnMut(&mut Simulation, u64),
    ) -> TraceStore {
        for number in 0..count {
            let begun = self.at.clone();
            step(&mut self, number);
            for (rank, begun) in begun.into_iter().enumerate() {
                self.job.step(rank as u32, number, begun, self.at[rank]);
            }
        }
        self.job.trace()
    }
}

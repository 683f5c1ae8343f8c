//! The steps of a session, in ticks.

use crate::model::TraceStep;
use crate::model::ticks::TickScale;

/// The largest number of steps that are kept. They take 24 MB.
const MOST_STEPS: usize = 1_000_000;

/// The steps of a loop, each from one mark to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct StepMarks {
    kept: Vec<Mark>,
    next: u64,
    began: u64,
    dropped: u64,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    number: u64,
    start: u64,
    end: u64,
}

impl StepMarks {
    /// The first step begins.
    pub(super) fn begin(&mut self, now: u64) {
        self.began = now;
    }

    /// A step ends and the next one begins. `kept` is false for steps whose ops are not recorded. Returns the number of
    /// the step and its start and end, if it is kept.
    pub(super) fn end(&mut self, now: u64, kept: bool) -> Option<(u64, u64, u64)> {
        let (number, start) = (self.next, self.began);
        self.next += 1;
        self.began = now;
        if kept && self.kept.len() < MOST_STEPS {
            self.kept.push(Mark {
                number,
                start,
                end: now,
            });
        } else if kept {
            self.dropped += 1;
            return None;
        }
        kept.then_some((number, start, now))
    }

    /// Number of steps that were not kept because there were too many.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn steps(&self, scale: TickScale, rank: Option<u32>) -> Vec<TraceStep> {
        self.kept
            .iter()
            .map(|mark| {
                let (start, end) = (scale.ns(mark.start), scale.ns(mark.end));
                TraceStep::new(mark.number, start, end).with_rank(rank)
            })
            .collect()
    }
}

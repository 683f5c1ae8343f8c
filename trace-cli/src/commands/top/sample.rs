//! The figures of a recording at one moment, and how they changed since the last one.

use super::columns::SortBy;
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};
use trace_runtime::TraceError;
use trace_runtime::read::{FollowState, Follower, LiveOp, OpenThread};
use trace_runtime::report::{bytes, count, duration, prose};

/// A process writes the time every 10 ms. If it has not written for this long, it is stopped or has ended.
const SILENCE: Duration = Duration::from_secs(3);

/// Takes samples of a recording.
pub(in crate::commands) struct Sampler {
    follower: Follower,
    /// The figures at the beginning of the interval, by op.
    before: HashMap<String, (u64, u64)>,
    before_ended: u64,
    began: Instant,
    heard: (u64, Instant),
}

/// The state of the process that records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Life {
    Recording,
    /// The process has not written for this long.
    Silent(Duration),
    /// The process does not exist any more.
    Gone,
    Finished,
}

/// An op with its rates over the latest interval.
#[derive(Debug, Clone, Default)]
pub(in crate::commands) struct OpSample {
    pub(in crate::commands) op: LiveOp,
    pub(in crate::commands) calls_per_s: f64,
    /// Self time divided by elapsed time: one thread that does nothing else has 1.0.
    pub(in crate::commands) busy: f64,
}

#[derive(Debug, Clone)]
pub(in crate::commands) struct Sample {
    pub(in crate::commands) ops: Vec<OpSample>,
    pub(in crate::commands) threads: Vec<OpenThread>,
    pub(in crate::commands) life: Life,
    /// Bytes that are still to be read.
    pub(in crate::commands) behind: u64,
    pub(in crate::commands) pid: u64,
    pub(in crate::commands) elapsed_ns: u64,
    pub(in crate::commands) ended: u64,
    pub(in crate::commands) ended_per_s: f64,
    pub(in crate::commands) dropped: u64,
    pub(in crate::commands) lost: u64,
}

impl Sampler {
    pub(in crate::commands) fn new(follower: Follower) -> Sampler {
        Sampler {
            follower,
            before: HashMap::new(),
            before_ended: 0,
            began: Instant::now(),
            heard: (0, Instant::now()),
        }
    }

    pub(in crate::commands) fn follower(&self) -> &Follower {
        &self.follower
    }

    /// Begins the interval that the rates are computed for.
    pub(in crate::commands) fn begin_interval(&mut self) {
        self.before = self
            .follower
            .ops()
            .into_iter()
            .map(|op| (op.operation, (op.calls, op.self_ns)))
            .collect();
        self.before_ended = self.follower.ended();
        self.began = Instant::now();
    }

    /// Reads new rows, for a tenth of a second at most.
    pub(in crate::commands) fn take(&mut self) -> Result<Sample, TraceError> {
        let start = Instant::now();
        let mut state = self.follower.update()?;
        while matches!(state, FollowState::Behind(_))
            && start.elapsed() < Duration::from_millis(100)
        {
            state = self.follower.update()?;
        }
        let elapsed_ns = self.follower.elapsed_ns();
        if self.heard.0 != elapsed_ns {
            self.heard = (elapsed_ns, Instant::now());
        }
        let seconds = self.began.elapsed().as_secs_f64().max(1e-3);
        let ops = self.follower.ops().into_iter().map(|op| {
            let before = self.before.get(&op.operation).copied();
            let (calls, self_ns) = before.unwrap_or_default();
            OpSample {
                calls_per_s: op.calls.saturating_sub(calls) as f64 / seconds,
                busy: op.self_ns.saturating_sub(self_ns) as f64 / 1e9 / seconds,
                op,
            }
        });
        let ended = self.follower.ended();
        Ok(Sample {
            ops: ops.collect(),
            threads: self.follower.open_threads(),
            life: self.life(state),
            behind: match state {
                FollowState::Behind(bytes) => bytes,
                _ => 0,
            },
            pid: self.follower.pid(),
            elapsed_ns,
            ended,
            ended_per_s: ended.saturating_sub(self.before_ended) as f64 / seconds,
            dropped: self.follower.dropped(),
            lost: self.follower.lost(),
        })
    }

    fn life(&self, state: FollowState) -> Life {
        let silence = self.heard.1.elapsed();
        if state == FollowState::Finished {
            Life::Finished
        } else if silence < SILENCE {
            Life::Recording
        } else if Path::new("/proc/self").exists()
            && !Path::new(&format!("/proc/{}", self.follower.pid())).exists()
        {
            Life::Gone
        } else {
            Life::Silent(silence)
        }
    }
}

impl Sample {
    pub(in crate::commands) fn sort(&mut self, by: SortBy) {
        self.ops.sort_by(|a, b| {
            by.order(a, b)
                .then_with(|| b.op.self_ns.cmp(&a.op.self_ns))
                .then_with(|| a.op.operation.cmp(&b.op.operation))
        });
    }

    /// One line about the recording.
    pub(in crate::commands) fn headline(&self) -> String {
        let state = match self.life {
            _ if self.behind > 0 => {
                format!(
                    "reading what was recorded before: {} left",
                    bytes(self.behind)
                )
            }
            Life::Recording => "recording".to_owned(),
            Life::Silent(silence) => {
                let silence = u64::try_from(silence.as_nanos()).unwrap_or(u64::MAX);
                format!("has not written for {}", prose(&duration(silence)))
            }
            Life::Gone => "the process has ended without finishing the recording".to_owned(),
            Life::Finished => "finished".to_owned(),
        };
        let mut line = format!(
            "process {}, {}: {} ops, {} per second; {state}",
            self.pid,
            prose(&duration(self.elapsed_ns)),
            count(self.ended),
            count(self.ended_per_s as u64),
        );
        for (number, what) in [
            (self.dropped, "not recorded: no room"),
            (self.lost, "lost in damaged records"),
        ] {
            if number > 0 {
                line = format!("{line}; {} {what}", count(number));
            }
        }
        line
    }

    pub(in crate::commands) fn to_json(&self) -> Result<String, serde_json::Error> {
        let ops: Vec<_> = self
            .ops
            .iter()
            .map(
                |OpSample {
                     op,
                     calls_per_s,
                     busy,
                 }| {
                    json!({
                        "operation": op.operation, "calls": op.calls, "calls_per_s": calls_per_s,
                        "busy": busy, "total_ns": op.total_ns, "self_ns": op.self_ns,
                        "waiting_ns": op.waiting_ns, "max_ns": op.max_ns, "open": op.open,
                    })
                },
            )
            .collect();
        let threads: Vec<_> = self
            .threads
            .iter()
            .map(|thread| {
                let ops: Vec<_> = thread
                    .ops
                    .iter()
                    .map(|op| {
                        json!({
                            "operation": op.operation, "input_shapes": op.input_shapes,
                            "duration_ns": op.duration_ns,
                        })
                    })
                    .collect();
                json!({ "thread": thread.thread, "name": thread.name, "open": ops })
            })
            .collect();
        serde_json::to_string_pretty(&json!({
            "pid": self.pid, "elapsed_ns": self.elapsed_ns, "ended": self.ended,
            "finished": self.life == Life::Finished, "dropped": self.dropped, "lost": self.lost,
            "ops": ops, "threads": threads,
        }))
    }
}

//! Slowdown: the time of a job compared with a job in which every call takes the usual time of its peers, and the
//! causes.

use super::peers::Usual;
use super::scenario::{Except, Factors, Which};
use super::{JobTime, WhatIf};
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use crate::model::wire::metadata::{STAGE, of_rank};
use std::collections::{BTreeMap, BTreeSet};

/// Number of ops and of ranks that are replayed: those whose work is furthest above the usual.
const MOST_PARTS: usize = 16;
/// The number for jobs with more than a million entries, because a replay of these takes a tenth of a second or more.
const MOST_PARTS_OF_LONG_JOBS: usize = 4;
const LONG_JOB: usize = 1_000_000;
/// A slowdown below this is noise.
const NOTICEABLE: f64 = 1.02;

/// The time of a job compared with the ideal job, and the causes of the difference.
///
/// After "Understanding Stragglers in Large Model Training Using What-if Analysis": in the ideal job every call takes
/// the usual time of its peers (the same op and shapes, on all ranks and in all steps), communication takes the usual
/// time without waiting for late ranks, and the same dependencies hold.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Slowdown {
    /// The time of the job divided by its ideal time, known as S. A job without stragglers has 1.
    pub slowdown: f64,
    /// The time of the job as it was.
    pub recorded: JobTime,
    /// The time of the ideal job.
    pub ideal: JobTime,
    /// By op type, the largest slowdown first. Only the largest are listed.
    pub ops: Vec<SlowdownPart>,
    /// By rank, the largest slowdown first. Only the largest are listed.
    pub ranks: Vec<SlowdownPart>,
    /// By pipeline stage, the largest slowdown first. Empty if the trace does not name the stage of each rank.
    pub stages: Vec<SlowdownPart>,
    /// The cause in one line.
    pub cause: String,
}

json_struct!(Slowdown {
    required: [slowdown, recorded, ideal, ops, ranks, stages, cause],
    optional: [],
});

/// A part of a job, and the cost of not taking the usual time.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SlowdownPart {
    /// The op, the rank or the stage.
    pub name: String,
    /// The slowdown of the job if only this part took its recorded time, and all other parts the usual time.
    pub slowdown: f64,
    /// The time that the job would save if only this part took the usual time; below 0 if the job would take longer. A
    /// rank is compared with the other ranks, an op or a stage with all calls.
    pub cost_ns: i64,
    /// `cost_ns` as a share of the time that the ideal job saves.
    pub explained: f64,
}

json_struct!(SlowdownPart {
    required: [name, slowdown, cost_ns, explained],
    optional: [],
});

/// The pipeline stage of a rank, if the metadata has it: `rank.R.stage`.
pub(super) fn stage_of<T: TraceView + ?Sized>(trace: &T, rank: u32) -> Option<String> {
    trace.metadata().get(&of_rank(rank, STAGE)).cloned()
}

impl<T: TraceView + ?Sized> WhatIf<'_, T> {
    /// Compares the job with the ideal one, by op, rank and stage.
    ///
    /// Takes two replays for each op, rank and stage that is listed.
    pub fn slowdown(&self, usual: Usual) -> Slowdown {
        let recorded = self.recorded();
        let all = super::Scenario::new().all_usual(usual).factors(self);
        let ideal = self.replayed(&all);
        let mut found = Slowdown {
            slowdown: ratio(recorded.total_ns, ideal.total_ns),
            ..Slowdown::default()
        };
        let part = |name: String, which: Which| {
            let selected = self.selected(&which);
            let others_ideal = Except {
                factors: &all,
                recorded: &*selected,
            };
            let alone = self.replayed(&others_ideal).total_ns;
            let mut fixed = Factors::unchanged();
            let compared = |entry: usize| !matches!(which, Which::Rank(_)) || !selected(entry);
            fixed.usual(&self.peers, usual, &*selected, &compared);
            let without = self.replayed(&fixed).total_ns;
            let cost = i128::from(recorded.total_ns) - i128::from(without);
            let saved = recorded.total_ns.saturating_sub(ideal.total_ns);
            SlowdownPart {
                name,
                slowdown: ratio(alone, ideal.total_ns),
                cost_ns: i64::try_from(cost).unwrap_or(i64::MAX),
                explained: cost as f64 / (saved.max(1)) as f64,
            }
        };
        let excess = self.excess(usual);
        found.ops = sorted(
            self.excess_ops(&excess)
                .into_iter()
                .map(|op| part(op.clone(), Which::Op(op))),
        );
        found.ranks = sorted(
            self.excess_ranks(&excess)
                .into_iter()
                .map(|rank| part(format!("rank {rank}"), Which::Rank(rank))),
        );
        found.stages = sorted(
            self.stages()
                .into_iter()
                .map(|stage| part(format!("stage {stage}"), Which::Stage(stage))),
        );
        found.recorded = recorded;
        found.ideal = ideal;
        found.cause = cause(&found);
        found
    }

    /// The stages of the job, if the trace names the stage of each rank and there are several.
    fn stages(&self) -> BTreeSet<String> {
        let ranks = self.peers.ranks.iter().flatten();
        let stages: Option<BTreeSet<String>> =
            ranks.map(|&rank| stage_of(self.trace, rank)).collect();
        stages.filter(|stages| stages.len() > 1).unwrap_or_default()
    }

    /// The time above the usual one.
    fn excess(&self, usual: Usual) -> Excess {
        let usual = self.peers.usual(usual, |_| true);
        let mut excess = Excess {
            of_groups: vec![0.0; usual.len()],
            of_ranks: vec![0.0; self.peers.ranks.len()],
        };
        for (entry, &ns) in self.peers.work.iter().enumerate() {
            let group = self.peers.group[entry] as usize;
            let over = ns as f64 - usual[group].unwrap_or(0.0);
            excess.of_groups[group] += over.max(0.0);
            excess.of_ranks[usize::from(self.peers.rank[entry])] += over;
        }
        excess
    }

    /// The ops, sorted by their time above the usual time, most first.
    fn excess_ops(&self, excess: &Excess) -> Vec<String> {
        let mut by_op: BTreeMap<&str, f64> = BTreeMap::new();
        for (&entry, excess) in self.peers.example.iter().zip(&excess.of_groups) {
            let view = self.trace.view(entry as usize);
            *by_op.entry(view.operation()).or_default() += excess;
        }
        let ops = by_op.into_iter().map(|(op, ns)| (op.to_owned(), ns));
        self.largest(ops.collect())
    }

    /// The ranks, sorted by their time above the usual time, most first.
    fn excess_ranks(&self, excess: &Excess) -> Vec<u32> {
        let ranks = self.peers.ranks.iter().zip(&excess.of_ranks);
        let ranks: Vec<(u32, f64)> = ranks
            .filter_map(|(rank, &ns)| Some(((*rank)?, ns)))
            .collect();
        if ranks.len() < 2 {
            return Vec::new();
        }
        self.largest(ranks)
    }

    fn largest<K>(&self, mut parts: Vec<(K, f64)>) -> Vec<K> {
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        parts.truncate(if self.peers.group.len() > LONG_JOB {
            MOST_PARTS_OF_LONG_JOBS
        } else {
            MOST_PARTS
        });
        parts.into_iter().map(|part| part.0).collect()
    }
}

/// The work in excess of the usual work.
struct Excess {
    /// By group of peers: the sum over the calls that took longer.
    of_groups: Vec<f64>,
    /// By the index of the rank: the sum over all calls; it may be below zero.
    of_ranks: Vec<f64>,
}

fn sorted(parts: impl Iterator<Item = SlowdownPart>) -> Vec<SlowdownPart> {
    let mut parts: Vec<SlowdownPart> = parts.collect();
    parts.sort_by(|a, b| b.slowdown.total_cmp(&a.slowdown));
    parts
}

fn ratio(actual: u64, ideal: u64) -> f64 {
    if ideal == 0 {
        1.0
    } else {
        actual as f64 / ideal as f64
    }
}

/// The cause in one line: a rank, if it explains the slowdown as well as its whole stage does; otherwise the stage;
/// otherwise the op.
fn cause(found: &Slowdown) -> String {
    if found.slowdown < NOTICEABLE {
        return format!(
            "no straggler: the job takes {:.3} × the time that it would take if every call took the usual time",
            found.slowdown
        );
    }
    let most = |parts: &[SlowdownPart]| {
        let most = parts
            .iter()
            .max_by(|a, b| a.explained.total_cmp(&b.explained));
        most.map_or((String::new(), 0.0), |part| {
            (part.name.clone(), part.explained)
        })
    };
    let (rank, stage, op) = (most(&found.ranks), most(&found.stages), most(&found.ops));
    let (name, explained) = if rank.1 >= 0.5 && rank.1 >= 0.9 * stage.1 {
        let because = if op.1 >= 0.5 {
            format!(", mostly in {}", op.0)
        } else {
            String::new()
        };
        (format!("{}{because}", rank.0), rank.1)
    } else if stage.1 >= 0.5 {
        (stage.0, stage.1)
    } else if op.1 >= 0.5 {
        (op.0, op.1)
    } else {
        (String::new(), 0.0)
    };
    let slowdown = format!("the job takes {:.2} × its ideal time", found.slowdown);
    let step = slow_step(found);
    if name.is_empty() {
        let most = step.map_or_else(String::new, |step| {
            format!("most of the loss is in step {step}, but ")
        });
        format!("{slowdown}; {most}no single rank, stage or op explains half of it")
    } else {
        let step = step.map_or_else(String::new, |step| format!(", in step {step}"));
        format!(
            "{slowdown}; the cause is {name}{step} ({:.0} % of the loss)",
            100.0 * explained
        )
    }
}

/// The step in which most of the time is lost, if there are several.
fn slow_step(found: &Slowdown) -> Option<u64> {
    const LEAST_STEPS: usize = 3;
    const MOST_OF_IT: f64 = 0.7;
    let steps = found.recorded.steps.iter().zip(&found.ideal.steps);
    let lost = steps.filter(|(recorded, ideal)| recorded.0 == ideal.0);
    let lost: Vec<(u64, u64)> = lost
        .map(|(recorded, ideal)| (recorded.1.saturating_sub(ideal.1), recorded.0))
        .collect();
    let total: u64 = lost.iter().map(|one| one.0).sum();
    let most = lost.iter().max().filter(|_| lost.len() >= LEAST_STEPS)?;
    (most.0 as f64 > MOST_OF_IT * total as f64).then_some(most.1)
}

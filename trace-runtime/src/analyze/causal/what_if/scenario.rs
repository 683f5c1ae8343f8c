//! Scenarios: the durations that a replay replaces, and their new values.

use super::WhatIf;
use super::peers::{Peers, Usual};
use super::replay::Durations;
use super::slowdown::stage_of;
use crate::model::TraceView;
use std::collections::HashMap;

/// Durations that a replay replaces. Changes apply in the order in which they were added, and their factors multiply.
///
/// Names of ops may have `*` for any text. A scenario without changes is the recorded job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scenario {
    changes: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq)]
enum Change {
    Scale(Which, f64),
    Usual(Which, Usual),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Which {
    All,
    Op(String),
    Rank(u32),
    Stage(String),
    Communication,
}

impl Scenario {
    /// The recorded job.
    pub fn new() -> Scenario {
        Scenario::default()
    }

    /// Ops of this name take `factor` times as long: 0.5 is twice as fast.
    #[must_use]
    pub fn scale(self, operation: impl Into<String>, factor: f64) -> Scenario {
        self.with(Change::Scale(Which::Op(operation.into()), factor))
    }

    /// Everything on this rank except communication takes `factor` times as long.
    #[must_use]
    pub fn scale_rank(self, rank: u32, factor: f64) -> Scenario {
        self.with(Change::Scale(Which::Rank(rank), factor))
    }

    /// Moving data takes no time. Ranks still wait until the other ranks send.
    #[must_use]
    pub fn without_communication(self) -> Scenario {
        self.with(Change::Scale(Which::Communication, 0.0))
    }

    /// Every call takes the usual time of its peers: calls of the same op with the same shapes, on all ranks.
    #[must_use]
    pub fn all_usual(self, usual: Usual) -> Scenario {
        self.with(Change::Usual(Which::All, usual))
    }

    /// Calls of this op take the usual time of their peers.
    #[must_use]
    pub fn usual_op(self, operation: impl Into<String>, usual: Usual) -> Scenario {
        self.with(Change::Usual(Which::Op(operation.into()), usual))
    }

    /// Calls on this rank take the usual time of their peers on the other ranks.
    #[must_use]
    pub fn usual_rank(self, rank: u32, usual: Usual) -> Scenario {
        self.with(Change::Usual(Which::Rank(rank), usual))
    }

    /// Calls on the ranks of this pipeline stage take the usual time of their peers on all ranks.
    #[must_use]
    pub fn usual_stage(self, stage: impl Into<String>, usual: Usual) -> Scenario {
        self.with(Change::Usual(Which::Stage(stage.into()), usual))
    }

    /// True if it is the recorded job.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn with(mut self, change: Change) -> Scenario {
        self.changes.push(change);
        self
    }

    pub(super) fn factors<T: TraceView + ?Sized>(&self, job: &WhatIf<'_, T>) -> Factors {
        let mut factors = Factors::unchanged();
        for change in &self.changes {
            match change {
                Change::Scale(which, factor) => {
                    let selected = job.selected(which);
                    let factor = if factor.is_finite() {
                        factor.max(0.0)
                    } else {
                        1.0
                    };
                    factors.multiply(job, |entry| {
                        let spared = matches!(which, Which::Rank(_)) && job.communication[entry];
                        if selected(entry) && !spared {
                            factor
                        } else {
                            1.0
                        }
                    });
                }
                Change::Usual(which, usual) => {
                    let selected = job.selected(which);
                    // A rank is compared with the other ranks; ops and stages are compared with all calls.
                    let others =
                        |entry: usize| !matches!(which, Which::Rank(_)) || !selected(entry);
                    factors.usual(&job.peers, *usual, &selected, &others);
                    if *which == Which::All {
                        factors.gaps = job.usual_gaps();
                    }
                }
            }
        }
        factors
    }
}

impl<T: TraceView + ?Sized> WhatIf<'_, T> {
    /// True if an entry is one of those that a change is about.
    pub(super) fn selected<'s>(&'s self, which: &'s Which) -> Box<dyn Fn(usize) -> bool + 's> {
        let peers = &self.peers;
        match which {
            Which::All => Box::new(|_| true),
            Which::Communication => Box::new(|entry| self.communication[entry]),
            Which::Op(pattern) => {
                let matches: Vec<bool> = peers
                    .example
                    .iter()
                    .map(|&entry| {
                        let view = self.trace.view(entry as usize);
                        matches_name(pattern, view.operation())
                    })
                    .collect();
                Box::new(move |entry| matches[peers.group[entry] as usize])
            }
            Which::Rank(rank) => {
                let is: Vec<bool> = peers.ranks.iter().map(|one| *one == Some(*rank)).collect();
                Box::new(move |entry| is[usize::from(peers.rank[entry])])
            }
            Which::Stage(stage) => {
                let of_rank = |rank: &Option<u32>| rank.and_then(|rank| stage_of(self.trace, rank));
                let is: Vec<bool> = peers
                    .ranks
                    .iter()
                    .map(|rank| of_rank(rank).as_deref() == Some(stage))
                    .collect();
                Box::new(move |entry| is[usize::from(peers.rank[entry])])
            }
        }
    }

    /// The factor for the time before each entry: the mean over calls of the same op after the same op.
    fn usual_gaps(&self) -> Vec<f32> {
        let group = |entry: u32| self.peers.group[entry as usize];
        let step = |entry: u32| self.peers.step.get(entry as usize);
        let own = || {
            let gaps = self.replay.own_gaps(self.peers.group.len());
            gaps.filter(|&(after, node, _)| step(after) == step(node))
        };
        let mut sums: HashMap<(u32, u32), (f64, f64)> = HashMap::new();
        for (after, node, ns) in own() {
            let sum = sums.entry((group(after), group(node))).or_default();
            sum.0 += ns as f64;
            sum.1 += 1.0;
        }
        let mut factors = vec![1.0; self.peers.group.len()];
        for (after, node, ns) in own() {
            let (sum, count) = sums[&(group(after), group(node))];
            factors[node as usize] = (sum / count / ns as f64) as f32;
        }
        factors
    }
}

/// Compares a name with a pattern in which `*` is any text.
fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|tail| {
            let mut ends = (0..=tail.len()).filter(|&at| tail.is_char_boundary(at));
            ends.any(|at| matches_name(rest, &tail[at..]))
        }),
    }
}

/// The factors of a scenario, except that some entries keep their recorded time.
pub(super) struct Except<'f> {
    pub(super) factors: &'f Factors,
    pub(super) recorded: &'f dyn Fn(usize) -> bool,
}

impl Durations for Except<'_> {
    fn work(&self, node: u32) -> f64 {
        // Runtime calls have higher numbers than entries, and no factor.
        match self.factors.work.get(node as usize) {
            Some(&factor) if !(self.recorded)(node as usize) => f64::from(factor),
            _ => 1.0,
        }
    }

    fn gap(&self, node: u32) -> f64 {
        self.factors.gap(node)
    }
}

/// The factors of a scenario.
#[derive(Debug)]
pub(super) struct Factors {
    /// By entry; empty if nothing changes.
    work: Vec<f32>,
    /// For the gap before each entry, by that entry; empty if nothing changes.
    gaps: Vec<f32>,
}

impl Factors {
    pub(super) fn unchanged() -> Factors {
        Factors {
            work: Vec::new(),
            gaps: Vec::new(),
        }
    }

    fn multiply<T: TraceView + ?Sized>(&mut self, job: &WhatIf<'_, T>, by: impl Fn(usize) -> f64) {
        self.work.resize(job.peers.group.len(), 1.0);
        for (entry, factor) in self.work.iter_mut().enumerate() {
            *factor *= by(entry) as f32;
        }
    }

    /// Sets the work of `selected` entries to the usual work of their peers for which `counts` is true. An entry
    /// without such peers keeps its time.
    pub(super) fn usual(
        &mut self,
        peers: &Peers,
        usual: Usual,
        selected: &dyn Fn(usize) -> bool,
        counts: &dyn Fn(usize) -> bool,
    ) {
        let usual = peers.usual(usual, counts);
        self.work.resize(peers.group.len(), 1.0);
        for (entry, factor) in self.work.iter_mut().enumerate() {
            if peers.work[entry] > 0
                && let Some(usual) = usual[peers.group[entry] as usize]
                && selected(entry)
            {
                *factor *= (usual / peers.work[entry] as f64) as f32;
            }
        }
    }
}

impl Durations for Factors {
    fn work(&self, node: u32) -> f64 {
        self.work
            .get(node as usize)
            .map_or(1.0, |&factor| f64::from(factor))
    }

    fn gap(&self, node: u32) -> f64 {
        self.gaps
            .get(node as usize)
            .map_or(1.0, |&factor| f64::from(factor))
    }
}

#[cfg(test)]
mod tests {
    use super::matches_name;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, name, matches) in [
            ("matmul", "matmul", true),
            ("matmul", "matmul2", false),
            ("mat*", "matmul", true),
            ("*mul", "matmul", true),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b", "a-b-c", false),
            ("*ü*", "grün", true),
        ] {
            assert_eq!(matches_name(pattern, name), matches, "{pattern} {name}");
        }
    }
}

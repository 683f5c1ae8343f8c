//! The steps of a trace, from the annotations that mark them.

use super::collector::{EventRow, UNFINISHED};
use super::ops::Ops;
use super::places::Places;
use super::step_names::{Family, StepName};
use crate::model::TraceStep;
use crate::model::hash::FastHash;
use std::collections::{BTreeMap, HashMap};

/// The rows of a trace that mark its steps. They do not become entries.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// By op, the number of the step that it marks; `None` if its name has no number: its steps are then counted.
    numbers: HashMap<u32, Option<u64>, FastHash>,
    /// The lane whose annotations are the steps, by rank.
    lanes: BTreeMap<Option<u32>, u32>,
    found: Vec<TraceStep>,
}

impl Steps {
    /// Finds the annotations that mark steps.
    ///
    /// If several loops are annotated, the steps are those of `torch.profiler`, else of an annotation with a
    /// `step_num`, else of the loop whose annotations take the most time (the outer one), else those on rows of
    /// devices. If several threads of a rank annotate the loop, the thread whose annotations take the most time
    /// decides.
    pub(super) fn find(rows: &[EventRow], ops: &Ops, places: &Places) -> Steps {
        let named: HashMap<u32, StepName, FastHash> = ops.steps().collect();
        if named.is_empty() {
            return Steps::default();
        }
        let mut time_of: BTreeMap<&Family, u64> = BTreeMap::new();
        for (row, step) in rows_of(rows, &named) {
            *time_of.entry(&step.family).or_default() += length(row);
        }
        let rank_of = |family: &Family| match family {
            Family::Profiler => 0,
            Family::Argument => 1,
            Family::Words(_) => 2,
            Family::Device => 3,
        };
        let chosen = time_of
            .iter()
            .min_by_key(|(family, time)| (rank_of(family), u64::MAX - **time))
            .map(|(family, _)| (*family).clone());
        let is_chosen = |step: &StepName| Some(&step.family) == chosen.as_ref();
        let mut by_lane: BTreeMap<(Option<u32>, u32), u64> = BTreeMap::new();
        for (row, _) in rows_of(rows, &named).filter(|(_, step)| is_chosen(step)) {
            let rank = places.rank(places.lanes()[row.lane as usize].place);
            *by_lane.entry((rank, row.lane)).or_default() += length(row);
        }
        let mut lanes = BTreeMap::new();
        let mut longest = BTreeMap::new();
        for ((rank, lane), time) in by_lane {
            if longest.get(&rank).is_none_or(|&so_far| time > so_far) {
                longest.insert(rank, time);
                lanes.insert(rank, lane);
            }
        }
        Steps {
            numbers: named
                .iter()
                .filter(|(_, step)| is_chosen(step))
                .map(|(&op, step)| (op, step.number))
                .collect(),
            lanes,
            found: Vec::new(),
        }
    }

    /// True if the rows of an op mark steps.
    pub(super) fn marks(&self, op: u32) -> bool {
        !self.numbers.is_empty() && self.numbers.contains_key(&op)
    }

    /// Takes a row that marks a step. `step` is its time, rank and thread in the trace; `process_rank` is the rank that
    /// the row's process is named after. Call it in the order of starts.
    pub(super) fn take(&mut self, row: &EventRow, process_rank: Option<u32>, mut step: TraceStep) {
        if self.lanes.get(&process_rank) != Some(&row.lane) {
            return;
        }
        let counted = || {
            let before = self.found.iter().filter(|known| known.rank == step.rank);
            before.count() as u64
        };
        let given = self.numbers.get(&row.op).copied().flatten();
        step.number = given.unwrap_or_else(counted);
        self.found.push(step);
    }

    pub(super) fn found(self) -> Vec<TraceStep> {
        self.found
    }
}

fn rows_of<'a>(
    rows: &'a [EventRow],
    named: &'a HashMap<u32, StepName, FastHash>,
) -> impl Iterator<Item = (&'a EventRow, &'a StepName)> {
    rows.iter()
        .filter_map(|row| Some((row, named.get(&row.op)?)))
}

fn length(row: &EventRow) -> u64 {
    match row.end {
        UNFINISHED => 0,
        end => end.abs_diff(row.start),
    }
}

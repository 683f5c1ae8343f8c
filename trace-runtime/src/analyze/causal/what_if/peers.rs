//! Peers: the calls of the same op with the same shapes, on all ranks. An entry is compared with its peers.

use super::super::CausalModel;
use crate::analyze::forest::NONE;
use crate::analyze::row_key::ByShape;
use crate::analyze::step_of::compact_steps;
use crate::model::TraceView;
use std::cell::OnceCell;
use std::collections::HashMap;

/// The usual duration of a call among its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Usual {
    /// The mean of all calls.
    #[default]
    Mean,
    /// The median of all calls: a few slow calls do not count.
    Median,
}

/// Facts about every entry that scenarios need, gathered once.
#[derive(Debug)]
pub(super) struct Peers {
    /// By entry: its group of peers; [`NONE`] for entries that are not in the model.
    pub(super) group: Vec<u32>,
    /// By entry, the time that it worked, without waiting and without the ops inside it.
    pub(super) work: Vec<u64>,
    /// By entry: the index of its rank in `ranks`.
    pub(super) rank: Vec<u16>,
    pub(super) ranks: Vec<Option<u32>>,
    /// By entry: the position of its step in `steps`; empty if the trace has no steps.
    pub(super) step: Vec<u32>,
    /// The numbers of the steps, in the order in which they began.
    pub(super) steps: Vec<u64>,
    /// By group: an entry of it.
    pub(super) example: Vec<u32>,
    groups: usize,
    /// The entries by group, and within a group by their work. Computed at the first request for a median.
    by_work: OnceCell<Vec<u32>>,
}

impl Peers {
    pub(super) fn of<T: TraceView + ?Sized>(model: &CausalModel<'_, T>) -> Peers {
        let trace = model.trace;
        let count = trace.entry_count();
        let mut peers = Peers {
            group: vec![NONE; count],
            work: vec![0; count],
            rank: vec![0; count],
            ranks: Vec::new(),
            step: Vec::new(),
            steps: Vec::new(),
            example: Vec::new(),
            groups: 0,
            by_work: OnceCell::new(),
        };
        for piece in model.pieces.iter().flatten() {
            if piece.is_work() && (piece.node as usize) < count {
                peers.work[piece.node as usize] += piece.length();
            }
        }
        peers.group_entries(trace);
        (peers.step, peers.steps) = numbered_steps(trace);
        peers
    }

    #[allow(
        clippy::mutable_key_type,
        reason = "a view compares by its entry, which does not change"
    )]
    fn group_entries<T: TraceView + ?Sized>(&mut self, trace: &T) {
        let mut by_signature: Vec<u32> = Vec::new();
        let mut by_shape: HashMap<ByShape<'_>, u32> = HashMap::new();
        let mut rank_numbers: HashMap<Option<u32>, u16> = HashMap::new();
        for (index, view) in trace.views().enumerate() {
            let ranks = &mut self.ranks;
            self.rank[index] = *rank_numbers.entry(view.rank()).or_insert_with(|| {
                ranks.push(view.rank());
                (ranks.len() - 1) as u16
            });
            let signature = view.signature().map(|signature| signature as usize);
            if let Some(&known) = signature.and_then(|signature| by_signature.get(signature))
                && known != NONE
            {
                self.group[index] = known;
                continue;
            }
            let next = by_shape.len() as u32;
            let group = *by_shape.entry(ByShape(view)).or_insert(next);
            if group == next {
                self.example.push(index as u32);
            }
            if let Some(signature) = signature {
                if signature >= by_signature.len() {
                    by_signature.resize(signature + 1, NONE);
                }
                by_signature[signature] = group;
            }
            self.group[index] = group;
        }
        self.groups = by_shape.len();
    }

    /// The usual work of each group, over the entries for which `counts` is true; `None` if there are none.
    pub(super) fn usual(&self, usual: Usual, counts: impl Fn(usize) -> bool) -> Vec<Option<f64>> {
        let mut found = vec![None; self.groups];
        match usual {
            Usual::Mean => {
                let mut sums: Vec<(f64, f64)> = vec![(0.0, 0.0); self.groups];
                for entry in (0..self.group.len()).filter(|&entry| counts(entry)) {
                    let sum = &mut sums[self.group[entry] as usize];
                    sum.0 += self.work[entry] as f64;
                    sum.1 += 1.0;
                }
                for (found, (sum, count)) in found.iter_mut().zip(sums) {
                    *found = (count > 0.0).then(|| sum / count);
                }
            }
            Usual::Median => {
                let mut counted: Vec<u64> = Vec::new();
                for group in self
                    .by_work()
                    .chunk_by(|&a, &b| self.group_of(a) == self.group_of(b))
                {
                    let entries = group.iter().map(|&entry| entry as usize);
                    counted.clear();
                    counted.extend(
                        entries
                            .filter(|&entry| counts(entry))
                            .map(|entry| self.work[entry]),
                    );
                    let middle = counted.len() / 2;
                    if let (Some(&low), Some(&high)) = (
                        counted.get(counted.len().saturating_sub(1) / 2),
                        counted.get(middle),
                    ) {
                        found[self.group_of(group[0]) as usize] =
                            Some(f64::midpoint(low as f64, high as f64));
                    }
                }
            }
        }
        found
    }

    fn group_of(&self, entry: u32) -> u32 {
        self.group[entry as usize]
    }

    fn by_work(&self) -> &[u32] {
        self.by_work.get_or_init(|| {
            let mut entries: Vec<u32> = (0..self.group.len() as u32).collect();
            entries
                .sort_unstable_by_key(|&entry| (self.group_of(entry), self.work[entry as usize]));
            entries
        })
    }
}

/// For each entry the position of its step, and the numbers of the steps in the order in which they began. Both are
/// empty if the trace has no steps.
pub(super) fn numbered_steps<T: TraceView + ?Sized>(trace: &T) -> (Vec<u32>, Vec<u64>) {
    let steps = trace.steps();
    let mut first: HashMap<u64, i64> = HashMap::new();
    for step in steps {
        let start = first.entry(step.number).or_insert(step.start_ns);
        *start = step.start_ns.min(*start);
    }
    let mut numbers: Vec<(i64, u64)> = first
        .into_iter()
        .map(|(number, start)| (start, number))
        .collect();
    numbers.sort_unstable();
    let numbers: Vec<u64> = numbers.into_iter().map(|one| one.1).collect();
    let position: HashMap<u64, u32> = numbers.iter().copied().zip(0..).collect();
    // By the index of a step: the position of its number.
    let positions: Vec<u32> = steps.iter().map(|step| position[&step.number]).collect();
    let mut of_entries = compact_steps(trace);
    for step in &mut of_entries {
        *step = positions.get(*step as usize).copied().unwrap_or(NONE);
    }
    (of_entries, numbers)
}

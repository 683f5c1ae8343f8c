//! Copies some entries of a store to a new store.

use super::row_order::RowOrder;
use super::runtime_call::{NONE, StoredCalls};
use super::store::TraceStore;
use super::trace_step::TraceStep;
use std::collections::HashMap;
use std::sync::OnceLock;

impl TraceStore {
    /// Keeps the entries for whose index `entry` is true, the steps for which `step` is true, and the memory events and
    /// runtime calls at moments for which `moment` is true.
    ///
    /// Rows are shared with this store, not copied. Entries keep their steps, parents and times; an entry whose parent
    /// is not kept is a root.
    pub(crate) fn select(
        &self,
        entry: impl Fn(usize) -> bool,
        step: impl Fn(&TraceStep) -> bool,
        moment: impl Fn(Option<u32>, i64) -> bool,
    ) -> TraceStore {
        let mut extras = HashMap::default();
        let mut order = Vec::new();
        let mut kept: Vec<u32> = Vec::new();
        for index in (0..self.len()).filter(|&index| entry(index)) {
            if let Some(extra) = self.extras.get(&(index as u32)) {
                extras.insert(order.len() as u32, extra.clone());
            }
            order.push(self.order.key(index));
            kept.push(index as u32);
        }
        TraceStore {
            dense: self.dense && order.len() == self.len(),
            order: RowOrder::Keys(order),
            extras,
            metas: self.metas.of_entries(kept.into_iter()),
            memory: self
                .memory
                .iter()
                .filter(|stored| moment(stored.event.rank, stored.event.at_ns))
                .copied()
                .collect(),
            calls: self.selected_calls(moment),
            steps: self.steps.iter().filter(|at| step(at)).copied().collect(),
            total_us: OnceLock::new(),
            strings: self.strings.clone(),
            signatures: self.signatures.clone(),
            words: self.words.clone(),
            threads: self.threads.clone(),
            chunks: self.chunks.clone(),
            scale: self.scale,
            metadata: self.metadata.clone(),
        }
    }

    fn selected_calls(&self, moment: impl Fn(Option<u32>, i64) -> bool) -> StoredCalls {
        let known = &self.calls;
        let mut numbers = vec![NONE; known.calls.len()];
        let mut calls = Vec::new();
        for (number, call) in numbers.iter_mut().zip(&known.calls) {
            let rank = self.threads[call.thread as usize].rank;
            if moment(rank, call.start_ns) {
                *number = calls.len() as u32;
                calls.push(*call);
            }
        }
        let renumbered = |call: u32| {
            let number = numbers.get(call as usize).copied();
            number.filter(|&number| number != NONE)
        };
        StoredCalls {
            calls,
            targets: known
                .targets
                .iter()
                .map(|target| {
                    let mut target = *target;
                    target.event = target.event.and_then(renumbered);
                    target
                })
                .collect(),
            launches: known
                .launches
                .iter()
                .filter_map(|&(step, call)| Some((step, renumbered(call)?)))
                .collect(),
        }
    }
}

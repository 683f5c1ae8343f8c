//! Groups of entries by a borrowed key, and the sums of each group.

use super::forest::NONE;
use super::nesting::{Nesting, active_us};
use crate::model::hash::FastMap;
use crate::model::{EntryView, TraceView};
use std::hash::Hash;

/// Numbers the distinct keys of entries from 0, in the order of their first use.
///
/// The key must depend only on an entry's op, kind, label, location, device and tensors: if the storage numbers those
/// combinations, the key is computed once for each.
#[derive(Debug)]
pub(crate) struct Grouping<K> {
    keys: Vec<K>,
    ids: FastMap<K, u32>,
    by_signature: Vec<u32>,
}

/// Marks a signature that was not looked up yet; [`NONE`] marks one without a group.
const UNSEEN: u32 = u32::MAX - 1;

impl<K: Copy + Eq + Hash> Grouping<K> {
    pub(crate) fn new() -> Self {
        Grouping {
            keys: Vec::new(),
            ids: FastMap::default(),
            by_signature: Vec::new(),
        }
    }

    /// The number of the entry's group; [`NONE`] if it has no key.
    pub(crate) fn group<'a>(
        &mut self,
        view: &EntryView<'a>,
        key: impl FnOnce(&EntryView<'a>) -> Option<K>,
    ) -> u32 {
        let Some(signature) = view.signature() else {
            return self.number(key(view));
        };
        let signature = signature as usize;
        if signature >= self.by_signature.len() {
            self.by_signature.resize(signature + 1, UNSEEN);
        }
        if self.by_signature[signature] == UNSEEN {
            self.by_signature[signature] = self.number(key(view));
        }
        self.by_signature[signature]
    }

    fn number(&mut self, key: Option<K>) -> u32 {
        let Some(key) = key else { return NONE };
        *self.ids.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        })
    }

    /// The keys, by number.
    pub(crate) fn keys(&self) -> &[K] {
        &self.keys
    }
}

/// The sums of the entries of one group.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupSum {
    pub(crate) count: usize,
    /// The sum of durations, without entries inside another of their group and without suspended time.
    pub(crate) total_us: f64,
    pub(crate) self_us: f64,
    /// The sum of the durations of all entries, including those inside others.
    pub(crate) duration_us: f64,
    pub(crate) memory_bytes: usize,
}

/// Adds up entries by key, in the order of their first use.
pub(crate) fn sums_by<'a, T, K>(
    trace: &'a T,
    mut key: impl FnMut(&EntryView<'a>) -> Option<K>,
) -> Vec<(K, GroupSum)>
where
    T: TraceView + ?Sized,
    K: Copy + Eq + Hash,
{
    // A large trace is read from memory only once, unless it turns out to be nested.
    if let Some(sums) = flat_sums_by(trace, &mut key) {
        return sums;
    }
    let nesting = Nesting::of(trace);
    let mut grouping = Grouping::new();
    let groups: Vec<u32> = trace
        .views()
        .map(|view| grouping.group(&view, &mut key))
        .collect();
    let inside = nesting.inside_own_group(&groups);
    let mut sums = vec![GroupSum::default(); grouping.keys.len()];
    for (index, view) in trace.views().enumerate() {
        if let Some(sum) = sums.get_mut(groups[index] as usize) {
            sum.add(&view, nesting.self_us(index, &view));
            if !inside.get(index).is_some_and(|&inside| inside) {
                sum.total_us += active_us(&view);
            }
        }
    }
    grouping.keys.into_iter().zip(sums).collect()
}

/// The sums of a trace in which no entry has a parent; `None` if an entry has one.
fn flat_sums_by<'a, T, K>(
    trace: &'a T,
    key: &mut impl FnMut(&EntryView<'a>) -> Option<K>,
) -> Option<Vec<(K, GroupSum)>>
where
    T: TraceView + ?Sized,
    K: Copy + Eq + Hash,
{
    let mut grouping = Grouping::new();
    let mut sums: Vec<GroupSum> = Vec::new();
    for view in trace.views() {
        if view.parent().is_some() {
            return None;
        }
        let group = grouping.group(&view, &mut *key);
        if group == NONE {
            continue;
        }
        let group = group as usize;
        if group >= sums.len() {
            sums.resize_with(group + 1, GroupSum::default);
        }
        let sum = &mut sums[group];
        let us = active_us(&view);
        sum.add(&view, us);
        sum.total_us += us;
    }
    Some(grouping.keys.into_iter().zip(sums).collect())
}

impl GroupSum {
    fn add(&mut self, view: &EntryView<'_>, self_us: f64) {
        self.count += 1;
        self.duration_us += view.duration_us();
        self.self_us += self_us;
        self.memory_bytes = self.memory_bytes.saturating_add(view.memory_bytes());
    }
}

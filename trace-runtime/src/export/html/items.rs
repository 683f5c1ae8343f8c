//! The executions on the timeline: one item per entry, or one item for several entries that are shorter than a pixel.

use super::blob::Blob;
use super::rows::Rows;
use crate::analyze::{ByShape, Grouping, OpRow, self_times_ns, step_of_entries};
use crate::model::TraceView;
use std::collections::HashMap;

/// Items in a page, at most. In a larger trace, short entries that follow each other are shown as one item.
pub(super) const MOST_ITEMS: usize = 1 << 20;
/// Items per block of the level above.
const PER_BLOCK: usize = 8;

/// One rectangle of the timeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
    /// Row of the table of ops and shapes. For several entries, the row with the most time.
    shape: u32,
    /// Time that is not self time: inside other ops, and suspended.
    inside_ns: u64,
    /// One more than the index of its step; 0 for none.
    step: u32,
    /// Number of entries.
    count: u32,
}

/// All items, in the order of row and start.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) all: Vec<Item>,
    /// Number of items of each row.
    lengths: Vec<u32>,
    /// Item of each entry; `NO_ITEM` for entries that are not on the timeline.
    pub(super) of_entry: Vec<u32>,
    /// Entries shorter than this were joined; 0 if none were.
    pub(super) joined_below_ns: u64,
}

pub(super) const NO_ITEM: u32 = u32::MAX;

impl Items {
    pub(super) fn of(trace: &dyn TraceView, rows: &Rows, shapes: &[OpRow], most: usize) -> Items {
        let self_ns = self_times_ns(trace);
        let step_of = step_of_entries(trace);
        let row_of_shape = shape_rows(trace, shapes);
        let mut all: Vec<Item> = rows
            .placed
            .iter()
            .map(|&(entry, start_ns)| {
                let index = entry as usize;
                let duration_ns = trace.view(index).duration_ns();
                let step = step_of.get(index).copied().flatten();
                Item {
                    start_ns,
                    duration_ns,
                    shape: row_of_shape[index],
                    inside_ns: duration_ns.saturating_sub(self_ns[index]),
                    step: step.map_or(0, |step| step as u32 + 1),
                    count: 1,
                }
            })
            .collect();
        let mut of_placed: Vec<u32> = (0..all.len() as u32).collect();
        let mut lengths = rows.lengths.clone();
        let mut joined_below_ns = 0;
        if all.len() > most {
            let mut below = threshold(&all, most);
            loop {
                let joined = join(&all, &rows.lengths, below);
                if joined.0.len() <= most || below > u64::MAX / 4 {
                    (all, lengths, of_placed) = joined;
                    break;
                }
                below *= 2;
            }
            joined_below_ns = below;
        }
        let mut of_entry = vec![NO_ITEM; trace.entry_count()];
        for (&(entry, _), item) in rows.placed.iter().zip(of_placed) {
            of_entry[entry as usize] = item;
        }
        Items {
            all,
            lengths,
            of_entry,
            joined_below_ns,
        }
    }

    /// Number of entries that share an item with others.
    pub(super) fn joined(&self) -> u64 {
        let shared = self.all.iter().filter(|item| item.count > 1);
        shared.map(|item| u64::from(item.count)).sum()
    }

    pub(super) fn write(&self, blob: &mut Blob) {
        blob.numbers("row_lengths", self.lengths.iter().map(|&n| u64::from(n)));
        // Each row begins at its first start, so most differences are small and positive.
        blob.differences("start", self.all.iter().map(|item| item.start_ns));
        blob.numbers("duration", self.all.iter().map(|item| item.duration_ns));
        blob.numbers("shape", self.all.iter().map(|item| u64::from(item.shape)));
        blob.numbers("inside", self.all.iter().map(|item| item.inside_ns));
        blob.differences("step", self.all.iter().map(|item| u64::from(item.step)));
        let shared = || (0u64..).zip(&self.all).filter(|(_, item)| item.count > 1);
        blob.differences("joined_item", shared().map(|(index, _)| index));
        blob.numbers("joined_count", shared().map(|(_, item)| item.count.into()));
        blob.numbers("levels", self.levels().into_iter());
    }

    /// The colours for a view in which several items share a pixel: for each block of eight items of a row, the shape
    /// with the most time; then for each block of eight such blocks, and so on until one is left. Row by row, the
    /// finest level first.
    fn levels(&self) -> Vec<u64> {
        let mut levels = Vec::with_capacity(self.all.len() / 7);
        let mut first = 0;
        for &length in &self.lengths {
            let row = &self.all[first..first + length as usize];
            first += length as usize;
            let mut level: Vec<(u32, u64)> = row
                .iter()
                .map(|item| (item.shape, item.duration_ns))
                .collect();
            while level.len() > PER_BLOCK {
                level = level.chunks(PER_BLOCK).map(longest).collect();
                levels.extend(level.iter().map(|&(shape, _)| u64::from(shape)));
            }
        }
        levels
    }
}

/// The shape with the most time, and its time.
fn longest(block: &[(u32, u64)]) -> (u32, u64) {
    let mut sums = [(0u32, 0u64); PER_BLOCK];
    let mut known = 0;
    for &(shape, ns) in block {
        if let Some(sum) = sums[..known].iter_mut().find(|sum| sum.0 == shape) {
            sum.1 = sum.1.saturating_add(ns);
        } else {
            sums[known] = (shape, ns);
            known += 1;
        }
    }
    let most = sums[..known].iter().rev().max_by_key(|sum| sum.1);
    most.copied().unwrap_or_default()
}

/// The row in `shapes` of each entry.
fn shape_rows(trace: &dyn TraceView, shapes: &[OpRow]) -> Vec<u32> {
    type Key<'a> = (&'a str, Option<&'a str>, bool, &'a [Vec<usize>]);
    let rows: HashMap<Key<'_>, u32> = (0..)
        .zip(shapes)
        .map(|(number, row)| {
            let shapes = row.input_shapes.as_deref().unwrap_or_default();
            let label = row.label.as_deref();
            (
                (row.operation.as_str(), label, row.accelerator, shapes),
                number,
            )
        })
        .collect();
    let mut grouping = Grouping::new();
    let groups: Vec<u32> = trace
        .views()
        .map(|view| grouping.group(&view, |view| Some(ByShape(*view))))
        .collect();
    let numbers: Vec<u32> = grouping
        .keys()
        .iter()
        .map(|key| {
            let view = key.0;
            let shapes: Vec<Vec<usize>> = view.inputs().map(|input| input.dims.to_vec()).collect();
            let accelerator = view.device_id().is_some_and(|device| device != "cpu");
            let key = (
                view.operation(),
                view.label(),
                accelerator,
                shapes.as_slice(),
            );
            rows.get(&key).copied().unwrap_or(0)
        })
        .collect();
    groups
        .into_iter()
        .map(|group| numbers[group as usize])
        .collect()
}

/// A duration such that at most half of `most` entries are as long or longer.
fn threshold(items: &[Item], most: usize) -> u64 {
    let mut counts = [0usize; 65];
    for item in items {
        counts[64 - item.duration_ns.leading_zeros() as usize] += 1;
    }
    let mut longer = items.len();
    for (bits, count) in counts.into_iter().enumerate() {
        longer -= count;
        if longer <= most / 2 {
            return 1 << bits.min(62);
        }
    }
    1
}

/// Joins entries of a row that are shorter than `below` and follow each other within that time. Returns the items, the
/// number of items of each row, and the new item of each old one.
fn join(all: &[Item], lengths: &[u32], below: u64) -> (Vec<Item>, Vec<u32>, Vec<u32>) {
    // Long enough to save items, short enough to show where the row was busy.
    let longest_item = below.saturating_mul(16);
    let mut items: Vec<Item> = Vec::new();
    let mut new_lengths = Vec::with_capacity(lengths.len());
    let mut numbers = Vec::with_capacity(all.len());
    let mut rest = all;
    for &length in lengths {
        let (row, others) = rest.split_at(length as usize);
        rest = others;
        let first = items.len();
        // Time by shape of the entries of the last joined item.
        let mut times: Vec<(u32, u64)> = Vec::new();
        for item in row {
            let open = items.len() > first;
            let fits = |last: &Item| {
                let end = item.start_ns.saturating_add(item.duration_ns);
                last.step == item.step
                    && (last.count > 1 || last.duration_ns < below)
                    && item.start_ns <= last.end_ns().saturating_add(below)
                    && end - last.start_ns <= longest_item
            };
            match items.last_mut() {
                Some(last) if open && item.duration_ns < below && fits(last) => {
                    match times.iter_mut().find(|time| time.0 == item.shape) {
                        Some(time) => time.1 += item.duration_ns,
                        None => times.push((item.shape, item.duration_ns)),
                    }
                    last.add(item);
                    let most = times.iter().max_by_key(|time| time.1);
                    last.shape = most.map_or(item.shape, |time| time.0);
                }
                _ => {
                    items.push(*item);
                    times.clear();
                    times.push((item.shape, item.duration_ns));
                }
            }
            numbers.push(items.len() as u32 - 1);
        }
        new_lengths.push((items.len() - first) as u32);
    }
    (items, new_lengths, numbers)
}

impl Item {
    fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }

    fn add(&mut self, next: &Item) {
        let self_ns = self.duration_ns - self.inside_ns.min(self.duration_ns);
        let next_self = next.duration_ns - next.inside_ns.min(next.duration_ns);
        self.duration_ns = next.end_ns().saturating_sub(self.start_ns);
        // The gap between the two items is not self time.
        self.inside_ns = self.duration_ns.saturating_sub(self_ns + next_self);
        self.count += next.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(start_ns: u64, duration_ns: u64, shape: u32) -> Item {
        Item {
            start_ns,
            duration_ns,
            shape,
            inside_ns: 0,
            step: 0,
            count: 1,
        }
    }

    #[test]
    fn short_items_that_follow_each_other_become_one_with_all_their_self_time() {
        let all = [
            item(0, 5, 1),
            item(6, 8, 2),
            item(20, 100, 3),
            item(121, 5, 1),
            item(200, 5, 1),
            // The next row.
            item(0, 5, 4),
        ];
        let (items, lengths, numbers) = join(&all, &[5, 1], 10);
        assert_eq!(lengths, [4, 1]);
        assert_eq!(numbers, [0, 0, 1, 2, 3, 4]);
        let first = items[0];
        assert_eq!((first.start_ns, first.duration_ns, first.count), (0, 14, 2));
        assert_eq!(first.duration_ns - first.inside_ns, 13);
        assert_eq!(first.shape, 2, "the shape with the most time");
        assert_eq!(items[1].shape, 3);
    }

    #[test]
    fn a_block_shows_the_shape_with_the_most_time() {
        assert_eq!(longest(&[(1, 5), (2, 8), (1, 4)]), (1, 9));
        assert_eq!(longest(&[(7, 0)]), (7, 0));
    }

    #[test]
    fn at_most_half_of_the_items_reach_the_threshold() {
        let all: Vec<Item> = (0..100).map(|n| item(n, n, 0)).collect();
        let below = threshold(&all, 50);
        assert!(all.iter().filter(|item| item.duration_ns >= below).count() <= 25);
        assert!(below <= 128);
    }
}

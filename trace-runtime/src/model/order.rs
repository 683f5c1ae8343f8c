//! Total orders for numbers that may be NaN, and a selection of the largest items.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Largest first; NaN after everything else.
pub(crate) fn descending(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => b.total_cmp(&a),
        (a, b) => a.cmp(&b),
    }
}

/// The `n` items with the largest keys, largest first; items with equal keys keep their order. Holds `n` items at a
/// time.
pub(crate) fn top_by<T>(items: impl Iterator<Item = (f64, T)>, n: usize) -> Vec<T> {
    if n == 0 {
        return Vec::new();
    }
    // The item on top of the heap is the smallest of those that are kept.
    let mut kept: BinaryHeap<Ranked<T>> = BinaryHeap::new();
    for (index, (key, item)) in items.enumerate() {
        let ranked = Ranked {
            key,
            index: Reverse(index),
            item,
        };
        if kept.len() < n {
            kept.push(ranked);
        } else if let Some(mut worst) = kept.peek_mut()
            && ranked.cmp(&worst) == Ordering::Less
        {
            *worst = ranked;
        }
    }
    kept.into_sorted_vec()
        .into_iter()
        .map(|ranked| ranked.item)
        .collect()
}

struct Ranked<T> {
    key: f64,
    index: Reverse<usize>,
    item: T,
}

/// The item with the larger key compares as less.
impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        descending(self.key, other.key).then(other.index.cmp(&self.index))
    }
}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Ranked<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_ties_in_order_and_nan_last() {
        let keys = [1.0, f64::NAN, 3.0, 3.0, -0.0, f64::INFINITY];
        let top = |n| top_by(keys.iter().copied().zip(0..), n);
        assert_eq!(top(3), [5, 2, 3]);
        assert_eq!(top(10), [5, 2, 3, 0, 4, 1]);
        assert_eq!(top(0), [0; 0]);
    }
}

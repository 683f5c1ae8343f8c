//! The durations of groups of entries, and exact percentiles of them.

use super::forest::NONE;
use crate::model::TraceView;

/// The durations of the entries of each group, next to each other.
pub(crate) struct Durations {
    ends: Vec<usize>,
    ns: Vec<u64>,
}

impl Durations {
    /// `group` gives each entry's group, numbered from 0, or [`NONE`].
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &T, group: &[u32], groups: usize) -> Durations {
        let mut ends = vec![0; groups];
        for &group in group.iter().filter(|&&group| group != NONE) {
            ends[group as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            // At first the start of each group. Filling a group increases it to the end of the group.
            sum += std::mem::replace(end, sum);
        }
        let mut ns = vec![0; sum];
        for (view, &group) in trace.views().zip(group) {
            if group != NONE {
                let next = &mut ends[group as usize];
                ns[*next] = view.duration_ns();
                *next += 1;
            }
        }
        Durations { ends, ns }
    }

    /// The durations of a group, for [`percentile`] to rearrange.
    pub(crate) fn group(&mut self, group: usize) -> &mut [u64] {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &mut self.ns[start..self.ends[group]]
    }
}

/// The nearest-rank percentile: the smallest value that at least `percent` % of the values do not exceed. 0 if there
/// are no values.
pub(crate) fn percentile(values: &mut [u64], percent: usize) -> u64 {
    let rank = (values.len() * percent).div_ceil(100).max(1);
    if values.is_empty() {
        return 0;
    }
    *values.select_nth_unstable(rank.min(values.len()) - 1).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_enough_do_not_exceed() {
        let mut values: Vec<u64> = (1..=100).rev().collect();
        let found = [1, 50, 95, 99, 100].map(|percent| percentile(&mut values, percent));
        assert_eq!(found, [1, 50, 95, 99, 100]);
        assert_eq!(
            [50, 99].map(|percent| percentile(&mut [7, 3], percent)),
            [3, 7]
        );
        assert_eq!(percentile(&mut [4], 1), 4);
        assert_eq!(percentile(&mut [], 50), 0);
    }
}

//! Sets of moments: unions, intersections and differences of intervals, in whole nanoseconds.

/// A set of moments, kept as disjoint intervals in order.
///
/// Durations that overlap cannot be added up; the length of their union has no overlap.
///
/// ```
/// use trace_runtime::analyze::Intervals;
///
/// let compute: Intervals = [(0, 10), (5, 20)].into_iter().collect();
/// let copies: Intervals = [(15, 30)].into_iter().collect();
/// assert_eq!(compute.length(), 20);
/// assert_eq!(compute.intersection(&copies).length(), 5);
/// assert_eq!(copies.difference(&compute).length(), 10);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intervals(Vec<(i64, i64)>);

impl Intervals {
    /// The disjoint intervals, in order: each begins after the one before it ended.
    pub fn as_slice(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sum of the lengths of the intervals, in nanoseconds; saturating.
    pub fn length(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, &(start, end)| {
            sum.saturating_add(end.abs_diff(start))
        })
    }

    /// The moments that are in at least one of the two.
    #[must_use]
    pub fn union(&self, other: &Intervals) -> Intervals {
        self.0.iter().chain(&other.0).copied().collect()
    }

    /// The moments that are in both.
    #[must_use]
    pub fn intersection(&self, other: &Intervals) -> Intervals {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = Vec::new();
        while let (Some(&&a), Some(&&b)) = (left.peek(), right.peek()) {
            let (start, end) = (a.0.max(b.0), a.1.min(b.1));
            if start < end {
                common.push((start, end));
            }
            if a.1 < b.1 {
                left.next();
            } else {
                right.next();
            }
        }
        Intervals(common)
    }

    /// The moments of this one that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Intervals) -> Intervals {
        let mut left = Vec::new();
        let mut holes = other.0.iter().copied().peekable();
        for &(start, end) in &self.0 {
            let mut from = start;
            while let Some(&(hole_start, hole_end)) = holes.peek() {
                if hole_start >= end {
                    break;
                }
                if hole_start > from {
                    left.push((from, hole_start));
                }
                from = from.max(hole_end);
                if hole_end > end {
                    // The next interval may overlap the same part of the other set.
                    break;
                }
                holes.next();
            }
            if from < end {
                left.push((from, end));
            }
        }
        Intervals(left)
    }
}

/// The union of intervals in any order. Empty intervals are left out, and intervals that touch are joined.
impl FromIterator<(i64, i64)> for Intervals {
    fn from_iter<I: IntoIterator<Item = (i64, i64)>>(intervals: I) -> Self {
        let mut all: Vec<(i64, i64)> = intervals
            .into_iter()
            .filter(|(start, end)| start < end)
            .collect();
        // A stable sort, because it takes linear time for the usual input: a few sorted lists.
        all.sort_by_key(|interval| interval.0);
        all.dedup_by(|next, kept| {
            let touches = next.0 <= kept.1;
            if touches {
                kept.1 = kept.1.max(next.1);
            }
            touches
        });
        // A list that grew has up to half of its memory to spare, and sets stay for the whole analysis.
        all.shrink_to_fit();
        Intervals(all)
    }
}

/// Adds to a sum of times, without overflow.
pub(crate) fn add_ns(sum: &mut u64, ns: u64) {
    *sum = sum.saturating_add(ns);
}

/// Sums of times: damaged traces contain times near the largest number, and an analysis must not panic.
pub(crate) trait SaturatingSum: Iterator<Item = u64> + Sized {
    fn saturating_sum(self) -> u64 {
        self.fold(0, u64::saturating_add)
    }
}

impl<I: Iterator<Item = u64>> SaturatingSum for I {}

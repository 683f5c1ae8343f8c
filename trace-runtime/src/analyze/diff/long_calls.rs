//! Moves long calls to a separate row if they hide that the other calls of an op changed.
//!
//! On a machine that has more to do than it has cores, most of the elapsed time of an op is that of a few interrupted
//! calls, and changes at random. It may happen that the quiet calls of an op are proven to be slower while the time of
//! its long calls shrinks by more. Then the time beyond two median calls moves to a separate row. So the rows still add
//! up, and no row that shrinks is called slower.

use super::comparison::Comparison;
use super::decomposition::Parts;
use super::item::Metric;
use super::run_summary::RowFigures;
use super::testing::ItemTest;

impl Comparison<'_> {
    /// Decides which rows are shown without their long calls.
    pub(super) fn set_long_calls_apart(&mut self) {
        // One run does not show how much long calls vary.
        if !self.runs.show_variance() {
            return;
        }
        let tests = self.tests();
        let change_of = |one: &ItemTest| self.parts(&self.items[one.item]).change_ns();
        let hides = |one: &&ItemTest| {
            let up = one.test.size() > 0.0;
            let time_is_proven = || {
                let mut times = tests
                    .iter()
                    .filter(|other| other.item == one.item && other.metric == Metric::Time);
                times.any(|time| self.is_proven(&time.test, time.holds))
            };
            one.metric == Metric::Quiet
                && self.is_proven(&one.test, one.holds)
                && (change_of(one) > 0) != up
                && !time_is_proven()
        };
        let rows: Vec<usize> = tests
            .iter()
            .filter(hides)
            .flat_map(|one| self.items[one.item].rows.iter().copied())
            .collect();
        for row in rows {
            self.set_apart(row);
        }
    }

    fn set_apart(&mut self, row: usize) {
        let units = (self.quiet.0.0.units(), self.quiet.1.0.units());
        let figures = &self.matched.figures[row];
        let without = |run: usize| {
            let of = figures.get(run)?.as_ref()?;
            Some(RowFigures {
                self_ns: of.self_ns.saturating_sub(of.long_ns),
                ..*of
            })
        };
        let (before, after) = (without(self.quiet.0.1), without(self.quiet.1.1));
        let steady = Parts::of(before.as_ref(), after.as_ref(), units);
        let whole = std::mem::replace(&mut self.parts[row], steady);
        self.long_ns.0 += whole.before_ns - steady.before_ns;
        self.long_ns.1 += whole.after_ns - steady.after_ns;
    }
}

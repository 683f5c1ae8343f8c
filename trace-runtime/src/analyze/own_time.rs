//! When each entry was the innermost of its thread.

use super::forest::{Forest, Visit};
use super::nesting::Nesting;
use crate::model::TraceView;

/// Calls `visit` with the index, the start and the end of every stretch in which an entry ran and no
/// entry inside of it did.
///
/// Stretches of one entry come in order. Entries without a start have none. A suspended async op keeps
/// its stretch: where in its duration it was suspended is not recorded.
pub(crate) fn own_stretches<T: TraceView + ?Sized>(
    trace: &T,
    nesting: &Nesting,
    mut visit: impl FnMut(usize, i64, i64),
) {
    let span = |index: usize| {
        let view = trace.view(index);
        view.start_ns().zip(view.end_ns())
    };
    if nesting.is_flat() {
        for index in 0..trace.entry_count() {
            if let Some((start, end)) = span(index) {
                visit(index, start, end);
            }
        }
        return;
    }
    // For each open entry, from where on its time is not yet given to anyone.
    let mut open: Vec<(usize, i64, i64)> = Vec::new();
    Forest::of(nesting.parents()).walk(|step| match step {
        Visit::Enter(index) => {
            let (start, end) = span(index).unwrap_or((i64::MIN, i64::MIN));
            open.push((index, start, end));
        }
        Visit::Leave(_) => {
            let Some((index, from, end)) = open.pop() else {
                return;
            };
            if from < end {
                visit(index, from, end);
            }
            let Some((start, end)) = span(index) else {
                return;
            };
            if let Some((outer, from, outer_end)) = open.last_mut()
                && *from < *outer_end
            {
                if *from < start {
                    visit(*outer, *from, start.min(*outer_end));
                }
                *from = (*from).max(end);
            }
        }
    });
}

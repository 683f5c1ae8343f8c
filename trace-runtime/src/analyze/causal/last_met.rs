//! Finds the last meeting of two ranks.

use super::CausalModel;
use super::rank::RankWait;
use crate::model::TraceView;
use std::collections::BTreeMap;

/// Number of meetings of a rank that are searched for the last one with another rank.
const MEETINGS_BACK: usize = 64;

/// The meetings of each rank in the order of time, to find when two ranks last met.
pub(super) struct LastMet {
    /// By meeting: rank and end of each part, sorted.
    parts: Vec<Box<[(u32, i64)]>>,
    /// By rank: meetings with the start of the rank's part, in the order of starts.
    of_rank: BTreeMap<u32, Vec<(i64, u32)>>,
}

impl LastMet {
    pub(super) fn of<T: TraceView + ?Sized>(model: &CausalModel<'_, T>) -> LastMet {
        let mut of_rank: BTreeMap<u32, Vec<(i64, u32)>> = BTreeMap::new();
        let mut parts = Vec::with_capacity(model.meetings.all.len());
        let completions = &model.meetings.completions;
        for (number, meeting) in (0..).zip(&model.meetings.all) {
            let mut part: Vec<(u32, i64)> = Vec::with_capacity(meeting.entries.len());
            for &entry in &meeting.entries {
                let rank = model.rank_of(entry);
                let (start, end) = completions.span(model.trace, entry).unwrap_or((0, 0));
                part.push((rank, end));
                of_rank.entry(rank).or_default().push((start, number));
            }
            part.sort_unstable();
            parts.push(part.into_boxed_slice());
        }
        for meetings in of_rank.values_mut() {
            meetings.sort_unstable();
        }
        LastMet { parts, of_rank }
    }

    /// The time at which both ranks had left the last meeting that they had in common before these entries; the minimum
    /// if there was none.
    pub(super) fn of_pair<T: TraceView + ?Sized>(
        &self,
        model: &CausalModel<'_, T>,
        wait: &RankWait,
        rank: u32,
        late_rank: u32,
    ) -> (i64, i64) {
        let start = |entry: u32| {
            let view = model.trace.view(entry as usize);
            view.start_ns().unwrap_or(0)
        };
        let (own_start, late_start) = (start(wait.entry), start(wait.late));
        let all = self.of_rank.get(&rank).map_or(&[][..], Vec::as_slice);
        let before = all.partition_point(|&(start, _)| start < own_start);
        let found = all[..before]
            .iter()
            .rev()
            .take(MEETINGS_BACK)
            // A call that does not block began before the op that waits for it.
            .filter(|&&(_, number)| number != wait.meeting)
            .find_map(|&(_, number)| {
                let parts = &self.parts[number as usize];
                let end_of = |rank: u32| {
                    let at = parts.partition_point(|part| part.0 < rank);
                    parts
                        .get(at)
                        .filter(|part| part.0 == rank)
                        .map(|part| part.1)
                };
                end_of(rank).zip(end_of(late_rank))
            });
        let (own, late) = found.unwrap_or((model.first_start, model.first_start));
        (own.min(own_start), late.min(late_start))
    }
}

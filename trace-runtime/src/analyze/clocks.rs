//! Aligns the clocks of ranks. Uses exchanged readings if there are any; otherwise the wall clock, if collectives and
//! messages do not contradict it; otherwise the collectives and messages.

use super::causal::{MeetingClass, Meetings};
use crate::model::merge::{ClockAlignment, ClockMap, by_wall_clock, merged, ranks_of_each};
use crate::model::wire::metadata::{
    CLOCK_DRIFT_PPB, CLOCK_ERROR_NS, CLOCK_EXCHANGES, CLOCK_OFFSET_NS, CLOCK_REFERENCE,
    START_UNIX_NS,
};
use crate::model::{TraceError, TraceStore, TraceView};
use crate::units::{duration, prose};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

/// One reading of both clocks at the same moment.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    own: i64,
    reference: i64,
    error: i64,
}

/// The exchanges that a trace has in its metadata, in the order of time.
fn exchanges(trace: &TraceStore) -> Vec<Exchange> {
    let text = trace
        .metadata()
        .get(CLOCK_EXCHANGES)
        .map_or("", String::as_str);
    let mut found: Vec<Exchange> = text
        .split(';')
        .filter_map(|one| {
            let mut numbers = one.split_whitespace().map(|number| number.parse().ok());
            let mut next = || numbers.next().flatten();
            Some(Exchange {
                own: next()?,
                reference: next()?,
                error: next()?,
            })
        })
        .collect();
    found.sort_by_key(|one| one.own);
    found
}

/// Aligns traces by the readings that their ranks exchanged; `None` if more than one trace has no readings.
pub(super) fn by_exchanges(traces: &[TraceStore]) -> Result<Option<ClockAlignment>, TraceError> {
    let ranks = ranks_of_each(traces)?;
    let mut clocks = Vec::new();
    let mut errors = Vec::new();
    let mut reference = None;
    for (index, trace) in traces.iter().enumerate() {
        let found = exchanges(trace);
        let Some((first, last)) = found.first().zip(found.last()) else {
            if reference.replace(index).is_some() {
                return Ok(None);
            }
            clocks.push(ClockMap::default());
            errors.push(0);
            continue;
        };
        let ran = last.own.saturating_sub(first.own);
        let gained = last
            .reference
            .saturating_sub(first.reference)
            .saturating_sub(ran);
        // Within a short time, the drift is smaller than the error of the readings.
        let drift = if gained.abs() > first.error.saturating_add(last.error) {
            gained as f64 / ran as f64
        } else {
            0.0
        };
        let closest = if first.error <= last.error {
            first
        } else {
            last
        };
        let from = if drift == 0.0 { closest } else { first };
        clocks.push(ClockMap {
            offset_ns: from.reference.saturating_sub(from.own),
            drift,
            from_ns: from.own,
        });
        errors.push(first.error.max(last.error));
    }
    let Some(reference) = reference.filter(|_| traces.len() > 1) else {
        return Ok(None);
    };
    let named = traces
        .iter()
        .find_map(|trace| trace.metadata().get(CLOCK_REFERENCE));
    let of_reference = || {
        ranks[reference]
            .iter()
            .any(|rank| Some(&rank.to_string()) == named)
    };
    if named.is_some() && !of_reference() {
        return Ok(None);
    }
    let how = format!(
        "clocks exchanged with rank {}; remaining error at most {}",
        ranks[reference].first().copied().unwrap_or(0),
        time(errors.iter().copied().max().unwrap_or(0)),
    );
    Ok(Some(alignment(traces, clocks, &errors, reference, how)))
}

/// The conversions, with facts about each clock; times begin at zero.
fn alignment(
    traces: &[TraceStore],
    mut clocks: Vec<ClockMap>,
    errors: &[i64],
    reference: usize,
    how: String,
) -> ClockAlignment {
    let start = |trace: &TraceStore| trace.metadata().get(START_UNIX_NS)?.parse::<i64>().ok();
    let reference_start = start(&traces[reference]);
    let offset = clocks[reference].offset_ns;
    let facts = traces
        .iter()
        .zip(&clocks)
        .zip(errors)
        .enumerate()
        .map(|(index, ((trace, clock), error))| {
            let mut facts = vec![(CLOCK_ERROR_NS, error.to_string())];
            if index != reference {
                let ppb = (-clock.drift * 1e9).round() as i64;
                facts.push((CLOCK_DRIFT_PPB, ppb.to_string()));
            }
            if let (Some(own), Some(reference)) = (start(trace), reference_start) {
                let apart = own.saturating_sub(reference);
                let ahead = apart.saturating_sub(clock.offset_ns.saturating_sub(offset));
                facts.push((CLOCK_OFFSET_NS, ahead.to_string()));
            }
            facts
        })
        .collect();
    let first = clocks
        .iter()
        .map(|clock| clock.offset_ns)
        .min()
        .unwrap_or(0);
    for clock in &mut clocks {
        clock.offset_ns = clock.offset_ns.saturating_sub(first);
    }
    ClockAlignment {
        start_unix_ns: reference_start
            .map(|start| start.saturating_add(first.saturating_sub(offset))),
        clocks,
        how,
        facts,
    }
}

/// The difference of two clocks according to the meetings of their traces: the time to add to the second one.
#[derive(Debug, Default, Clone)]
struct Between {
    /// The smallest possible value, because nothing is received before it is sent.
    least: Option<i64>,
    most: Option<i64>,
    /// For each collective, its end on the first clock, and that end minus its end on the second clock.
    ends: Vec<(i64, i64)>,
}

impl Between {
    /// Adds a bound: the second rank cannot leave before the first arrives. With `both`, the reverse also holds.
    fn bound(&mut self, first: (i64, i64), second: (i64, i64), both: bool) {
        let least = first.0.saturating_sub(second.1);
        self.least = Some(self.least.map_or(least, |known| known.max(least)));
        if both {
            let most = first.1.saturating_sub(second.0);
            self.most = Some(self.most.map_or(most, |known| known.min(most)));
        }
    }

    /// True if the events of the trace contradict these clocks, although other clocks could be without contradictions.
    fn contradicts(&self) -> bool {
        let (least, most) = (
            self.least.unwrap_or(i64::MIN),
            self.most.unwrap_or(i64::MAX),
        );
        let is_wrong = least > 0 || most < 0;
        is_wrong && (least <= most || self.estimate().0.drift != 0.0)
    }

    /// The time to add, the drift per nanosecond, and the largest possible error.
    fn estimate(&self) -> (ClockMap, i64) {
        let error = match (self.least, self.most) {
            (Some(least), Some(most)) => most.saturating_sub(least).abs().saturating_add(1) / 2,
            _ => i64::MAX,
        };
        if self.ends.is_empty() {
            let offset = match (self.least, self.most) {
                (Some(least), Some(most)) => i64::midpoint(least, most),
                (least, most) => least.unwrap_or(0).max(0).min(most.unwrap_or(i64::MAX)),
            };
            return (ClockMap::offset(offset), error);
        }
        let mut ends = self.ends.clone();
        ends.sort_unstable();
        let third = ends.len() / 3;
        let (early, late) = (
            median(&ends[..third.max(1)]),
            median(&ends[ends.len() - third.max(1)..]),
        );
        let all = median(&ends);
        // If the clock drifts, the ends within a short time scatter less than all ends.
        let thirds = [&ends[..third.max(1)], &ends[ends.len() - third.max(1)..]];
        let spread = thirds.into_iter().map(scatter).max().unwrap_or(0);
        let ran = late.0.saturating_sub(early.0);
        let gained = late.1.saturating_sub(early.1);
        if ends.len() >= 12 && gained.abs() > 3 * spread.max(1_000) && ran > 0 {
            let drift = gained as f64 / ran as f64;
            let clock = ClockMap {
                offset_ns: early.1,
                drift,
                from_ns: early.0.saturating_sub(early.1),
            };
            return (clock, spread);
        }
        let least = self.least.unwrap_or(i64::MIN);
        let most = self.most.unwrap_or(i64::MAX).max(least);
        (
            ClockMap::offset(all.1.clamp(least, most)),
            error.min(spread.max(1)),
        )
    }
}

/// The median distance of the second numbers from their own median.
fn scatter(list: &[(i64, i64)]) -> i64 {
    let middle = median(list).1;
    let apart = |one: &(i64, i64)| (one.0, one.1.saturating_sub(middle).abs());
    let apart: Vec<(i64, i64)> = list.iter().map(apart).collect();
    median(&apart).1
}

/// The median of the second numbers, and the median of the first numbers.
fn median(list: &[(i64, i64)]) -> (i64, i64) {
    let middle = list.len() / 2;
    let mut seconds: Vec<i64> = list.iter().map(|one| one.1).collect();
    (list[middle].0, *seconds.select_nth_unstable(middle).1)
}

/// Aligns traces by the wall clock, or by their collectives and messages if these contradict it or there is none.
pub(super) fn by_meetings(traces: &[TraceStore]) -> Result<TraceStore, TraceError> {
    let ranks = ranks_of_each(traces)?;
    let wall = by_wall_clock(traces);
    let has_wall = wall.is_some();
    let base = wall.unwrap_or_else(|| ClockAlignment {
        clocks: vec![ClockMap::default(); traces.len()],
        how: "each rank from its own start".to_owned(),
        start_unix_ns: None,
        facts: vec![Vec::new(); traces.len()],
    });
    let together = merged(traces, &base)?;
    if traces.len() < 2 {
        return Ok(together);
    }
    let trace_of: BTreeMap<u32, usize> = ranks
        .iter()
        .enumerate()
        .flat_map(|(index, ranks)| ranks.iter().map(move |&rank| (rank, index)))
        .collect();
    let between = between(&together, &Meetings::by_order(&together), &trace_of);
    if between.is_empty() {
        return Ok(together);
    }
    if has_wall && !between.values().any(Between::contradicts) {
        return Ok(together);
    }
    let (corrections, errors) = solve(traces.len(), &between);
    let alone: Vec<String> = ranks
        .iter()
        .zip(&corrections)
        .filter(|(_, clock)| clock.is_none())
        .flat_map(|(ranks, _)| ranks.iter().map(u32::to_string))
        .collect();
    let clocks: Vec<ClockMap> = base
        .clocks
        .iter()
        .zip(&corrections)
        .map(|(base, correction)| {
            let correction = correction.unwrap_or_default();
            ClockMap {
                offset_ns: base.offset_ns.saturating_add(correction.offset_ns),
                drift: correction.drift,
                from_ns: correction.from_ns.saturating_sub(base.offset_ns),
            }
        })
        .collect();
    let worst = errors.iter().copied().max().unwrap_or(0);
    let mut how = format!(
        "collectives and messages; remaining error {}",
        match worst {
            i64::MAX => "not known".to_owned(),
            worst => format!("about {}", time(worst)),
        }
    );
    if has_wall {
        how.push_str("; the wall clocks contradict them");
    }
    if !alone.is_empty() {
        let _ = write!(how, "; rank {} from its own start", alone.join(", "));
    }
    drop(together);
    merged(traces, &alignment(traces, clocks, &errors, 0, how))
}

/// The difference of the clocks of each pair of traces, the lower number first.
fn between(
    trace: &TraceStore,
    meetings: &Meetings,
    trace_of: &BTreeMap<u32, usize>,
) -> BTreeMap<(usize, usize), Between> {
    let mut found: BTreeMap<(usize, usize), Between> = BTreeMap::new();
    for meeting in &meetings.all {
        let mut parts: Vec<(usize, (i64, i64))> = Vec::with_capacity(meeting.entries.len());
        for &entry in &meeting.entries {
            let view = trace.view(entry as usize);
            let of = view.rank().and_then(|rank| trace_of.get(&rank).copied());
            if let (Some(of), Some(times)) = (of, meetings.completions.span(trace, entry)) {
                parts.push((of, times));
            }
        }
        let Some(&(first, times)) = parts.first() else {
            continue;
        };
        for &(other, other_times) in parts.iter().skip(1).filter(|part| part.0 != first) {
            let (low, high) = if first < other {
                (first, other)
            } else {
                (other, first)
            };
            let pair = found.entry((low, high)).or_default();
            let (a, b) = if first < other {
                (times, other_times)
            } else {
                (other_times, times)
            };
            match meeting.class {
                MeetingClass::Message if first < other => pair.bound(a, b, false),
                MeetingClass::Message => {
                    let most = a.1.saturating_sub(b.0);
                    pair.most = Some(pair.most.map_or(most, |known| known.min(most)));
                }
                MeetingClass::Barrier | MeetingClass::AllToAll => {
                    pair.bound(a, b, true);
                    pair.ends.push((a.1, a.1.saturating_sub(b.1)));
                }
                MeetingClass::FromRoot | MeetingClass::ToRoot => {
                    pair.ends.push((a.1, a.1.saturating_sub(b.1)));
                }
            }
        }
    }
    found
}

/// The correction of the clock of each trace, and its error; `None` for traces without a connection to another.
///
/// Traces are reached from the first of each connected set, so that only the differences within a set count.
fn solve(
    count: usize,
    between: &BTreeMap<(usize, usize), Between>,
) -> (Vec<Option<ClockMap>>, Vec<i64>) {
    let mut clocks: Vec<Option<ClockMap>> = vec![None; count];
    let mut errors = vec![0i64; count];
    for root in 0..count {
        let connected = between.keys().any(|&(a, b)| a == root || b == root);
        if clocks[root].is_some() || !connected {
            continue;
        }
        clocks[root] = Some(ClockMap::default());
        let mut queue = VecDeque::from([root]);
        while let Some(from) = queue.pop_front() {
            for (&(low, high), pair) in between {
                let to = match (low == from, high == from) {
                    (true, _) => high,
                    (_, true) => low,
                    _ => continue,
                };
                let (None, Some(own)) = (clocks[to], clocks[from]) else {
                    continue;
                };
                let (mut step, error) = pair.estimate();
                if high == from {
                    step.offset_ns = -step.offset_ns;
                    step.drift = -step.drift;
                }
                clocks[to] = Some(ClockMap {
                    offset_ns: own.offset_ns.saturating_add(step.offset_ns),
                    drift: own.drift + step.drift,
                    from_ns: step.from_ns,
                });
                errors[to] = errors[from].saturating_add(error);
                queue.push_back(to);
            }
        }
    }
    (clocks, errors)
}

fn time(ns: i64) -> String {
    prose(&duration(ns.unsigned_abs()))
}

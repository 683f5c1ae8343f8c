//! The overlays of the timeline: arrows, the critical path, and the idle times of devices by cause.

use super::blob::Blob;
use super::items::{Items, NO_ITEM};
use crate::analyze::{CausalModel, IdleClass, IdleTimes, parent_index};
use crate::export::timeline::{ThreadKey, Timeline};
use crate::model::TraceView;
use serde_json::json;
use std::collections::HashMap;
use std::io;

/// Stretches of idle time in a page, at most. If there are more, only the longest are kept.
const MOST_STRETCHES: usize = 200_000;

/// From the causal model: entry, start and length of each piece of the critical path, and when devices were idle.
pub(super) struct Waits {
    pub(super) critical: Vec<(usize, i64, u64)>,
    pub(super) idle: Vec<IdleTimes>,
}

impl Waits {
    pub(super) fn of<T: TraceView + ?Sized>(model: &CausalModel<'_, T>) -> Waits {
        Waits {
            critical: model.critical_entries().collect(),
            idle: model.idle().into_iter().map(|one| one.1).collect(),
        }
    }
}

/// A stretch of idle time: start, length and class.
type Stretch = (i64, u64, IdleClass);

impl Waits {
    /// Writes the overlays; returns the number of idle stretches that are left out.
    pub(super) fn write(
        self,
        timeline: &Timeline<'_>,
        items: &Items,
        blob: &mut Blob,
    ) -> io::Result<usize> {
        let path: Vec<(u32, u64, u64)> = self
            .critical
            .into_iter()
            .map(|(entry, start, ns)| (items.of_entry[entry], timeline.since_origin(start), ns))
            .filter(|piece| piece.0 != NO_ITEM)
            .collect();
        blob.differences("path_item", path.iter().map(|piece| piece.0.into()));
        blob.differences("path_start", path.iter().map(|piece| piece.1));
        blob.numbers("path_length", path.iter().map(|piece| piece.2));

        let mut stretches: Vec<Vec<Stretch>> = self.idle.iter().map(stretches_of).collect();
        let left_out = leave_out(&mut stretches);
        let devices: Vec<serde_json::Value> = self
            .idle
            .iter()
            .zip(&stretches)
            .map(|(one, own)| {
                json!({"rank": one.rank, "device": one.device, "stretches": own.len()})
            })
            .collect();
        blob.fact("idle_devices", &devices)?;
        blob.fact("idle_classes", &IdleClass::ALL.map(IdleClass::name))?;
        let all = || stretches.iter().flatten();
        blob.differences("idle_start", all().map(|one| timeline.since_origin(one.0)));
        blob.numbers("idle_length", all().map(|one| one.1));
        blob.numbers("idle_class", all().map(|one| one.2 as u64));
        Ok(left_out)
    }
}

/// The stretches of a device, earliest first.
fn stretches_of(idle: &IdleTimes) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = idle
        .by_class
        .iter()
        .flat_map(|(&class, times)| {
            let times = times.as_slice().iter();
            times.map(move |&(start, end)| (start, start.abs_diff(end), class))
        })
        .collect();
    stretches.sort_unstable_by_key(|one| one.0);
    stretches
}

/// Leaves out the shortest stretches until few enough are left; returns their number.
fn leave_out(stretches: &mut [Vec<Stretch>]) -> usize {
    let mut lengths: Vec<u64> = stretches.iter().flatten().map(|one| one.1).collect();
    let Some(more) = lengths.len().checked_sub(MOST_STRETCHES + 1) else {
        return 0;
    };
    let (_, &mut longest_left_out, _) = lengths.select_nth_unstable(more);
    for device in &mut *stretches {
        device.retain(|one| one.1 > longest_left_out);
    }
    lengths.len() - stretches.iter().map(Vec::len).sum::<usize>()
}

/// Arrows from ops to work that they launched or handed to another thread: the two items, and when the arrow begins.
pub(super) fn write_arrows(
    trace: &dyn TraceView,
    timeline: &Timeline<'_>,
    items: &Items,
    blob: &mut Blob,
) {
    let calls: Vec<(i64, Option<usize>)> = trace
        .runtime_calls()
        .map(|call| (call.start_ns, call.during))
        .collect();
    let launches: HashMap<usize, usize> = trace
        .launches()
        .map(|launch| (launch.step, launch.call))
        .collect();
    let mut arrows: Vec<(u32, u32, u64)> = Vec::new();
    for (index, view) in trace.views().enumerate() {
        let call = launches
            .get(&view.step())
            .and_then(|&call| calls.get(call).copied());
        let from = match call.and_then(|(_, during)| trace.index_of_step(during?)) {
            Some(op) => Some(op),
            None => parent_index(trace, index, &view)
                .filter(|&parent| ThreadKey::of(&trace.view(parent)) != ThreadKey::of(&view)),
        };
        let Some(from) = from else { continue };
        let (source, target) = (items.of_entry[from], items.of_entry[index]);
        if source == NO_ITEM || target == NO_ITEM || source == target {
            continue;
        }
        let begin = call.map_or_else(|| trace.view(from).start_ns(), |(start, _)| Some(start));
        let Some(begin) = begin else { continue };
        arrows.push((target, source, timeline.since_origin(begin)));
    }
    arrows.sort_unstable();
    blob.differences("arrow_to", arrows.iter().map(|arrow| arrow.0.into()));
    blob.differences("arrow_from", arrows.iter().map(|arrow| arrow.1.into()));
    blob.differences("arrow_start", arrows.iter().map(|arrow| arrow.2));
}

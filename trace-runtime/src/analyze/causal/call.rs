//! Runtime calls as the model keeps them: their times, lanes and effects.

use super::lane::Lanes;
use super::sync::CallKind;
use crate::analyze::forest::NONE;
use crate::model::TraceView;
use crate::model::hash::FastMap;

/// One runtime call. A trace has about one for every two entries, so this type takes 32 bytes; a
/// [`RuntimeCall`](crate::model::RuntimeCall) takes 120.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The lane of the host thread that made it; [`NONE`] if that thread has no lane.
    pub(super) lane: u32,
    pub(super) kind: CallKind,
}

/// The runtime calls of a trace, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls<'a> {
    pub(super) all: Vec<Call>,
    /// The names of the calls outside ops, by number.
    names: FastMap<u32, &'a str>,
}

impl<'a> Calls<'a> {
    pub(super) fn of<T: TraceView + ?Sized>(trace: &'a T, lanes: &Lanes<'_>) -> Calls<'a> {
        let mut calls = Calls::default();
        // Each name is classified once.
        let mut kinds: FastMap<&str, CallKind> = FastMap::default();
        // Consecutive calls are mostly of one thread, and often of one name.
        let mut last_lane = None;
        let mut last_kind = ("", CallKind::of(""));
        let made = trace.runtime_calls();
        calls.all.reserve_exact(made.size_hint().0);
        for call in made {
            let name = call.name;
            if call.during.is_none() {
                calls.names.insert(calls.all.len() as u32, name);
            }
            let thread = (call.rank, call.thread);
            let lane = match last_lane {
                Some((known, lane)) if known == thread => lane,
                _ => lanes.of_thread(call.rank, call.thread).unwrap_or(NONE),
            };
            last_lane = Some((thread, lane));
            if last_kind.0 != name {
                let kind = *kinds.entry(name).or_insert_with(|| CallKind::of(name));
                last_kind = (name, kind);
            }
            calls.all.push(Call {
                start: call.start_ns,
                end: call.end_ns(),
                lane,
                kind: last_kind.1,
            });
        }
        calls
    }

    /// What the finished model needs: not the calls themselves, which would be a tenth of it.
    pub(super) fn facts(self) -> CallFacts<'a> {
        CallFacts {
            none: self.all.is_empty(),
            synchronise: self.synchronise(),
            names: self.names,
        }
    }

    /// True if some call makes the host wait for a device.
    pub(super) fn synchronise(&self) -> bool {
        let waits = |call: &Call| matches!(call.kind, CallKind::DeviceSync | CallKind::StreamSync);
        self.all.iter().any(waits)
    }
}

/// Facts about the runtime calls of a trace.
#[derive(Debug)]
pub(super) struct CallFacts<'a> {
    /// True if there are no calls.
    pub(super) none: bool,
    /// True if some call makes the host wait for a device.
    pub(super) synchronise: bool,
    /// The names of the calls outside ops, by number.
    names: FastMap<u32, &'a str>,
}

impl<'a> CallFacts<'a> {
    /// The name of a call outside ops.
    pub(super) fn name(&self, number: usize) -> &'a str {
        self.names.get(&(number as u32)).copied().unwrap_or("")
    }
}

//! The only file that reads a clock.

use crate::model::ticks::TickScale;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where a recorder takes its time from.
#[derive(Debug, Clone)]
pub(crate) enum Clock {
    /// The processor's cycle counter where it is invariant, else the system's monotonic clock.
    Counter(&'static quanta::Clock),
    /// One step further each time it is read, for tests.
    Stepped { now: u64, step: u64 },
}

impl Clock {
    pub(crate) fn counter() -> Clock {
        static CLOCK: OnceLock<quanta::Clock> = OnceLock::new();
        Clock::Counter(CLOCK.get_or_init(quanta::Clock::new))
    }

    /// A clock that advances `step` nanoseconds each time it is read.
    pub(crate) fn stepped(step: u64) -> Clock {
        Clock::Stepped { now: 0, step }
    }

    /// Ticks; they mean something only through [`scale`](Self::scale).
    #[inline]
    pub(crate) fn now(&mut self) -> u64 {
        match self {
            Clock::Counter(clock) => clock.raw(),
            Clock::Stepped { now, step } => {
                *now += *step;
                *now
            }
        }
    }

    /// How ticks become nanoseconds since `base`.
    pub(crate) fn scale(&self, base: u64) -> TickScale {
        let rate = match self {
            Clock::Counter(clock) => clock.delta_as_nanos(0, 1 << 32),
            Clock::Stepped { .. } => 1 << 32,
        };
        TickScale::new(base, rate)
    }

    /// What is read, for the trace's metadata.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Clock::Counter(clock) if clock.delta_as_nanos(0, 1 << 32) == 1 << 32 => "monotonic",
            Clock::Counter(_) => "cycle counter",
            Clock::Stepped { .. } => "stepped",
        }
    }
}

/// The wall-clock time, once per session: everything else is counted from it in ticks.
pub(crate) fn wall_clock_ns() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos())
}

//! The only file that reads a clock.

use crate::engine::ticks::TickScale;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time source of a recorder.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The time stamp counter. It runs at a constant rate, and `quanta` reads the same counter.
    #[cfg(target_arch = "x86_64")]
    TimeStampCounter(&'static quanta::Clock),
    /// The clock of `quanta`: the cycle counter of other processors if there is one, otherwise the monotonic clock.
    Quanta(&'static quanta::Clock),
    /// Advances by `step` each time it is read, for tests.
    Stepped { now: u64, step: u64 },
}

impl Clock {
    pub fn counter() -> Clock {
        static CLOCK: OnceLock<(quanta::Clock, bool)> = OnceLock::new();
        let (clock, reads_tsc) = CLOCK.get_or_init(|| {
            let clock = quanta::Clock::new();
            let reads_tsc = reads_time_stamp_counter(&clock);
            (clock, reads_tsc)
        });
        #[cfg(target_arch = "x86_64")]
        if *reads_tsc {
            return Clock::TimeStampCounter(clock);
        }
        let _ = reads_tsc;
        Clock::Quanta(clock)
    }

    /// A clock that does not run, for a recorder that records nothing.
    pub const fn stopped() -> Clock {
        Clock::Stepped { now: 0, step: 0 }
    }

    /// The moment to count from.
    pub fn base(&mut self) -> u64 {
        match self {
            Clock::Stepped { .. } => 0,
            _ => self.now(),
        }
    }

    /// A clock that advances `step` nanoseconds each time it is read.
    pub fn stepped(step: u64) -> Clock {
        Clock::Stepped { now: 0, step }
    }

    /// The time in ticks. [`scale`](Self::scale) converts them to nanoseconds.
    #[inline]
    pub fn now(&mut self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Clock::TimeStampCounter(_) => time_stamp_counter(),
            Clock::Quanta(clock) => clock.raw(),
            Clock::Stepped { now, step } => {
                *now += *step;
                *now
            }
        }
    }

    /// True if [`now_shared`](Self::now_shared) reads this clock.
    pub(crate) fn is_shared(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self, Clock::TimeStampCounter(_));
        #[cfg(not(target_arch = "x86_64"))]
        return matches!(self, Clock::Quanta(_));
    }

    /// The same ticks as [`now`](Self::now), without a branch on x86-64. Only for a clock that
    /// [is shared](Self::is_shared).
    #[inline]
    #[cfg_attr(
        target_arch = "x86_64",
        allow(clippy::unused_self, reason = "other machines read a clock")
    )]
    pub(crate) fn now_shared(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        return time_stamp_counter();
        #[cfg(not(target_arch = "x86_64"))]
        match self {
            Clock::Quanta(clock) => clock.raw(),
            Clock::Stepped { now, .. } => *now,
        }
    }

    /// The conversion from ticks to nanoseconds since `base`.
    pub fn scale(&self, base: u64) -> TickScale {
        let rate = match self {
            #[cfg(target_arch = "x86_64")]
            Clock::TimeStampCounter(clock) => clock.delta_as_nanos(0, 1 << 32),
            Clock::Quanta(clock) => clock.delta_as_nanos(0, 1 << 32),
            Clock::Stepped { .. } => 1 << 32,
        };
        TickScale::new(base, rate)
    }

    /// Converts nanoseconds to ticks, rounded up.
    pub fn ticks_in(&self, ns: u64) -> u64 {
        let rate = self.scale(0).ns(1 << 32).unsigned_abs().max(1);
        let ticks = (u128::from(ns) << 32).div_ceil(u128::from(rate));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// The name of the time source, for the trace's metadata.
    pub fn name(&self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Clock::TimeStampCounter(_) => "time stamp counter",
            Clock::Quanta(clock) if clock.delta_as_nanos(0, 1 << 32) == 1 << 32 => "monotonic",
            Clock::Quanta(_) => "cycle counter",
            Clock::Stepped { .. } => "stepped",
        }
    }
}

/// Reads the counter directly. `quanta` reads it too, but its other calls cost as much as the read.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code, reason = "the intrinsic is declared unsafe")]
fn time_stamp_counter() -> u64 {
    // SAFETY: `rdtsc` reads a register and has no precondition; every x86-64 processor has it, and it
    // is only called where `quanta` has found the counter usable by executing the same instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// True if quanta's reading falls between two `rdtsc` reads.
#[cfg(target_arch = "x86_64")]
fn reads_time_stamp_counter(clock: &quanta::Clock) -> bool {
    let before = time_stamp_counter();
    let read = clock.raw();
    (before..=time_stamp_counter()).contains(&read)
}

#[cfg(not(target_arch = "x86_64"))]
fn reads_time_stamp_counter(_clock: &quanta::Clock) -> bool {
    false
}

/// The wall-clock time, read once per session. All other times are ticks since then.
pub fn wall_clock_ns() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos())
}

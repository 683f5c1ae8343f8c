//! From ticks of a clock to nanoseconds.

/// The start of a trace whose ticks are nanoseconds.
pub const ORIGIN: u64 = 1 << 63;

/// The conversion from the ticks in a trace's rows to nanoseconds since the trace began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickScale {
    base: u64,
    /// Nanoseconds in 2^32 ticks.
    rate: u64,
}

impl TickScale {
    /// Ticks of one nanosecond. They count from [`ORIGIN`], so that times before it are possible.
    pub const NANOSECONDS: TickScale = TickScale {
        base: ORIGIN,
        rate: 1 << 32,
    };

    pub fn new(base: u64, ns_in_2_pow_32_ticks: u64) -> TickScale {
        TickScale {
            base,
            rate: ns_in_2_pow_32_ticks,
        }
    }

    pub fn ns_in_2_pow_32_ticks(self) -> u64 {
        self.rate
    }

    /// Converts one time. Both ends of an interval are converted separately, so that intervals that nest in ticks nest
    /// in nanoseconds.
    #[inline]
    pub fn ns(self, ticks: u64) -> i64 {
        if self == TickScale::NANOSECONDS {
            // Exact: every tick is within 2^63 of the origin.
            return ticks.wrapping_sub(ORIGIN) as i64;
        }
        let since = i128::from(ticks) - i128::from(self.base);
        let ns = (since * i128::from(self.rate)) >> 32;
        ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }
}

impl Default for TickScale {
    fn default() -> Self {
        TickScale::NANOSECONDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_need_no_scale() {
        let scaled = |ticks: u64| i128::from(ticks) - i128::from(ORIGIN);
        for ticks in [0, 1, ORIGIN - 1, ORIGIN, ORIGIN + 1, u64::MAX] {
            assert_eq!(i128::from(TickScale::NANOSECONDS.ns(ticks)), scaled(ticks));
        }
    }
}

//! Selects the steps of a loop that are recorded.

/// The steps of a loop that a session keeps: it waits, warms up, records, and repeats. [`Session::step`] ends a step.
///
/// The default records every step.
///
/// ```
/// use trace_runtime::Schedule;
///
/// // Skip a step, warm up for one, keep three; twice.
/// let schedule = Schedule::new().wait(1).warm_up(1).active(3).repeat(2);
/// ```
///
/// [`Session::step`]: crate::Session::step
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Schedule {
    wait: usize,
    warm_up: usize,
    active: usize,
    repeat: usize,
}

impl Schedule {
    /// Records every step.
    pub const fn new() -> Schedule {
        Schedule {
            wait: 0,
            warm_up: 0,
            active: 1,
            repeat: 0,
        }
    }

    /// Number of steps at the beginning of each cycle in which nothing is recorded. 0 if not set.
    pub const fn wait(mut self, steps: usize) -> Schedule {
        self.wait = steps;
        self
    }

    /// Number of steps after the wait that are recorded and discarded, so that caches and clocks are warm. 0 if not
    /// set.
    pub const fn warm_up(mut self, steps: usize) -> Schedule {
        self.warm_up = steps;
        self
    }

    /// Number of steps after the warm-up that are kept. 1 if not set; 0 keeps nothing.
    pub const fn active(mut self, steps: usize) -> Schedule {
        self.active = steps;
        self
    }

    /// Number of cycles; afterwards nothing is recorded. 0, the default, repeats without end.
    pub const fn repeat(mut self, cycles: usize) -> Schedule {
        self.repeat = cycles;
        self
    }

    /// The schedule written as `wait=1,warm_up=1,active=3,repeat=2`, in any order, each part optional.
    pub(super) fn parse(text: &str) -> Option<Schedule> {
        let mut schedule = Schedule::new();
        for part in text.split(',') {
            let (key, number) = part.split_once('=')?;
            let number = number.trim().parse().ok()?;
            schedule = match key.trim() {
                "wait" => schedule.wait(number),
                "warm_up" => schedule.warm_up(number),
                "active" => schedule.active(number),
                "repeat" => schedule.repeat(number),
                _ => return None,
            };
        }
        Some(schedule)
    }

    pub(super) fn phase_of(&self, step: usize) -> Phase {
        let warm = self.wait.saturating_add(self.warm_up);
        let cycle = warm.saturating_add(self.active);
        if cycle == 0 || (self.repeat > 0 && step / cycle >= self.repeat) {
            return Phase::Wait;
        }
        match step % cycle {
            at if at < self.wait => Phase::Wait,
            at if at < warm => Phase::WarmUp,
            _ => Phase::Active,
        }
    }
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule::new()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is recorded.
    Wait,
    /// Recorded and discarded.
    WarmUp,
    /// Recorded and kept.
    Active,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(schedule: Schedule, steps: usize) -> String {
        (0..steps)
            .map(|step| match schedule.phase_of(step) {
                Phase::Wait => '.',
                Phase::WarmUp => 'w',
                Phase::Active => 'A',
            })
            .collect()
    }

    #[test]
    fn phases_repeat_as_often_as_set() {
        let schedule = Schedule::new().wait(1).warm_up(1).active(2).repeat(2);
        assert_eq!(phases(schedule, 10), ".wAA.wAA..");
    }

    #[test]
    fn the_default_is_always_active_and_zero_active_steps_keep_nothing() {
        assert_eq!(phases(Schedule::new(), 5), "AAAAA");
        assert_eq!(phases(Schedule::new().active(0), 3), "...");
        assert_eq!(phases(Schedule::new().wait(1).active(0), 3), "...");
    }

    #[test]
    fn text_names_the_parts_in_any_order() {
        let schedule = Schedule::new().wait(1).active(3);
        assert_eq!(Schedule::parse("active=3, wait=1"), Some(schedule));
        for wrong in ["", "1,2,3", "active=-1", "actve=3", "active"] {
            assert_eq!(Schedule::parse(wrong), None, "{wrong}");
        }
    }
}

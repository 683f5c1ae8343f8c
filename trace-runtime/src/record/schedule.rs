//! Which steps of a loop are recorded.

/// Steps to wait, to warm up in, and to record, over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) wait: usize,
    pub(super) warm_up: usize,
    pub(super) active: usize,
    /// How many times; 0 for no end.
    pub(super) repeat: usize,
    step: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is recorded.
    Wait,
    /// Recorded, so that caches and clocks are warm, and thrown away.
    WarmUp,
    /// Recorded and kept.
    Active,
}

impl Schedule {
    pub(super) fn new(wait: usize, warm_up: usize, active: usize, repeat: usize) -> Schedule {
        Schedule {
            wait,
            warm_up,
            active,
            repeat,
            step: 0,
        }
    }

    /// Everything is recorded.
    pub(super) fn always() -> Schedule {
        Schedule::new(0, 0, 1, 0)
    }

    pub(super) fn step(&mut self) {
        self.step = self.step.saturating_add(1);
    }

    pub(super) fn phase(&self) -> Phase {
        let cycle = self
            .wait
            .saturating_add(self.warm_up)
            .saturating_add(self.active);
        if cycle == 0 || (self.repeat > 0 && self.step / cycle >= self.repeat) {
            return Phase::Wait;
        }
        let at = self.step % cycle;
        if at < self.wait {
            Phase::Wait
        } else if at < self.wait.saturating_add(self.warm_up) {
            Phase::WarmUp
        } else {
            Phase::Active
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other_as_often_as_asked() {
        let mut schedule = Schedule::new(1, 1, 2, 2);
        let mut phases = String::new();
        for _ in 0..10 {
            phases.push(match schedule.phase() {
                Phase::Wait => '.',
                Phase::WarmUp => 'w',
                Phase::Active => 'A',
            });
            schedule.step();
        }
        assert_eq!(phases, ".wAA.wAA..");
    }

    #[test]
    fn no_schedule_is_always_active() {
        let mut schedule = Schedule::always();
        for _ in 0..5 {
            assert_eq!(schedule.phase(), Phase::Active);
            schedule.step();
        }
    }
}

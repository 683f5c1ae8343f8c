//! What several analyses of one trace have in common, computed once.

use super::nesting::Nesting;
use super::own_time::TaskTimes;
use crate::model::TraceView;

/// Which entries run inside which, and how long async ops ran themselves.
///
/// A report makes one and passes it to every analysis; an analysis on its own makes one for itself.
#[derive(Debug)]
pub(crate) struct Structure {
    pub(crate) nesting: Nesting,
    pub(crate) tasks: TaskTimes,
}

impl Structure {
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &T) -> Structure {
        let nesting = Nesting::of(trace);
        let tasks = if nesting.suspends() {
            TaskTimes::of(trace)
        } else {
            TaskTimes::default()
        };
        Structure { nesting, tasks }
    }
}

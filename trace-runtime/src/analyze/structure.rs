//! Data that several analyses of one trace need, computed once.

use super::nesting::Nesting;
use super::own_time::TaskTimes;
use crate::model::TraceView;

/// The nesting of entries, and the running times of async ops.
///
/// A report builds one and passes it to every analysis. An analysis that is called directly builds its own.
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

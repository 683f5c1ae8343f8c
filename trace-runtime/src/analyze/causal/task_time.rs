//! The running and suspended time of async ops.

use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::HashMap;

/// The time of all executions of one async op, in nanoseconds.
///
/// `running_ns + suspended_ns = wall_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TaskTime {
    /// The op's name.
    pub operation: String,
    /// Number of executions that were suspended at least once.
    pub count: usize,
    /// The time from the start of each execution to its end, added up.
    pub wall_ns: u64,
    /// The time in which executions were polled.
    pub running_ns: u64,
    /// The time in which executions were suspended.
    pub suspended_ns: u64,
}

json_struct!(TaskTime {
    required: [operation, count, wall_ns, running_ns, suspended_ns],
    optional: [],
});

/// The time of each async op, longest wall time first; empty if no op was suspended.
pub fn task_times<T: TraceView + ?Sized>(trace: &T) -> Vec<TaskTime> {
    let mut times: HashMap<&str, TaskTime> = HashMap::new();
    for view in trace.views() {
        let wall = view.duration_ns();
        let suspended = view.suspended_ns().min(wall);
        if suspended > 0 {
            let sum = times.entry(view.operation()).or_default();
            sum.count += 1;
            sum.wall_ns = sum.wall_ns.saturating_add(wall);
            sum.running_ns = sum.running_ns.saturating_add(wall - suspended);
            sum.suspended_ns = sum.suspended_ns.saturating_add(suspended);
        }
    }
    let mut times: Vec<TaskTime> = times
        .into_iter()
        .map(|(name, sum)| TaskTime {
            operation: name.to_owned(),
            ..sum
        })
        .collect();
    times.sort_by(|a, b| {
        let longest = b.wall_ns.cmp(&a.wall_ns);
        longest.then_with(|| a.operation.cmp(&b.operation))
    });
    times
}

//! The launches of each device: delays, short kernels, length of the queue.

use super::CausalModel;
use super::lane::LaneKind;
use crate::analyze::forest::NONE;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
use crate::model::hash::FastSet;
use crate::model::json_struct::json_struct;
use std::collections::BTreeMap;

/// Figures of the launches of one device. Only work whose runtime call is known counts.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct LaunchSummary {
    /// The rank it belongs to.
    pub rank: Option<u32>,
    /// The device.
    pub device: String,
    /// Pieces of work with a known launch call.
    pub launches: usize,
    /// Pieces of work without one.
    pub unknown: usize,
    /// The sum of the times of the launch calls, in nanoseconds; a call that launched several pieces counts once.
    pub launch_ns: u64,
    /// The sum of the times of the launched work, in nanoseconds.
    pub work_ns: u64,
    /// Pieces of work that took less time than the call that launched them.
    pub shorter_than_launch: usize,
    /// Pieces of work launched while nothing was queued or running on their stream.
    pub on_empty_queue: usize,
    /// The delay of work launched on an empty queue: from the end of the launch call to the start of the work, in
    /// nanoseconds, median.
    pub delay_p50_ns: u64,
    /// The 95th percentile of this delay.
    pub delay_p95_ns: u64,
    /// The longest such delay.
    pub delay_max_ns: u64,
    /// Pieces of work queued or running on the stream when the launch call began: mean over all launches.
    pub queue_mean: f64,
    /// The largest number of such pieces at one launch.
    pub queue_max: usize,
}

json_struct!(LaunchSummary {
    required: [
        device,
        launches,
        unknown,
        launch_ns,
        work_ns,
        shorter_than_launch,
        on_empty_queue,
        delay_p50_ns,
        delay_p95_ns,
        delay_max_ns,
        queue_mean,
        queue_max,
    ],
    optional: [rank],
});

impl LaunchSummary {
    /// True if the device receives its work one piece at a time: most work is launched on an empty queue, and launching
    /// takes longer than the work.
    pub fn is_launch_bound(&self) -> bool {
        self.launches > 0
            && self.on_empty_queue * 2 > self.launches
            && self.launch_ns > self.work_ns
    }
}

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// Figures of the launches of each device, by rank and device.
    pub fn launches(&self) -> Vec<LaunchSummary> {
        let mut devices: BTreeMap<(Option<u32>, &str), Sum> = BTreeMap::new();
        for number in self.lanes.numbers(LaneKind::Device) {
            let lane = &self.lanes.all[number as usize];
            let key = (lane.rank, lane.device.unwrap_or(""));
            let sum = devices.entry(key).or_default();
            self.count_lane(number, sum);
        }
        devices
            .into_iter()
            .map(|((rank, device), sum)| sum.finish(rank, device))
            .collect()
    }

    fn count_lane(&self, number: u32, sum: &mut Sum) {
        let Some(lane) = self.work.lane(number) else {
            return;
        };
        // Ends of the work launched so far that has not ended yet.
        let mut ends = std::collections::BinaryHeap::new();
        for work in lane.in_launch_order() {
            let launch = work.launch.filter(|launch| launch.call != NONE);
            let Some(launch) = launch else {
                sum.summary.unknown += 1;
                ends.push(std::cmp::Reverse(work.end));
                continue;
            };
            while ends.peek().is_some_and(|end| end.0 <= launch.start) {
                ends.pop();
            }
            let queued = ends.len();
            ends.push(std::cmp::Reverse(work.end));
            let summary = &mut sum.summary;
            let length = work.end.abs_diff(work.start);
            let call = launch.end.abs_diff(launch.start);
            summary.launches += 1;
            add_ns(&mut summary.work_ns, length);
            summary.shorter_than_launch += usize::from(length < call);
            summary.queue_max = summary.queue_max.max(queued);
            sum.queued += queued;
            if sum.calls.insert(launch.call) {
                add_ns(&mut summary.launch_ns, call);
            }
            if queued == 0 {
                summary.on_empty_queue += 1;
                sum.delays
                    .push(work.start.saturating_sub(launch.end).max(0) as u64);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Sum {
    summary: LaunchSummary,
    delays: Vec<u64>,
    queued: usize,
    calls: FastSet<u32>,
}

impl Sum {
    fn finish(mut self, rank: Option<u32>, device: &str) -> LaunchSummary {
        self.delays.sort_unstable();
        let delays = &self.delays;
        // The nearest-rank percentile: the smallest delay that at least this share of all delays does not exceed.
        let at = |percent: usize| {
            let rank = (delays.len() * percent).div_ceil(100);
            delays.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        LaunchSummary {
            rank,
            device: device.to_owned(),
            delay_p50_ns: at(50),
            delay_p95_ns: at(95),
            delay_max_ns: delays.last().copied().unwrap_or(0),
            queue_mean: self.queued as f64 / self.summary.launches.max(1) as f64,
            ..self.summary
        }
    }
}

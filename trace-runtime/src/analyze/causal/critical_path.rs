//! The critical path: the longest chain of work, and the waits that it crosses.

use super::CausalModel;
use super::lane::{LaneKind, Lanes, sync_span};
use super::longest_chain::Link;
use super::node_names::{NO_NAME, NodeNames};
use super::piece::Node;
use super::wait::WaitFor;
use crate::analyze::device_time::is_accelerator;
use crate::analyze::intervals::{SaturatingSum as _, add_ns};
use crate::model::TraceView;
use crate::model::hash::FastMap;
use crate::model::json_struct::json_struct;

/// The name for the time in which a thread runs no op.
const OUTSIDE: &str = "outside of ops";

/// The longest chain of work that had to happen one after the other.
///
/// A chain follows a lane, and passes to another lane that could not continue without it: from a launch to the
/// device work, from the work to the thread that synchronises with it, from an op to work that it handed to
/// another thread and back, from the last rank that arrives at a collective to the others. Only work adds to its
/// length. Waits, delays and time outside ops that it crosses are in `crossed`.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CriticalPath {
    /// The time of its work, in nanoseconds.
    pub length_ns: u64,
    /// The time from the first start to the last end of the trace in nanoseconds, runtime calls included.
    pub span_ns: u64,
    /// The part of the work that is on the host, in nanoseconds.
    pub host_ns: u64,
    /// The part of the work that is on devices other than `cpu`, in nanoseconds.
    pub device_ns: u64,
    /// The ops on it, longest first.
    pub ops: Vec<CriticalOp>,
    /// The times between one piece of work and the next, by cause, longest first.
    pub crossed: Vec<Crossed>,
}

json_struct!(CriticalPath {
    required: [length_ns, span_ns, host_ns, device_ns, ops, crossed],
    optional: [],
});

impl CriticalPath {
    /// The share of its work that is on devices; 0 for an empty path.
    pub fn device_share(&self) -> f64 {
        self.device_ns as f64 / self.length_ns.max(1) as f64
    }
}

/// An op on the critical path.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CriticalOp {
    /// The name of the op, or of the runtime call if it was made outside ops. `outside of ops` is the time in a step
    /// that the thread of the step spent between its ops.
    pub operation: String,
    /// The device it ran on, if that is not the host.
    pub device: Option<String>,
    /// Number of pieces of the path that are part of the op.
    pub pieces: usize,
    /// Time of the path that is spent in the op, in nanoseconds.
    pub path_ns: u64,
    /// `path_ns` as a share of the path.
    pub share: f64,
}

json_struct!(CriticalOp {
    required: [operation, path_ns, share, pieces],
    optional: [device],
});

/// Time between two pieces of work on the critical path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Crossed {
    /// The cause: `waiting for …`, `launch delay`, `queued on the stream`,
    /// `between device work`, `return from the device`, `outside of ops`.
    pub what: String,
    /// The time, in nanoseconds.
    pub ns: u64,
    /// The number of times.
    pub count: usize,
}

json_struct!(Crossed {
    required: [what, ns, count],
    optional: [],
});

/// One piece of work on the critical path, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PathStep {
    /// The rank of the lane.
    pub rank: Option<u32>,
    /// The lane: the name of the thread or stream.
    pub lane: String,
    /// The op, or the runtime call outside ops.
    pub operation: String,
    /// The step of the entry; `None` for a runtime call.
    pub step: Option<usize>,
    /// True if it ran on a device other than the host.
    pub on_device: bool,
    /// The time at which the path enters it, in nanoseconds since the trace began.
    pub start_ns: i64,
    /// The time that the path spends in it, in nanoseconds.
    pub ns: u64,
    /// The time since the end of the piece before it, in nanoseconds.
    pub gap_ns: u64,
    /// The cause of `gap_ns`, as in [`Crossed::what`]; empty if there is no gap.
    pub gap: String,
}

json_struct!(PathStep {
    required: [lane, operation, on_device, start_ns, ns, gap_ns],
    optional: [rank, step, gap],
});

impl<'a, T: TraceView + ?Sized> CausalModel<'a, T> {
    /// The critical path; empty if no entry has a start.
    pub fn critical_path(&self) -> CriticalPath {
        let mut path = CriticalPath {
            span_ns: self.last_end.abs_diff(self.first_start),
            ..CriticalPath::default()
        };
        let mut names = NodeNames::default();
        let mut ops: FastMap<(u32, Option<&str>), (usize, u64)> = FastMap::default();
        let mut crossed: FastMap<Gap, (u64, usize)> = FastMap::default();
        let mut before: Option<Link> = None;
        for link in self.path_links() {
            if let Some(before) = before.replace(link) {
                self.gap(&before, &link, |gap, ns| {
                    let sum = crossed.entry(gap).or_default();
                    add_ns(&mut sum.0, ns);
                    sum.1 += 1;
                });
            }
            let name = names.number(self, link.node);
            let device = self.device_of(link.node, link.lane);
            let ns = link.length();
            add_ns(&mut path.length_ns, ns);
            let part = if device.is_some() {
                &mut path.device_ns
            } else {
                &mut path.host_ns
            };
            add_ns(part, ns);
            let sum = ops.entry((name, device)).or_default();
            sum.0 += 1;
            add_ns(&mut sum.1, ns);
        }
        path.ops = ops
            .into_iter()
            .map(|((name, device), (pieces, ns))| CriticalOp {
                operation: match name {
                    NO_NAME => OUTSIDE.to_owned(),
                    name => names.names()[name as usize].to_owned(),
                },
                device: device.map(str::to_owned),
                pieces,
                path_ns: ns,
                share: ns as f64 / path.length_ns.max(1) as f64,
            })
            .collect();
        path.ops.sort_by(|a, b| {
            let longest = b.path_ns.cmp(&a.path_ns);
            longest.then_with(|| (&a.operation, &a.device).cmp(&(&b.operation, &b.device)))
        });
        path.crossed = crossed
            .into_iter()
            .map(|(gap, (ns, count))| Crossed {
                what: gap.text(&self.lanes),
                ns,
                count,
            })
            .collect();
        path.crossed
            .sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.what.cmp(&b.what)));
        path
    }

    /// The pieces of the critical path in the order of time. A path may have as many as the trace has entries.
    pub fn critical_steps(&self) -> impl Iterator<Item = PathStep> {
        let mut last: Option<Link> = None;
        self.path_links().map(move |link| {
            let before = last.replace(link);
            let (name, device) = (self.name(link.node), self.device_of(link.node, link.lane));
            let mut gap_ns = 0;
            let mut longest: Option<(u64, Gap)> = None;
            if let Some(before) = before {
                self.gap(&before, &link, |gap, ns| {
                    add_ns(&mut gap_ns, ns);
                    if longest.is_none_or(|(known, _)| ns > known) {
                        longest = Some((ns, gap));
                    }
                });
            }
            PathStep {
                rank: self.lanes.all[link.lane as usize].rank,
                lane: self.lanes.label(link.lane),
                operation: if name.is_empty() { OUTSIDE } else { name }.to_owned(),
                step: match Node::of(link.node, self.trace.entry_count()) {
                    Node::Entry(index) => {
                        let view = self.trace.view(index);
                        Some(view.step())
                    }
                    _ => None,
                },
                on_device: device.is_some(),
                start_ns: link.start,
                ns: link.length(),
                gap_ns,
                gap: longest.map_or_else(String::new, |(_, gap)| gap.text(&self.lanes)),
            }
        })
    }

    /// Entry, start and length in nanoseconds of each piece of the critical path that is part of an entry, in the
    /// order of time. [`critical_steps`](Self::critical_steps) names the pieces too.
    #[cfg(feature = "html")]
    pub(crate) fn critical_entries(&self) -> impl Iterator<Item = (usize, i64, u64)> {
        self.path_links()
            .filter_map(|link| match Node::of(link.node, self.trace.entry_count()) {
                Node::Entry(index) => Some((index, link.start, link.length())),
                _ => None,
            })
    }

    fn path_links(&self) -> impl Iterator<Item = Link> {
        self.path.links(&self.pieces)
    }

    /// The name of a node; empty for time outside ops.
    pub(super) fn name(&self, node: u32) -> &'a str {
        match Node::of(node, self.trace.entry_count()) {
            Node::Entry(index) => {
                let view = self.trace.view(index);
                view.operation()
            }
            Node::Call(number) => self.calls.name(number),
            Node::Nothing => "",
        }
    }

    /// The device on which a node ran; `None` for the host.
    ///
    /// An entry of a device that is recorded on a host thread counts as work of the device. If it waited for the
    /// device, it counts as work of the host: its own work is only the launch.
    fn device_of(&self, node: u32, lane: u32) -> Option<&'a str> {
        let on = &self.lanes.all[lane as usize];
        let Node::Entry(index) = Node::of(node, self.trace.entry_count()) else {
            return None;
        };
        let view = self.trace.view(index);
        let device = view.device_id().filter(|_| is_accelerator(&view));
        match on.kind {
            LaneKind::Device => device.or(on.device).or(on.name),
            LaneKind::Host | LaneKind::Task => device.filter(|_| sync_span(&view).is_none()),
        }
    }

    /// Divides the time between two pieces of the path by cause. The parts add up to that time.
    fn gap(&self, before: &Link, after: &Link, mut add: impl FnMut(Gap, u64)) {
        let (start, end) = (before.end, after.start);
        if start >= end {
            return;
        }
        let kinds = (self.lanes.kind(before.lane), self.lanes.kind(after.lane));
        let whole = end.abs_diff(start);
        match kinds {
            (LaneKind::Device, LaneKind::Device) => add(Gap::BetweenDeviceWork, whole),
            (_, LaneKind::Device) => {
                let queued: u64 = self
                    .pieces_between(after.lane, start, end)
                    .map(|(_, ns)| ns)
                    .saturating_sum();
                if queued > 0 {
                    add(Gap::Queued, queued);
                }
                if queued < whole {
                    add(Gap::LaunchDelay, whole - queued);
                }
            }
            (LaneKind::Device, _) => add(Gap::Return, whole),
            (_, LaneKind::Task) => add(Gap::Suspended, whole),
            _ => {
                let mut outside = whole;
                for (piece, ns) in self.pieces_between(after.lane, start, end) {
                    if let Some(target) = self.wait_of(piece) {
                        outside -= ns;
                        add(Gap::Waiting(target), ns);
                    }
                }
                if outside > 0 {
                    add(Gap::Outside, outside);
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Gap {
    Waiting(WaitFor),
    LaunchDelay,
    Queued,
    BetweenDeviceWork,
    Return,
    Suspended,
    Outside,
}

impl Gap {
    fn text(self, lanes: &Lanes<'_>) -> String {
        match self {
            Gap::Waiting(target) => format!("waiting for {}", target.label(lanes)),
            Gap::LaunchDelay => "launch delay".to_owned(),
            Gap::Queued => "queued on the stream".to_owned(),
            Gap::BetweenDeviceWork => "between device work".to_owned(),
            Gap::Return => "return from the device".to_owned(),
            Gap::Suspended => "suspended".to_owned(),
            Gap::Outside => OUTSIDE.to_owned(),
        }
    }
}

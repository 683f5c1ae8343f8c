//! A finding: a fact about a trace, its cost, its evidence and what to try.

use crate::model::json_struct::{OnWire, json_struct};
use std::fmt;

/// The kind of a [`Finding`], for programs that match on it; [`Finding::sentence`] is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum FindingKind {
    /// A device is idle because the host launches nothing. Subject: the device.
    HostBound,
    /// A device is idle and the trace does not show why. Subject: the device.
    DeviceIdle,
    /// Kernels are shorter than the host needs to launch them. Subject: the device.
    LaunchBound,
    /// A device runs out of work at synchronisations. Subject: the op that synchronises.
    Synchronisation,
    /// Communication does not overlap with computation. Subject: the communication op.
    ExposedCommunication,
    /// The other devices or ranks wait for a slower one. Subject: the slower one.
    Straggler,
    /// One host op takes much of the time. Subject: the op.
    HostOp,
    /// The host is outside of traced ops for much of the time. Subject: `host`.
    OutsideOps,
    /// One category of work takes much of a device's time. Subject: the category.
    DeviceCategory,
    /// One kernel takes much of a device's time. Subject: the kernel.
    DeviceOp,
    /// The program waits for its input data. Subject: the op that loads it.
    DataLoading,
    /// Copies do not overlap with other work. Subject: the copy.
    Copies,
    /// A device is idle while the host allocates or frees device memory. Subject: the runtime call.
    Allocation,
    /// Products of some shapes reach far fewer FLOP/s than others. Subject: the op.
    SlowProducts,
    /// One step is much slower than the others. Subject: the step.
    SlowStep,
    /// Async ops are suspended and nothing else runs. Subject: the op.
    Suspended,
    /// Recording costs a noticeable part of short ops. Subject: the op.
    TooShort,
    /// Memory grows with every step: a cache without a limit, or a leak. Costs bytes, not time. Subject: the op that
    /// allocates it.
    MemoryGrowth,
    /// An op allocates memory in each call and frees it before it returns. Costs bytes, not time. Subject: the op.
    RepeatedAllocation,
    /// Another kind, written by a newer version.
    #[default]
    Other,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [FindingKind; 20] = [
        FindingKind::HostBound,
        FindingKind::DeviceIdle,
        FindingKind::LaunchBound,
        FindingKind::Synchronisation,
        FindingKind::ExposedCommunication,
        FindingKind::Straggler,
        FindingKind::HostOp,
        FindingKind::OutsideOps,
        FindingKind::DeviceCategory,
        FindingKind::DeviceOp,
        FindingKind::DataLoading,
        FindingKind::Copies,
        FindingKind::Allocation,
        FindingKind::SlowProducts,
        FindingKind::SlowStep,
        FindingKind::Suspended,
        FindingKind::TooShort,
        FindingKind::MemoryGrowth,
        FindingKind::RepeatedAllocation,
        FindingKind::Other,
    ];

    /// The name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            FindingKind::HostBound => "host_bound",
            FindingKind::DeviceIdle => "device_idle",
            FindingKind::LaunchBound => "launch_bound",
            FindingKind::Synchronisation => "synchronisation",
            FindingKind::ExposedCommunication => "exposed_communication",
            FindingKind::Straggler => "straggler",
            FindingKind::HostOp => "host_op",
            FindingKind::OutsideOps => "outside_ops",
            FindingKind::DeviceCategory => "device_category",
            FindingKind::DeviceOp => "device_op",
            FindingKind::DataLoading => "data_loading",
            FindingKind::Copies => "copies",
            FindingKind::Allocation => "allocation",
            FindingKind::SlowProducts => "slow_products",
            FindingKind::SlowStep => "slow_step",
            FindingKind::Suspended => "suspended",
            FindingKind::TooShort => "too_short",
            FindingKind::MemoryGrowth => "memory_growth",
            FindingKind::RepeatedAllocation => "repeated_allocation",
            FindingKind::Other => "other",
        }
    }

    /// The general advice for findings of this kind.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            FindingKind::HostBound => {
                "give the device more work per call (larger batches, fused or compiled ops, captured \
                 graphs), or move the host's work to other threads"
            }
            FindingKind::DeviceIdle => {
                "record the host's ops and launches too: the trace has only the device"
            }
            FindingKind::LaunchBound => {
                "launch fewer, longer kernels: fuse ops, compile the model, capture a graph"
            }
            FindingKind::Synchronisation => {
                "read results of the device less often, or later, when they are ready"
            }
            FindingKind::ExposedCommunication => {
                "overlap it with computation: start it earlier, in smaller pieces, or send less"
            }
            FindingKind::Straggler => {
                "give the slower one less work, or find out what else runs there"
            }
            FindingKind::HostOp => "look at its shapes and callers: fewer, larger or cheaper calls",
            FindingKind::OutsideOps => {
                "trace or annotate what runs between the ops, or read the file with its interpreter frames: it may be the \
                 program's own code, the interpreter, or waiting"
            }
            FindingKind::DeviceCategory | FindingKind::DeviceOp => {
                "compare its FLOP/s and B/s with the device's peaks; try another precision, layout or kernel"
            }
            FindingKind::DataLoading => {
                "load data ahead of its use on other threads or processes (more loader workers, prefetching), cache \
                 what is decoded, or preprocess on the device"
            }
            FindingKind::Copies => {
                "copy from pinned memory without blocking, keep data on the device, avoid layout changes"
            }
            FindingKind::Allocation => {
                "keep device memory instead of returning it: reuse buffers, do not empty the allocator's cache in the \
                 loop, let the allocator reserve enough at once"
            }
            FindingKind::SlowProducts => {
                "combine products with one row or column into one larger product, or batch them"
            }
            FindingKind::SlowStep => "compare that step with the others; leave warm-up out",
            FindingKind::Suspended => "run other work meanwhile, or shorten what is awaited",
            FindingKind::TooShort => {
                "trace the op around them instead, or record only a sample of them"
            }
            FindingKind::MemoryGrowth => {
                "free or limit what is kept from step to step: caches, histories, tensors that still refer to a graph"
            }
            FindingKind::RepeatedAllocation => {
                "write into a buffer that is kept between calls, or avoid the copy"
            }
            FindingKind::Other => "",
        }
    }

    /// True if its cost is memory, and its time is not known.
    pub(crate) const fn is_about_memory(self) -> bool {
        matches!(
            self,
            FindingKind::MemoryGrowth | FindingKind::RepeatedAllocation
        )
    }

    /// The largest share of a finding's cost that can be saved, to rank findings. Waiting can disappear; work can
    /// become faster, but seldom disappears.
    pub(crate) const fn winnable(self) -> f64 {
        match self {
            FindingKind::HostOp
            | FindingKind::OutsideOps
            | FindingKind::DeviceCategory
            | FindingKind::DeviceOp => 0.5,
            // An estimate, because it assumes the speed of the best shape. So long waits come before it.
            FindingKind::SlowProducts => 0.9,
            _ => 1.0,
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl OnWire for FindingKind {
    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }

    /// A kind that this version does not know is read as [`FindingKind::Other`].
    fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        let known = Self::ALL.into_iter().find(|one| one.name() == name);
        Ok(known.unwrap_or_default())
    }
}

/// A fact about a trace, with its cost.
///
/// All findings of a trace have their cost as a share of the same whole, [`Findings::whole_ns`]. If the cost of one
/// finding is a part of the cost of another, [`within`](Self::within) names the other one: a host op that keeps a
/// device waiting is a part of that device's idle time.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The op, device, rank, category or step that the finding is about, by its full name.
    pub subject: String,
    /// The time that the subject costs, in nanoseconds; the mean over devices or ranks if there are several.
    pub cost_ns: u64,
    /// `cost_ns` as a share of [`Findings::whole_ns`].
    pub share: f64,
    /// The fact in one sentence, without a full stop.
    pub sentence: String,
    /// The parts of the cost, largest first: host ops that ran at that time, shapes, kernels.
    pub parts: Vec<FindingPart>,
    /// The section of the report that shows the subject.
    pub section: String,
    /// Advice: what to try first.
    pub advice: String,
    /// The kind and the subject of the finding whose cost includes the cost of this one, if the list has such a
    /// finding.
    pub within: Option<(FindingKind, String)>,
}

json_struct!(Finding {
    required: [kind, subject, cost_ns, share, sentence, section, advice],
    optional: [parts, within],
});

/// A part of the cost of a [`Finding`].
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct FindingPart {
    /// The op, kernel or device, by its full name.
    pub name: String,
    /// The dims of its inputs, if the part is an op with these shapes.
    pub input_shapes: Option<Vec<Vec<usize>>>,
    /// The time of the part, in nanoseconds.
    pub ns: u64,
    /// `ns` as a share of [`Findings::whole_ns`].
    pub share: f64,
}

json_struct!(FindingPart {
    required: [name, ns, share],
    optional: [input_shapes],
});

/// The whole that the shares of findings refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Whole {
    /// The time of the trace's steps.
    Steps,
    /// The time from the first start to the last end.
    Span,
    /// The durations of all ops added up: the trace has no start times.
    #[default]
    Ops,
}

impl Whole {
    /// The name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Whole::Steps => "steps",
            Whole::Span => "span",
            Whole::Ops => "ops",
        }
    }
}

impl OnWire for Whole {
    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }

    fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        let all = [Whole::Steps, Whole::Span, Whole::Ops];
        Ok(all
            .into_iter()
            .find(|one| one.name() == name)
            .unwrap_or_default())
    }
}

/// All findings of a trace.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Findings {
    /// The whole that all shares refer to.
    pub whole: Whole,
    /// The length of the whole, in nanoseconds.
    pub whole_ns: u64,
    /// The findings, those with the largest possible saving first.
    pub list: Vec<Finding>,
}

json_struct!(Findings {
    required: [whole, whole_ns, list],
    optional: [],
});

/// Findings in a headline, at most.
const HEADLINES: usize = 3;
/// A finding below this share is not part of a headline, unless it is the first.
const HEADLINE_SHARE: f64 = 0.05;

impl Findings {
    /// The findings that make up the headline: the first three that matter. A finding is left out if an earlier one
    /// already names it as a part.
    pub fn headline(&self) -> Vec<&Finding> {
        let mut chosen: Vec<&Finding> = Vec::new();
        for finding in &self.list {
            if chosen.len() == HEADLINES {
                break;
            }
            if !chosen.is_empty() && finding.share < HEADLINE_SHARE {
                continue;
            }
            let named = |one: &&Finding| {
                let mut named = one.parts.iter().take(NAMED_PARTS);
                let within = finding.within.as_ref();
                // An op or kernel that is only a part of an earlier cost is a detail and is left out; a cause is not.
                let detail = matches!(finding.kind, FindingKind::HostOp | FindingKind::DeviceOp)
                    && within.is_some_and(|other| (other.0, &other.1) == (one.kind, &one.subject));
                // A synchronisation at which a device runs out of work is a separate fact, even if its op is already
                // named for its work.
                let reason = finding.kind == FindingKind::Synchronisation;
                detail || !reason && named.any(|part| part.name == finding.subject)
            };
            if !chosen.iter().any(named) {
                chosen.push(finding);
            }
        }
        chosen
    }
}

/// Parts that a finding's sentence names.
pub(super) const NAMED_PARTS: usize = 2;

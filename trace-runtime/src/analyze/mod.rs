//! Numbers derived from a trace: by op and shape, by device, by rank, by stack, over time.
//!
//! Every analysis takes any [`TraceView`](crate::TraceView): a trace from a file gives the same results as
//! a live one.
//!
//! | question | function |
//! |---|---|
//! | what costs most, and what to try | [`findings`] |
//! | time, FLOP/s and bytes by op, or by op and shapes | [`by_op`], [`by_shape`] |
//! | the same in a few sums, in microseconds | [`TraceAnalyzer`] |
//! | device time of host ops | [`device_times`] |
//! | time by category of work | [`categories`] |
//! | busy, idle and exposed time of devices | [`activity`] |
//! | what waited for what | [`CausalModel`] |
//! | which op called which | [`call_tree`] |
//! | collectives across ranks | [`collectives`] |
//! | live memory, and the ops that held it at the peak | [`live_memory`] |
//! | heap memory that each op allocated | [`heap_by_shape`] |
//! | memory by call stack | [`memory_collapsed`] |
//! | memory that grows with every step | [`memory_growth`] |
//! | the change between traces | [`diff()`], [`diff`](mod@diff) |
//!
//! Times are whole nanoseconds, except in [`TraceAnalyzer`]. For times that overlap, the length of their union
//! counts, not their sum.

mod analyzer;
mod call_tree;
mod categories;
mod causal;
mod clocks;
mod collective_calls;
mod collectives;
mod communication;
mod device_activity;
mod device_time;
pub mod diff;
mod durations;
pub(crate) mod findings;
#[cfg(feature = "flamegraph")]
mod flame_frames;
mod flamegraph;
mod flops;
mod forest;
mod grouping;
mod intervals;
mod machine_peaks;
mod memory;
mod merge_ranks;
mod nesting;
mod op_category;
mod op_row;
mod op_table;
mod op_work;
mod outcomes;
mod own_time;
mod roofline;
mod row_key;
mod short_name;
mod step_of;
mod step_range;
mod step_table;
mod structure;
mod summaries;
mod thread_labels;
mod trust;

pub use analyzer::TraceAnalyzer;
pub use call_tree::{CallNode, CallTree, call_tree};
pub use categories::{CategoryTime, categories};
#[cfg(feature = "html")]
pub(crate) use causal::IdleTimes;
pub use causal::{
    Blame, CausalModel, CriticalOp, CriticalPath, Crossed, DeviceIdle, Heatmap, IdleCause,
    IdleClass, JobTime, LaneKind, LaneTime, LaneWait, LaunchSummary, PathStep, RankTime, Scenario,
    Slowdown, SlowdownPart, StreamIdle, TaskTime, Usual, WaitClass, WaitState, WaitStates, WaitSum,
    WhatIf, critical_path, task_times,
};
pub(crate) use causal::{CallKind, CollectiveKind, CommunicationCalls, Dependencies};
pub(crate) use collectives::message_bytes;
pub use collectives::{Collective, collectives};
pub(crate) use communication::CommunicationRule;
pub use device_activity::{Activity, DeviceActivity, Imbalance, activity};
pub(crate) use device_activity::{activity_of, device_sets};
pub(crate) use device_time::is_accelerator;
pub use device_time::{DeviceTimes, device_times};
pub use diff::{
    Design, DiffRow, DiffSettings, Evidence, Gate, GateFailure, RunGroup, RunSummary, TraceDiff,
    Verdict, diff,
};
pub use findings::{Finding, FindingKind, FindingPart, Findings, Whole, findings};
#[cfg(feature = "flamegraph")]
pub(crate) use flame_frames::FrameNames;
#[cfg(feature = "html")]
pub(crate) use grouping::Grouping;
pub use intervals::Intervals;
pub use machine_peaks::MachinePeaks;
#[cfg(feature = "html")]
pub(crate) use memory::OwnerOp;
pub use memory::{
    HeapRow, HeldStack, LiveMemory, MemoryGrowth, MemoryHolder, MemoryWeight, heap_by_shape,
    heap_stacks, live_memory, memory_collapsed, memory_growth, memory_sampled_every,
};
pub(crate) use memory::{LiveBefore, Owner, Owners};
#[cfg(feature = "html")]
pub(crate) use nesting::parent_index;
pub use nesting::self_times_ns;
pub use op_category::OpCategory;
pub use op_row::OpRow;
pub(crate) use op_table::{OpTables, add_waiting};
pub use op_table::{by_op, by_shape};
pub(crate) use op_work::bytes_moved;
pub use outcomes::{OpOutcomes, outcomes};
pub use roofline::{RooflinePoint, roofline};
#[cfg(feature = "html")]
pub(crate) use row_key::ByShape;
pub use short_name::ShortNames;
pub(crate) use step_of::StepsByRank;
pub use step_of::step_of_entries;
pub use step_range::{StepRange, restrict_to_steps, steps_after_warm_up};
pub(crate) use step_table::step_table_in;
pub use step_table::{StepDifference, StepRow, StepTable, step_table};
pub(crate) use structure::Structure;
pub use summaries::{CommunicationBottleneck, DeviceSummary, LoadBalanceMetrics, OpSummary};
pub use thread_labels::{ThreadKey, thread_labels};
pub use trust::{UntrustedOp, overhead_ns, too_short_to_trust};

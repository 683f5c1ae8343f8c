//! The keys of a trace's metadata that this crate writes or reads.
//!
//! A program may add any others, with [`with_metadata`](crate::RecordedExecutionTrace::with_metadata) or a
//! session's `metadata`.

/// Ops that were not recorded because a limit was reached, as a number.
pub const DROPPED: &str = "dropped";
/// Ops that were not recorded because only a sample was asked for, as a number.
pub const SAMPLED_OUT: &str = "sampled_out";
/// Executions that were shorter than the minimum of the session's filter.
pub const FILTERED_OUT: &str = "filtered_out";
/// What recording one op costs, in nanoseconds.
pub const OVERHEAD_NS: &str = "overhead_ns";
/// [`COMPILED_OUT`] if the program was built without recording.
pub const TRACING: &str = "tracing";
/// The value of [`TRACING`] in the trace of a program that was built without the feature `enabled`.
pub const COMPILED_OUT: &str = "compiled out";
/// Why the output file of a session could not be written.
pub const WRITE_ERROR: &str = "write_error";
/// The rank of the process in a distributed job.
pub const RANK: &str = "rank";
/// The number of ranks of the job.
pub const WORLD_SIZE: &str = "world_size";
/// The start of the trace in nanoseconds since 1970.
pub const START_UNIX_NS: &str = "start_unix_ns";
/// How the clocks of merged traces were lined up.
pub const MERGE_CLOCK: &str = "merge.clock";
/// The steps that a trace was restricted to, and those that it had before.
pub const SELECTED_STEPS: &str = "selected_steps";

/// The first event of a trace of another profiler, in nanoseconds on the clock of its file.
pub const READ_BASE_NS: &str = "read.base_ns";
/// The number of events in the file of another profiler.
pub const READ_EVENTS: &str = "read.events";
/// Prefix of the keys that count what a reader left out: the sort of event follows it, and the value is
/// the number of events.
pub const LEFT_OUT_PREFIX: &str = "read.left_out.";

/// Prefix of the keys that name tensor libraries whose tensors were passed to ops but not recorded: the
/// library follows it, and the value is the name of one such op.
pub const UNRECORDED_PREFIX: &str = "unrecorded.";

/// Peak FLOP/s of the machine, for the roofline.
pub const PEAK_FLOPS_PER_S: &str = "peak_flops_per_s";
/// Peak memory bandwidth of the machine in bytes per second, for the roofline.
pub const PEAK_BYTES_PER_S: &str = "peak_bytes_per_s";

/// Allocations and frees of a [`RecordedExecutionTrace`](crate::RecordedExecutionTrace), one per line.
/// [`memory_events`](crate::TraceView::memory_events) reads them.
pub const MEMORY_EVENTS: &str = "memory.events";
/// Runtime calls of a [`RecordedExecutionTrace`](crate::RecordedExecutionTrace), one per line.
/// [`runtime_calls`](crate::TraceView::runtime_calls) reads them.
pub const RUNTIME_CALLS: &str = "runtime.calls";

/// The key of a thread's name.
pub fn thread_name(thread: u64) -> String {
    format!("thread.{thread}.name")
}

/// The key of a device's name, such as `A100` for `cuda:0`.
pub fn device_name(device: &str) -> String {
    format!("device.{device}.name")
}

/// The key that a fact has in a merge of several ranks that disagree about it.
pub fn of_rank(rank: u32, key: &str) -> String {
    format!("rank.{rank}.{key}")
}

/// True if the value is a number of events that are missing from the trace: such numbers are added up
/// when traces are merged.
pub(crate) fn counts_missing(key: &str) -> bool {
    key.starts_with(LEFT_OUT_PREFIX) || matches!(key, DROPPED | SAMPLED_OUT)
}

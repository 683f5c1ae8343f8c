//! The keys of a trace's metadata that this crate writes or reads.
//!
//! A program may add any others, with [`with_metadata`](crate::RecordedExecutionTrace::with_metadata) or a
//! session's `metadata`.

/// Number of ops that were not recorded because a limit was reached.
pub const DROPPED: &str = "dropped";
/// Number of ops that sampling left out.
pub const SAMPLED_OUT: &str = "sampled_out";
/// Number of executions that were shorter than the minimum of the session's filter.
pub const FILTERED_OUT: &str = "filtered_out";
/// Number of ops that were replaced by newer ones, in a recording that keeps the last.
pub const REPLACED: &str = "replaced";
/// Number of ops that had begun and not ended when the recording ended, on the thread that ended it or in a task.
/// They are not entries.
pub const STILL_RUNNING: &str = "still_running";
/// `true` if the recording was not finished: the program ended without it, or is still running.
pub const UNFINISHED: &str = "unfinished";
/// The process that this one was forked from while the parent was recording. Neither of the two traces has the ops that
/// the child ran before this recording.
pub const FORKED_FROM: &str = "forked_from";
/// The cost of recording one op, in nanoseconds.
pub const OVERHEAD_NS: &str = "overhead_ns";
/// [`COMPILED_OUT`] if the program was built without recording.
pub const TRACING: &str = "tracing";
/// The value of [`TRACING`] in the trace of a program that was built without the feature `enabled`.
pub const COMPILED_OUT: &str = "compiled out";
/// The reason why the output file of a session could not be written.
pub const WRITE_ERROR: &str = "write_error";
/// The file that the trace of a session was written to, if another process had written the requested one.
pub const WRITTEN_TO: &str = "written_to";
/// The rank of the process in a distributed job.
pub const RANK: &str = "rank";
/// The number of ranks of the job.
pub const WORLD_SIZE: &str = "world_size";
/// The pipeline stage of a rank, as the program names it.
pub const STAGE: &str = "stage";
/// The coordinates of a rank in a job that is parallel in several ways, such as `DP 0, PP 3`.
pub const MESH: &str = "mesh";
/// The start of the trace in nanoseconds since 1970.
pub const START_UNIX_NS: &str = "start_unix_ns";
/// Readings of this rank's clock and that of [`CLOCK_REFERENCE`] at the same moments: `own reference error`, in
/// nanoseconds since the start of each trace, separated by `;`. A program that has a channel between its ranks writes
/// them at the start and at the end; merging uses them.
pub const CLOCK_EXCHANGES: &str = "clock.exchanges";
/// The rank whose clock the others read for [`CLOCK_EXCHANGES`].
pub const CLOCK_REFERENCE: &str = "clock.reference";
/// The time that the wall clock of a rank was ahead of that of the first rank, in nanoseconds, as found by merging.
pub const CLOCK_OFFSET_NS: &str = "clock.offset_ns";
/// The difference in speed between the clock of a rank and that of the first rank, in parts per billion, as found by
/// merging. Above zero for a faster clock.
pub const CLOCK_DRIFT_PPB: &str = "clock.drift_ppb";
/// The largest possible error of the alignment of a rank's clock, in nanoseconds.
pub const CLOCK_ERROR_NS: &str = "clock.error_ns";
/// The method by which the clocks of merged traces were aligned.
pub const MERGE_CLOCK: &str = "merge.clock";
/// The steps that a trace was restricted to, and the steps that it had before.
pub const SELECTED_STEPS: &str = "selected_steps";

/// The first event of a trace of another profiler, in nanoseconds on the clock of its file.
pub const READ_BASE_NS: &str = "read.base_ns";
/// The number of events in the file of another profiler.
pub const READ_EVENTS: &str = "read.events";
/// The position at which the file of a recording ends too early.
pub const READ_TRUNCATED_AT: &str = "read.truncated_at";
/// The damaged parts of a recording, as positions in its file: `4096-8192, 9000-9040`.
pub const READ_DAMAGED: &str = "read.damaged";
/// Number of ops in damaged parts of a recording, if they could be counted.
pub const READ_LOST_OPS: &str = "read.lost_ops";
/// Prefix of the keys that count the events that a reader left out: the sort of event follows it, and the value is
/// their number.
pub const LEFT_OUT_PREFIX: &str = "read.left_out.";

/// Prefix of the keys that name tensor libraries whose tensors were passed to ops but not recorded: the
/// library follows it, and the value is the name of one such op.
pub const UNRECORDED_PREFIX: &str = "unrecorded.";

/// Prefix of the keys of panics in the code that describes an op: the option, or `describe`, follows it, then a dot and
/// the op. The value is the number of panics, a space, and the message of the first.
pub const PANICKED_PREFIX: &str = "panicked.";

/// Peak FLOP/s of the machine, for the roofline.
pub const PEAK_FLOPS_PER_S: &str = "peak_flops_per_s";
/// Peak memory bandwidth of the machine in bytes per second, for the roofline.
pub const PEAK_BYTES_PER_S: &str = "peak_bytes_per_s";

/// Allocations and frees of a [`RecordedExecutionTrace`](crate::RecordedExecutionTrace), one per line.
/// [`memory_events`](crate::TraceView::memory_events) reads them.
pub const MEMORY_EVENTS: &str = "memory.events";
/// The contexts that heap memory is charged to, as a JSON array.
/// [`memory_contexts`](crate::model::memory_contexts) reads them.
pub const MEMORY_CONTEXTS: &str = "memory.contexts";
/// Blocks of the heap that could not be recorded, as a number.
pub const MEMORY_UNRECORDED: &str = "memory.unrecorded";
/// Bytes per recorded block of the heap, on average: figures are estimates then. Absent if every block was
/// recorded.
pub const MEMORY_SAMPLED: &str = "memory.sampled_every";
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

/// The key of a fact that differs between the ranks of a merged trace.
pub fn of_rank(rank: u32, key: &str) -> String {
    format!("rank.{rank}.{key}")
}

/// True if the value is a number of events that are missing from the trace: such numbers are added up
/// when traces are merged.
pub(crate) fn counts_missing(key: &str) -> bool {
    key.starts_with(LEFT_OUT_PREFIX)
        || matches!(
            key,
            DROPPED | SAMPLED_OUT | FILTERED_OUT | REPLACED | STILL_RUNNING | READ_LOST_OPS
        )
}

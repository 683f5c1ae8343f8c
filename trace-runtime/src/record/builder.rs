//! The settings of a session.

use super::error::SessionError;
use super::flight::{KeepLast, Triggers};
use super::run_facts::facts;
use super::schedule::Schedule;
use super::session::{Session, Settings};
use super::stream::{DEFAULT_RING, Rotation, Stream, StreamSettings, forked_from, watch_forks};
use crate::export::OutputFile;
use crate::model::wire::metadata as keys;
use crate::model::{TraceError, TraceErrorKind};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trace_core::__engine::clock::{Clock, wall_clock_ns};
use trace_core::__engine::filter::Filter;
use trace_core::__engine::log::Shared;
use trace_core::__engine::state::{self, Running};
use trace_core::__engine::{DEFAULT_LIMIT, overhead};

/// The settings of a [`Session`].
///
/// ```
/// use trace_runtime::{Schedule, Session};
///
/// let mut session = Session::builder()
///     .memory_limit(64 << 20)
///     .rank(0)
///     .world_size(2)
///     .metadata("model", "tiny")
///     .schedule(Schedule::new().wait(1).warm_up(1).active(3))
///     .start()?;
/// for _batch in 0..5 {
///     session.step();
/// }
/// let trace = session.finish();
/// assert_eq!(trace.metadata["world_size"], "2");
/// # Ok::<(), trace_runtime::SessionError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a session begins with `start`"]
pub struct SessionBuilder {
    memory_limit: usize,
    this_thread_only: bool,
    rank: Option<u32>,
    world_size: Option<u32>,
    sample: u32,
    sample_allocations: u64,
    schedule: Schedule,
    filter: Filter,
    metadata: HashMap<String, String>,
    output: Option<PathBuf>,
    stream: StreamSettings,
    output_on_signal: bool,
    reports_errors: bool,
}

impl Default for SessionBuilder {
    fn default() -> Self {
        SessionBuilder {
            memory_limit: DEFAULT_LIMIT,
            this_thread_only: false,
            rank: None,
            world_size: None,
            sample: 1,
            sample_allocations: 0,
            schedule: Schedule::new(),
            filter: Filter::new(),
            metadata: HashMap::new(),
            output: None,
            stream: StreamSettings {
                path: None,
                ring_bytes: DEFAULT_RING,
                keep: None,
                rotation: None,
                triggers: Triggers::default(),
            },
            output_on_signal: false,
            reports_errors: false,
        }
    }
}

impl SessionBuilder {
    /// The most bytes that recorded ops may take, over all threads: their rows, shapes, names and metadata. 1 GiB if
    /// not set, enough for about 40 million ops. Ops beyond the limit are dropped and counted in the trace's `dropped`.
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Records only the thread that starts the session.
    pub fn this_thread_only(mut self) -> Self {
        self.this_thread_only = true;
        self
    }

    /// The number of this process in a distributed job, from 0 on. Every entry has it.
    pub fn rank(mut self, rank: u32) -> Self {
        self.rank = Some(rank);
        self
    }

    /// The number of processes in the distributed job that this one is a [rank](Self::rank) of.
    pub fn world_size(mut self, processes: u32) -> Self {
        self.world_size = Some(processes);
        self
    }

    /// Adds a fact about the run to the trace.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Records one in `n` executions of each op on each thread, the first one included; 0 counts as 1. The others are
    /// counted in the trace's `sampled_out`. If an op is left out, the parent of the ops inside it is the next recorded
    /// op around it.
    pub fn sample(mut self, n: u32) -> Self {
        self.sample = n.max(1);
        self
    }

    /// Records a sample of the heap's blocks in a program with `TracedAlloc`: one per `bytes` bytes on average, at
    /// random, as jemalloc and Go do; 512 KiB is a good value. 0, the default, records every block.
    ///
    /// For programs that allocate millions of times a second: a block that is not sampled costs about 25 instructions
    /// when it is allocated and again when it is freed. The figures are then unbiased estimates, and the report marks
    /// them as such. An op whose blocks were sampled `n` times has a relative standard error of about `1 / √n`.
    pub fn sample_allocations(mut self, every_bytes: u64) -> Self {
        self.sample_allocations = every_bytes;
        self
    }

    /// Keeps only some steps of a loop; [`Session::step`] marks the end of each.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Records only some ops: by name, module and duration. See [`Filter`].
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Writes the trace to this file when the session is finished or dropped, in the format of the file's ending: see
    /// [`export::write_file`](crate::export::write_file). `{rank}` and `{pid}` in the name are replaced. The ending
    /// `.optrace` is the same as [`stream_to`](Self::stream_to).
    ///
    /// If another process writes the same file after this session started, this session writes to a name with its rank
    /// or process in it, such as `run.rank-3.json`, and the trace has the path in its metadata under `written_to`.
    ///
    /// [`start`](Self::start) checks the path. Use [`Session::try_finish`] to learn whether the file was written.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = Some(path.into());
        self
    }

    /// Records into this file while the program runs. So the file has every op that has ended, even if the process ends
    /// by `exit`, a panic, an abort, a signal or `kill -9`. `{rank}` and `{pid}` in the name are replaced.
    ///
    /// Ops are written to a ring in memory that the file shares with the kernel. A thread moves full parts of it to
    /// the end of the file, in a packed form of about 8 bytes per op. So the memory that the recording takes does not
    /// grow with the number of ops. No op waits for the disk: if it is too slow or full, ops are dropped and counted.
    /// The space of the ring is reserved at the [start](Self::start).
    ///
    /// The file can be read at any time, even while the program runs, with [`read::open`](crate::read::open) and
    /// `optrace`. Do not truncate or overwrite it while it is being recorded. If there is a file with the recording of
    /// a process that crashed, that file is renamed to `name.PID.optrace`. Any other file is replaced.
    ///
    /// Use this for long runs and for programs that may crash, and [`output`](Self::output) to write one file in
    /// another format at the end. [`Session::finish`] reads the file back; drop the session if you do not need the
    /// trace.
    ///
    /// ```
    /// use trace_runtime::{Session, TraceView, read, traced_op};
    ///
    /// #[traced_op]
    /// fn scale(x: &mut [f32]) { x.iter_mut().for_each(|x| *x *= 2.0); }
    ///
    /// # if cfg!(not(all(unix, feature = "enabled"))) { return Ok(()); }
    /// let path = std::env::temp_dir().join(format!("stream-{}.optrace", std::process::id()));
    /// let session = Session::builder().stream_to(&path).start()?;
    /// scale(&mut [1.0, 2.0]);
    /// // Another process can read it too, and so it can after a crash.
    /// assert_eq!(read::open(&path)?.view(0).operation(), "scale");
    /// drop(session);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.stream.path = Some(path.into());
        self
    }

    /// The bytes of the ring of [`stream_to`](Self::stream_to). 64 MiB if not set, enough for 2.7 million ops. A larger
    /// ring is needed only if many threads record without a pause, or the disk is slow.
    pub fn stream_buffer(mut self, bytes: usize) -> Self {
        self.stream.ring_bytes = bytes;
        self
    }

    /// Splits the recording of [`stream_to`](Self::stream_to): `run.optrace` has the ring, and ops that are moved out
    /// of it go to `run.1.optrace`, `run.2.optrace` and so on. A new file begins when one has more than `max_bytes`.
    /// When there are more than `max_files` of them, the oldest is removed, and its ops are counted in the trace's
    /// `replaced`.
    ///
    /// [`read::open`](crate::read::open) reads `run.optrace` with all its parts. A single part can be read too.
    pub fn rotate(mut self, max_bytes: u64, max_files: usize) -> Self {
        self.stream.rotation = Some(Rotation {
            max_bytes,
            max_files,
        });
        self
    }

    /// Keeps only the last ops, in a fixed amount of memory: a flight recorder that can always be on. Older ops are
    /// replaced and counted in the trace's `replaced`.
    ///
    /// The limit is a number of bytes, or a [`Duration`](std::time::Duration). [`Session::dump`] writes the kept ops to
    /// a file while recording continues; [`dump_on_panic`](Self::dump_on_panic),
    /// [`dump_on_signal`](Self::dump_on_signal) and [`dump_if_slower`](Self::dump_if_slower) write them automatically;
    /// [`output`](Self::output) writes them at the end. With [`stream_to`](Self::stream_to) the memory is that of a
    /// file, so that the kept ops outlive the process.
    ///
    /// ```
    /// use trace_runtime::{Session, TraceView, read, traced_op};
    ///
    /// #[traced_op]
    /// fn scale(x: &mut [f32]) { x.iter_mut().for_each(|x| *x *= 2.0); }
    ///
    /// # if cfg!(not(all(unix, feature = "enabled"))) { return Ok(()); }
    /// let session = Session::builder().keep_last(1 << 20).start()?;
    /// for _ in 0..100_000 {
    ///     scale(&mut [1.0, 2.0]);
    /// }
    /// let path = std::env::temp_dir().join(format!("flight-{}.optrace", std::process::id()));
    /// session.dump(&path)?;
    /// let kept = read::open(&path)?;
    /// assert!(kept.len() > 20_000 && kept.len() < 50_000);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_last(mut self, limit: impl Into<KeepLast>) -> Self {
        self.stream.keep = Some(limit.into());
        self
    }

    /// The file for automatic dumps, in the format of its ending. `{n}` in its name is the
    /// number of the dump; without it, a dump replaces the one before. `{rank}` and `{pid}` are replaced too.
    pub fn dump_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.stream.triggers.path = Some(path.into());
        self
    }

    /// Dumps the ops of [`keep_last`](Self::keep_last) when a thread panics, after the panic hook that is set now.
    pub fn dump_on_panic(mut self) -> Self {
        self.stream.triggers.on_panic = true;
        self
    }

    /// Dumps the ops of [`keep_last`](Self::keep_last) within about 10 ms when the process receives SIGUSR1
    /// (`kill -USR1 PID`). A handler without `SA_SIGINFO` that the program has set before is called too.
    pub fn dump_on_signal(mut self) -> Self {
        self.stream.triggers.on_signal = true;
        self
    }

    /// Dumps the ops of [`keep_last`](Self::keep_last) when an execution of this op has taken longer than the limit; at
    /// most once per second. May be called for several ops. The slow op does not wait for the dump.
    pub fn dump_if_slower(mut self, operation: impl Into<String>, limit: Duration) -> Self {
        self.stream.triggers.slower.push((operation.into(), limit));
        self
    }

    /// Writes the [output](Self::output) also when SIGINT or SIGTERM ends the process, which would otherwise lose it.
    ///
    /// When such a signal arrives, a thread writes the trace so far. Then the signal has its usual effect: the handler
    /// that was set before this session is called, or the process ends. If the program continues, the recording
    /// continues too, and the file is written again at its end. A second signal does not wait for the file. Signals
    /// that the process ignores are still ignored.
    ///
    /// If the program has its own signal handler, set it before the session starts. A session that
    /// [streams](Self::stream_to) needs this only for a second file: its recording is complete without it.
    pub fn output_on_signal(mut self) -> Self {
        self.output_on_signal = true;
        self
    }

    /// Creates the folder of the output if it does not exist. If that fails, [`start`](Self::start) returns the error.
    pub(super) fn make_folder(&self) {
        let path = self.output.as_deref().or(self.stream.path.as_deref());
        let path = path.map(|path| fill_in(path, self.rank));
        if let Some(folder) = path.as_deref().and_then(Path::parent)
            && !folder.as_os_str().is_empty()
        {
            let _ = std::fs::create_dir_all(folder);
        }
    }

    /// Also reports a failed write on standard error, because there is no caller to return it to.
    pub(super) fn reporting_errors(mut self) -> Self {
        self.reports_errors = true;
        self
    }

    /// Starts recording.
    ///
    /// # Errors
    ///
    /// There is a session already, or the [output](Self::output) cannot be written: its directory does not exist, or
    /// its ending does not name a format.
    pub fn start(self) -> Result<Session, SessionError> {
        if !state::claim() {
            return Err(SessionError::already_running());
        }
        let session = self.start_claimed();
        if session.is_err() {
            state::release();
        }
        session
    }

    fn start_claimed(mut self) -> Result<Session, SessionError> {
        if self.output.as_deref().is_some_and(is_recording) {
            self.stream.path = self.output.take();
        }
        if self.output_on_signal && self.stream.keep.is_some() {
            let message = "`output_on_signal` cannot be used with `keep_last`; use `dump_on_signal` or `stream_to`";
            let error = TraceError::new(TraceErrorKind::InvalidInput, message);
            return Err(SessionError::output(error));
        }
        if self.output_on_signal && self.output.is_none() && self.stream.path.is_none() {
            let message = "`output_on_signal` needs a file; set one with `output`";
            let error = TraceError::new(TraceErrorKind::InvalidInput, message);
            return Err(SessionError::output(error));
        }
        let output = self
            .output
            .map(|path| OutputFile::new(fill_in(&path, self.rank)))
            .transpose()
            .map_err(SessionError::output)?;
        watch_forks();
        let mut clock = Clock::counter();
        let mut metadata = facts(&clock);
        if let Some(parent) = forked_from() {
            metadata.insert(keys::FORKED_FROM.into(), parent.to_string());
        }
        metadata.insert(keys::OVERHEAD_NS.into(), overhead::measure_ns().to_string());
        for (key, number) in [(keys::RANK, self.rank), (keys::WORLD_SIZE, self.world_size)] {
            metadata.extend(number.map(|number| (key.into(), number.to_string())));
        }
        let (base, start_unix_ns) = anchor(&mut clock);
        metadata.insert(keys::START_UNIX_NS.into(), start_unix_ns.to_string());
        // Facts from the caller replace those of the tracer.
        metadata.extend(self.metadata);
        let mut shared =
            Shared::new(self.memory_limit, self.rank, self.sample).with_filter(self.filter);
        let mut settings = self.stream;
        for path in [&mut settings.path, &mut settings.triggers.path] {
            *path = path.as_deref().map(|path| fill_in(path, self.rank));
        }
        let is_streamed = settings.path.is_some() || settings.keep.is_some() || settings.is_set();
        let stream = is_streamed
            .then(|| Stream::start(&settings, &clock, base, &metadata))
            .transpose()
            .map_err(SessionError::output)?;
        if let Some(stream) = &stream {
            shared = shared.with_storage(stream.storage());
        }
        let running = Running {
            shared: Arc::new(shared),
            base,
            clock,
            only: self.this_thread_only.then(state::thread_number),
        };
        Session::begin(Settings {
            running,
            schedule: self.schedule,
            metadata,
            output,
            stream,
            on_signal: self.output_on_signal,
            recording: settings.path,
            sample_allocations: self.sample_allocations,
            reports_errors: self.reports_errors,
        })
    }
}

fn is_recording(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("optrace"))
}

/// The moment from which the session counts, in ticks and on the wall clock.
///
/// The program may be interrupted between the two readings, so the closest of a few pairs is used.
fn anchor(clock: &mut Clock) -> (u64, u128) {
    let mut pair = || {
        let before = clock.now();
        let wall = wall_clock_ns();
        (clock.now().saturating_sub(before), before, wall)
    };
    let first = pair();
    let closest = (0..4)
        .map(|_| pair())
        .fold(first, |a, b| if b.0 < a.0 { b } else { a });
    (closest.1, closest.2)
}

fn fill_in(path: &Path, rank: Option<u32>) -> PathBuf {
    match path.to_str() {
        Some(name) if name.contains('{') => name
            .replace("{rank}", &rank.unwrap_or(0).to_string())
            .replace("{pid}", &std::process::id().to_string())
            .into(),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_and_the_process_are_filled_in() {
        let path = fill_in(Path::new("t-{rank}-{pid}.json"), Some(3));
        let expected = format!("t-3-{}.json", std::process::id());
        assert_eq!(path, PathBuf::from(expected));
    }
}

//! The settings of a session.

use super::error::SessionError;
use super::schedule::Schedule;
use super::session::{Session, Settings, compiled_out};
use crate::export::OutputFile;
use crate::model::wire::metadata as keys;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    schedule: Schedule,
    filter: Filter,
    metadata: HashMap<String, String>,
    output: Option<PathBuf>,
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
            schedule: Schedule::new(),
            filter: Filter::new(),
            metadata: HashMap::new(),
            output: None,
            reports_errors: false,
        }
    }
}

impl SessionBuilder {
    /// The most bytes that recorded ops may take, over all threads: their rows, shapes, names and metadata. 1 GiB if
    /// not set, enough for some 40 million ops. Past it, ops are dropped and counted in the trace's `dropped`.
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
    /// counted in the trace's `sampled_out`. The parent of an op inside one that is left out is the next op around it.
    pub fn sample(mut self, n: u32) -> Self {
        self.sample = n.max(1);
        self
    }

    /// Keeps only some steps of a loop; [`Session::step`] marks the end of each.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Records only some ops.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Writes the trace to this file when the session is finished or dropped, in the format of the file's ending: see
    /// [`export::write_file`](crate::export::write_file). `{rank}` and `{pid}` in the name are replaced.
    ///
    /// [`start`](Self::start) checks the path. Use [`Session::try_finish`] to learn whether the file was written.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = Some(path.into());
        self
    }

    /// Reports a failed write on standard error too: no caller is there to look at the result.
    pub(super) fn reporting_errors(mut self) -> Self {
        self.reports_errors = true;
        self
    }

    /// Starts recording.
    ///
    /// # Errors
    ///
    /// There is a session already, or the [output](Self::output) cannot be written: its directory does not exist, or
    /// its ending is not that of a format.
    pub fn start(self) -> Result<Session, SessionError> {
        let output = self
            .output
            .map(|path| OutputFile::new(fill_in(&path, self.rank)))
            .transpose()
            .map_err(SessionError::output)?;
        let mut clock = Clock::counter();
        let mut metadata = facts(&clock);
        metadata.insert(keys::OVERHEAD_NS.into(), overhead::measure_ns().to_string());
        for (key, number) in [(keys::RANK, self.rank), (keys::WORLD_SIZE, self.world_size)] {
            metadata.extend(number.map(|number| (key.into(), number.to_string())));
        }
        // The caller's facts replace ours.
        metadata.extend(self.metadata);
        let running = Running {
            shared: Arc::new(
                Shared::new(self.memory_limit, self.rank, self.sample).with_filter(self.filter),
            ),
            base: clock.now(),
            clock,
            only: self.this_thread_only.then(state::thread_number),
        };
        Session::begin(Settings {
            running,
            schedule: self.schedule,
            metadata,
            output,
            reports_errors: self.reports_errors,
        })
    }
}

fn facts(clock: &Clock) -> HashMap<String, String> {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = PathBuf::from(program);
    let mut facts: HashMap<String, String> = [
        (
            "program",
            program
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        ),
        ("arg_count", std::env::args_os().skip(1).count().to_string()),
        ("pid", std::process::id().to_string()),
        ("os", std::env::consts::OS.to_owned()),
        ("arch", std::env::consts::ARCH.to_owned()),
        (
            "cores",
            std::thread::available_parallelism()
                .map_or(0, usize::from)
                .to_string(),
        ),
        (keys::START_UNIX_NS, wall_clock_ns().to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("clock", clock.name().to_owned()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect();
    let known = [("cpu", processor()), ("program_build", build_of_program())];
    facts.extend(
        known
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?))),
    );
    facts.extend(compiled_out());
    facts
}

/// The processor's name, where the system has it in a file.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The size and the time of the program's file, which tell two builds apart without reading it.
fn build_of_program() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let modified = file
        .modified()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    Some(format!("{} bytes of {}", file.len(), modified.as_secs()))
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

//! The settings of a session, from code or from the environment.

use super::schedule::Schedule;
use super::session::{Session, SessionError, Settings, compiled_out};
use crate::model::wire::metadata as keys;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use trace_core::__engine::clock::{Clock, wall_clock_ns};
use trace_core::__engine::log::Shared;
use trace_core::__engine::state::{self, Running};
use trace_core::__engine::{DEFAULT_LIMIT, overhead};

/// The settings of a [`Session`].
///
/// ```
/// use trace_runtime::Session;
///
/// let mut session = Session::builder()
///     .memory_limit(64 << 20)
///     .rank(0, 2)
///     .metadata("model", "tiny")
///     .schedule(1, 1, 3, 1) // skip a step, warm up for one, keep three
///     .start()?;
/// for _batch in 0..5 {
///     session.step();
/// }
/// let trace = session.finish();
/// assert_eq!(trace.metadata["world_size"], "2");
/// # Ok::<(), trace_runtime::SessionError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SessionBuilder {
    memory_limit: usize,
    this_thread_only: bool,
    rank: Option<u32>,
    sample: u32,
    schedule: Schedule,
    metadata: HashMap<String, String>,
    output: Option<PathBuf>,
}

impl Default for SessionBuilder {
    fn default() -> Self {
        SessionBuilder {
            memory_limit: DEFAULT_LIMIT,
            this_thread_only: false,
            rank: None,
            sample: 1,
            schedule: Schedule::always(),
            metadata: HashMap::new(),
            output: None,
        }
    }
}

impl SessionBuilder {
    /// At most so many bytes of entries, over all threads; 1 GiB (some 40 million ops) if not set.
    /// Past it, entries are dropped and counted.
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Records only the thread that starts the session.
    pub fn this_thread_only(mut self) -> Self {
        self.this_thread_only = true;
        self
    }

    /// This process is number `rank` of `world_size` in a distributed job.
    pub fn rank(mut self, rank: u32, world_size: u32) -> Self {
        self.rank = Some(rank);
        self.metadata(keys::RANK, rank.to_string())
            .metadata(keys::WORLD_SIZE, world_size.to_string())
    }

    /// Adds a fact about the run to the trace.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Records one in `n` executions of each op on each thread, the first one included. What is
    /// left out is counted; what runs inside of it is attributed to what is around it.
    pub fn sample(mut self, n: u32) -> Self {
        self.sample = n.max(1);
        self
    }

    /// Skips `wait` steps, records and discards `warm_up` steps, keeps `active` steps, and does so
    /// `repeat` times (0: without end). [`Session::step`] marks the end of each step.
    pub fn schedule(mut self, wait: usize, warm_up: usize, active: usize, repeat: usize) -> Self {
        self.schedule = Schedule::new(wait, warm_up, active, repeat);
        self
    }

    /// Writes the trace to this file when the session is finished or dropped. `{rank}` and `{pid}` in
    /// the name are filled in.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = Some(path.into());
        self
    }

    /// Starts recording.
    pub fn start(self) -> Result<Session, SessionError> {
        let mut clock = Clock::counter();
        let mut metadata = facts(&clock);
        metadata.insert(keys::OVERHEAD_NS.into(), overhead::measure_ns().to_string());
        // What the caller said wins over what we found out.
        metadata.extend(self.metadata);
        let output = self.output.map(|path| fill_in(path, self.rank));
        let running = Running {
            shared: Arc::new(Shared::new(self.memory_limit, self.rank, self.sample)),
            base: clock.now(),
            clock,
            only: self.this_thread_only.then(state::thread_number),
        };
        Session::begin(Settings {
            running,
            schedule: self.schedule,
            metadata,
            output,
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
    facts.extend(compiled_out());
    facts
}

fn fill_in(path: PathBuf, rank: Option<u32>) -> PathBuf {
    match path.to_str() {
        Some(name) if name.contains('{') => name
            .replace("{rank}", &rank.unwrap_or(0).to_string())
            .replace("{pid}", &std::process::id().to_string())
            .into(),
        _ => path,
    }
}

/// The variable that starts a session: the file that the trace is written to.
const OUTPUT: &str = "OPTRACE";
const LIMIT: &str = "OPTRACE_MEMORY_LIMIT";
const SAMPLE: &str = "OPTRACE_SAMPLE";
const THREADS: &str = "OPTRACE_THREADS";
/// How launchers of distributed jobs tell a process its rank and their number.
const RANKS: [(&str, &str); 4] = [
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

impl Session {
    /// Starts a session if the environment asks for one, so that a program can be traced without a
    /// change to it:
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `OPTRACE` | the file to write; unset or empty: no session |
    /// | `OPTRACE_MEMORY_LIMIT` | bytes, or with a suffix `K`, `M`, `G` |
    /// | `OPTRACE_SAMPLE` | record one in so many executions |
    /// | `OPTRACE_THREADS` | `all` or `this` |
    ///
    /// The rank is taken from the launcher's variables (`RANK`, Open MPI, PMI, Slurm); `{rank}` and
    /// `{pid}` in the file's name are filled in.
    ///
    /// ```
    /// # fn run_the_program() {}
    /// let session = trace_runtime::Session::from_env()?; // keep it: the file is written on drop
    /// run_the_program();
    /// drop(session);
    /// # Ok::<(), trace_runtime::SessionError>(())
    /// ```
    pub fn from_env() -> Result<Option<Session>, SessionError> {
        match builder_from(&|name| std::env::var(name).ok())? {
            Some(builder) => builder.start().map(Some),
            None => Ok(None),
        }
    }
}

fn builder_from(
    var: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<SessionBuilder>, SessionError> {
    let Some(output) = var(OUTPUT).filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let mut builder = SessionBuilder::default().output(output);
    if let Some(value) = var(LIMIT) {
        let bytes = parse_bytes(&value).ok_or(SessionError::Environment {
            name: LIMIT,
            value,
            expected: "a number of bytes such as `512M`",
        })?;
        builder = builder.memory_limit(bytes);
    }
    if let Some(value) = var(SAMPLE) {
        let n = value
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or(SessionError::Environment {
                name: SAMPLE,
                value,
                expected: "a whole number from 1 on",
            })?;
        builder = builder.sample(n);
    }
    match var(THREADS).as_deref() {
        None | Some("all") => {}
        Some("this") => builder = builder.this_thread_only(),
        Some(value) => {
            return Err(SessionError::Environment {
                name: THREADS,
                value: value.to_owned(),
                expected: "`all` or `this`",
            });
        }
    }
    let number = |name| var(name).and_then(|value| value.parse::<u32>().ok());
    let rank = RANKS
        .iter()
        .find_map(|(rank, size)| Some((number(rank)?, number(size).unwrap_or(1))));
    if let Some((rank, world_size)) = rank {
        builder = builder.rank(rank, world_size);
    }
    Ok(Some(builder))
}

fn parse_bytes(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        _ => (text, 0),
    };
    digits.trim().parse::<usize>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(vars: &[(&str, &str)]) -> Result<Option<SessionBuilder>, String> {
        let vars: HashMap<&str, &str> = vars.iter().copied().collect();
        builder_from(&|name| vars.get(name).map(|value| (*value).to_owned()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn no_variable_means_no_session() {
        assert!(from(&[]).unwrap().is_none());
        assert!(
            from(&[("OPTRACE", ""), ("OPTRACE_SAMPLE", "3")])
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn every_variable_is_heard() {
        let builder = from(&[
            ("OPTRACE", "t-{rank}.json"),
            ("OPTRACE_MEMORY_LIMIT", "3K"),
            ("OPTRACE_SAMPLE", "7"),
            ("OPTRACE_THREADS", "this"),
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
        ])
        .unwrap()
        .unwrap();
        assert_eq!((builder.memory_limit, builder.sample), (3072, 7));
        assert!(builder.this_thread_only);
        assert_eq!(builder.metadata["world_size"], "4");
        assert_eq!(
            fill_in(builder.output.unwrap(), builder.rank),
            PathBuf::from("t-1.json")
        );
    }

    #[test]
    fn a_value_that_is_not_understood_says_what_was_expected() {
        for (name, value) in [
            ("OPTRACE_MEMORY_LIMIT", "lots"),
            ("OPTRACE_SAMPLE", "0"),
            ("OPTRACE_THREADS", "two"),
        ] {
            let error = from(&[("OPTRACE", "t.json"), (name, value)]).unwrap_err();
            assert!(
                error.starts_with(&format!("`{name}` is `{value}`; expected ")),
                "{error}"
            );
        }
    }
}

//! Sessions that environment variables request.

use super::builder::SessionBuilder;
use super::error::SessionError;
use super::schedule::Schedule;
use super::session::Session;
use std::env::VarError;
use trace_core::__engine::filter::Filter;

/// The file that the trace is written to. Setting it starts a session.
const OUTPUT: &str = "OPTRACE";
const LIMIT: &str = "OPTRACE_MEMORY_LIMIT";
const SAMPLE: &str = "OPTRACE_SAMPLE";
const ALLOCATIONS: &str = "OPTRACE_SAMPLE_ALLOCATIONS";
const THREADS: &str = "OPTRACE_THREADS";
const FILTER: &str = "OPTRACE_FILTER";
const SCHEDULE: &str = "OPTRACE_SCHEDULE";
const ON_SIGNAL: &str = "OPTRACE_ON_SIGNAL";
/// The variables in which launchers of distributed jobs put a process's rank and the number of processes.
///
/// `mpirun` inside a Slurm job sets its own variables in addition to those of Slurm, so Slurm is last.
/// `OMPI_UNIVERSE_SIZE` is the number of slots, not of processes.
const RANKS: [(&str, &str); 5] = [
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// The session that the environment requested, or none: the result of [`Session::from_env`].
///
/// Keep it until the end of the program. Dropping it ends the recording and writes the file.
#[derive(Debug)]
#[must_use = "the recording ends when this is dropped; keep it until the end of the program: \
              `let _session = Session::from_env()?;`"]
pub struct EnvSession(Option<Session>);

impl EnvSession {
    /// True if the environment requested a session.
    pub fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// The session, if there is one: to mark [steps](Session::step), or for a [snapshot](Session::snapshot).
    pub fn as_mut(&mut self) -> Option<&mut Session> {
        self.0.as_mut()
    }

    /// The session, if there is one.
    pub fn into_inner(self) -> Option<Session> {
        self.0
    }
}

impl Session {
    /// Starts a session if the environment requests one, so that a program can be traced without
    /// changing it:
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `OPTRACE` | the file to write, in the format of its ending; unset or empty: no session |
    /// | `OPTRACE_MEMORY_LIMIT` | bytes, or with a suffix `K`, `M`, `G`: see [`SessionBuilder::memory_limit`] |
    /// | `OPTRACE_SAMPLE` | record one in this many executions of each op: see [`SessionBuilder::sample`] |
    /// | `OPTRACE_SAMPLE_ALLOCATIONS` | average bytes per recorded block of the heap, such as `512K`: see [`SessionBuilder::sample_allocations`] |
    /// | `OPTRACE_FILTER` | which ops to record, as `Linear::*,!*::norm,module=net::layers,min=5us`: see [`Filter`] |
    /// | `OPTRACE_SCHEDULE` | which steps to keep, as `wait=1,warm_up=1,active=3,repeat=1`: see [`Schedule`] |
    /// | `OPTRACE_ON_SIGNAL` | `write` to write the file when SIGINT or SIGTERM ends the program: see [`SessionBuilder::output_on_signal`] |
    /// | `OPTRACE_THREADS` | `all` (default), or `this` for the thread that starts the session |
    ///
    /// The rank is taken from the launcher's variables, as [`SessionBuilder::rank_from_env`] does; `{rank}` and
    /// `{pid}` in the file's name are replaced. The folder of the file is made if it does not exist, so that
    /// `OPTRACE=traces/{rank}.json mpirun -n 4 program` writes one file for each rank.
    ///
    /// If the file cannot be written at the end, one line on standard error gives the reason.
    ///
    /// ```
    /// # fn run_the_program() {}
    /// let session = trace_runtime::Session::from_env()?; // keep it: the file is written on drop
    /// run_the_program();
    /// drop(session);
    /// # Ok::<(), trace_runtime::SessionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A variable has a value that cannot be used, the file cannot be written, or there is a session already.
    pub fn from_env() -> Result<EnvSession, SessionError> {
        match builder_from(&|name| std::env::var(name))? {
            Some(builder) => {
                builder.make_folder();
                Ok(EnvSession(Some(builder.reporting_errors().start()?)))
            }
            None => Ok(EnvSession(None)),
        }
    }
}

/// Reads one variable, as `std::env::var` does.
type Variables<'a> = &'a dyn Fn(&'static str) -> Result<String, VarError>;

fn read_variable(
    variables: Variables<'_>,
    name: &'static str,
) -> Result<Option<String>, SessionError> {
    match variables(name) {
        Ok(value) if value.is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(value)) => Err(SessionError::environment(
            name,
            value.to_string_lossy(),
            "text that is valid UTF-8",
        )),
    }
}

fn builder_from(variables: Variables<'_>) -> Result<Option<SessionBuilder>, SessionError> {
    let variable = |name| read_variable(variables, name);
    let Some(output) = variable(OUTPUT)? else {
        return Ok(None);
    };
    let mut builder = SessionBuilder::default().output(output);
    if let Some(value) = variable(LIMIT)? {
        let Some(bytes) = parse_bytes(&value) else {
            let expected = "a number of bytes such as `512M`";
            return Err(SessionError::environment(LIMIT, value, expected));
        };
        builder = builder.memory_limit(bytes);
    }
    if let Some(value) = variable(SAMPLE)? {
        let Some(n) = value.parse().ok().filter(|n| *n > 0) else {
            let expected = "a whole number from 1 on";
            return Err(SessionError::environment(SAMPLE, value, expected));
        };
        builder = builder.sample(n);
    }
    if let Some(value) = variable(ALLOCATIONS)? {
        let Some(bytes) = parse_bytes(&value) else {
            let expected = "a number of bytes such as `512K`";
            return Err(SessionError::environment(ALLOCATIONS, value, expected));
        };
        builder = builder.sample_allocations(bytes as u64);
    }
    if let Some(value) = variable(FILTER)? {
        let Some(filter) = Filter::parse(&value) else {
            let expected = "patterns of ops, modules and a duration such as \
                            `Linear::*,!*::norm,module=my_model::layers,min=5us`";
            return Err(SessionError::environment(FILTER, value, expected));
        };
        builder = builder.filter(filter);
    }
    if let Some(value) = variable(SCHEDULE)? {
        let Some(schedule) = Schedule::parse(&value) else {
            let expected = "`wait`, `warm_up`, `active` and `repeat` such as `wait=1,active=3`";
            return Err(SessionError::environment(SCHEDULE, value, expected));
        };
        builder = builder.schedule(schedule);
    }
    match variable(ON_SIGNAL)?.as_deref() {
        None => {}
        Some("write") => builder = builder.output_on_signal(),
        Some(value) => return Err(SessionError::environment(ON_SIGNAL, value, "`write`")),
    }
    match variable(THREADS)?.as_deref() {
        None | Some("all") => {}
        Some("this") => builder = builder.this_thread_only(),
        Some(value) => {
            return Err(SessionError::environment(THREADS, value, "`all` or `this`"));
        }
    }
    with_rank(builder, variables).map(Some)
}

impl SessionBuilder {
    /// Takes the [rank](Self::rank) and the [number of processes](Self::world_size) from the variables of the program
    /// that launched this one: torchrun (`RANK`, `WORLD_SIZE`), Open MPI (`OMPI_COMM_WORLD_RANK`, `…_SIZE`), MPICH and
    /// others with PMI (`PMI_RANK`, `PMI_SIZE`), MVAPICH (`MV2_COMM_WORLD_RANK`, `…_SIZE`) and Slurm (`SLURM_PROCID`,
    /// `SLURM_NTASKS`). The first of them that is set counts. If none is set, the session has no rank.
    ///
    /// ```
    /// let session = trace_runtime::Session::builder().rank_from_env()?.start()?;
    /// # session.finish();
    /// # Ok::<(), trace_runtime::SessionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A variable is not a number, or the rank is not below the number of processes.
    pub fn rank_from_env(self) -> Result<SessionBuilder, SessionError> {
        with_rank(self, &|name| std::env::var(name))
    }
}

/// Adds the rank and the number of processes that the launcher set.
fn with_rank(
    mut builder: SessionBuilder,
    variables: Variables<'_>,
) -> Result<SessionBuilder, SessionError> {
    let number = |name, expected| match read_variable(variables, name)? {
        None => Ok(None),
        Some(value) => match value.parse::<u32>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(SessionError::environment(name, value, expected)),
        },
    };
    for (rank_name, size_name) in RANKS {
        let Some(rank) = number(rank_name, "the number of this process, from 0 on")? else {
            continue;
        };
        builder = builder.rank(rank);
        if let Some(size) = number(size_name, "the number of processes")? {
            if rank >= size {
                let expected = "a number below the number of processes";
                return Err(SessionError::environment(
                    rank_name,
                    rank.to_string(),
                    expected,
                ));
            }
            builder = builder.world_size(size);
        }
        break;
    }
    Ok(builder)
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
    use std::collections::HashMap;
    use std::ffi::OsString;

    fn from(variables: &[(&str, &str)]) -> Result<Option<SessionBuilder>, String> {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        builder_from(&|name| match variables.get(name) {
            Some(value) => Ok((*value).to_owned()),
            None => Err(VarError::NotPresent),
        })
        .map_err(|error| error.to_string())
    }

    #[test]
    fn no_variable_means_no_session() {
        assert!(from(&[]).unwrap().is_none());
        let without_a_file = [("OPTRACE", ""), ("OPTRACE_SAMPLE", "3")];
        assert!(from(&without_a_file).unwrap().is_none());
    }

    #[test]
    fn every_variable_becomes_a_setting() {
        let builder = from(&[
            ("OPTRACE", "t-{rank}.json"),
            ("OPTRACE_MEMORY_LIMIT", "3K"),
            ("OPTRACE_SAMPLE", "7"),
            ("OPTRACE_SAMPLE_ALLOCATIONS", "512k"),
            ("OPTRACE_FILTER", "mat*"),
            ("OPTRACE_SCHEDULE", "wait=2,active=5"),
            ("OPTRACE_THREADS", "this"),
            ("OPTRACE_ON_SIGNAL", "write"),
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
        ])
        .unwrap()
        .unwrap();
        let expected = SessionBuilder::default()
            .output("t-{rank}.json")
            .memory_limit(3072)
            .sample(7)
            .sample_allocations(512 << 10)
            .filter(Filter::new().only("mat*"))
            .schedule(Schedule::new().wait(2).active(5))
            .this_thread_only()
            .output_on_signal()
            .rank(1)
            .world_size(4);
        assert_eq!(format!("{builder:?}"), format!("{expected:?}"));
    }

    #[test]
    fn a_value_that_cannot_be_used_is_an_error_with_what_was_expected() {
        for (name, value) in [
            ("OPTRACE_MEMORY_LIMIT", "lots"),
            ("OPTRACE_SAMPLE", "0"),
            ("OPTRACE_SAMPLE_ALLOCATIONS", "-1"),
            ("OPTRACE_FILTER", "min=5"),
            ("OPTRACE_SCHEDULE", "1,1,3"),
            ("OPTRACE_THREADS", "two"),
            ("OPTRACE_ON_SIGNAL", "yes"),
            ("RANK", "first"),
            ("RANK", "4"),
            ("SLURM_PROCID", "-1"),
            ("MV2_COMM_WORLD_RANK", "x"),
        ] {
            let world = ("WORLD_SIZE", "4");
            let error = from(&[("OPTRACE", "t.json"), (name, value), world]).unwrap_err();
            assert!(
                error.starts_with(&format!("`{name}` is `{value}`; expected ")),
                "{error}"
            );
        }
    }

    #[test]
    fn every_launcher_is_supported_and_the_nearest_one_counts() {
        for (rank, size) in RANKS {
            let variables = [("OPTRACE", "t.json"), (rank, "3"), (size, "5")];
            let builder = from(&variables).unwrap().unwrap();
            let expected = SessionBuilder::default()
                .output("t.json")
                .rank(3)
                .world_size(5);
            assert_eq!(format!("{builder:?}"), format!("{expected:?}"), "{rank}");
        }
        let both = [
            ("OPTRACE", "t.json"),
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
            ("OMPI_UNIVERSE_SIZE", "64"),
            ("OMPI_COMM_WORLD_RANK", "2"),
        ];
        let builder = from(&both).unwrap().unwrap();
        let expected = SessionBuilder::default().output("t.json").rank(2);
        assert_eq!(format!("{builder:?}"), format!("{expected:?}"));
    }

    #[test]
    fn a_value_that_is_not_utf_8_is_an_error() {
        let error = builder_from(&|_| Err(VarError::NotUnicode(OsString::from("t?.json"))));
        assert_eq!(
            error.unwrap_err().to_string(),
            "`OPTRACE` is `t?.json`; expected text that is valid UTF-8"
        );
    }
}

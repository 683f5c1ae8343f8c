//! Why a command could not be done, and the exit code that says so.

use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use trace_runtime::TraceError;
use trace_runtime::report::printable;

/// The exit code for a bad file or a failed write; clap uses the same for a bad command line.
pub(crate) const TROUBLE: u8 = 2;

#[derive(Debug)]
pub(crate) enum Failure {
    Trace(TraceError),
    Write(Option<PathBuf>, io::Error),
    Told(String),
}

impl Failure {
    pub(crate) fn write(path: Option<&Path>, error: io::Error) -> Failure {
        Failure::Write(path.map(Path::to_owned), error)
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Write(_, error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Prints it to standard error. Names of files and ops in it are made safe for a terminal.
    pub(crate) fn tell(&self) {
        let text = printable(&self.to_string());
        // There is nobody left to tell if this fails.
        let _ = writeln!(io::stderr(), "optrace: {text}");
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Trace(error) => error.fmt(f),
            Failure::Write(Some(path), error) => {
                write!(f, "{}: cannot be written: {error}", path.display())
            }
            Failure::Write(None, error) => write!(f, "standard output cannot be written: {error}"),
            Failure::Told(text) => f.write_str(text),
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        Failure::Trace(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::Told(format!("the answer cannot be written as JSON: {error}"))
    }
}

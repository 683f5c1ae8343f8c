//! The error of a command.

use std::fmt;
use std::io::{self, Write as _};
use trace_runtime::TraceError;
use trace_runtime::report::printable;

/// Exit code for a file that cannot be read or written; clap uses the same code for a bad command line.
pub(crate) const EXIT_CODE: u8 = 2;

#[derive(Debug)]
pub(crate) enum Failure {
    /// A trace that cannot be read, merged or exported.
    Trace(TraceError),
    /// Standard output cannot be written.
    StandardOutput(io::Error),
    /// Anything else, as the text to show.
    Message(String),
}

impl Failure {
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::StandardOutput(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Prints the failure to standard error. Names of files and ops in it are made safe for a terminal.
    pub(crate) fn print(&self) {
        let text = printable(&self.to_string());
        // If standard error is closed, only the exit code reports the failure.
        let _ = writeln!(io::stderr(), "optrace: {text}");
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Trace(error) => error.fmt(f),
            Failure::StandardOutput(error) => {
                write!(f, "standard output cannot be written: {error}")
            }
            Failure::Message(text) => f.write_str(text),
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
        Failure::Message(format!("the result cannot be written as JSON: {error}"))
    }
}

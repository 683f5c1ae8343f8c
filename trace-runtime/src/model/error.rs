//! Why a trace could not be read or written.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a trace could not be read or written: which file, which place, and what was expected there.
#[derive(Debug)]
pub struct TraceError {
    path: Option<PathBuf>,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Read(io::Error),
    Write(io::Error),
    Json(serde_json::Error),
    Text {
        line: usize,
        column: usize,
        message: String,
    },
    Content(String),
}

impl TraceError {
    pub(crate) fn json(error: serde_json::Error) -> TraceError {
        TraceError {
            path: None,
            cause: Cause::Json(error),
        }
    }

    pub(crate) fn reading(error: io::Error) -> TraceError {
        TraceError {
            path: None,
            cause: Cause::Read(error),
        }
    }

    pub(crate) fn write(path: &Path, error: io::Error) -> TraceError {
        TraceError {
            path: Some(path.into()),
            cause: Cause::Write(error),
        }
    }

    /// A file that parses but is no trace; `message` says what was expected.
    pub fn content(message: impl Into<String>) -> TraceError {
        TraceError {
            path: None,
            cause: Cause::Content(message.into()),
        }
    }

    /// Text that is at fault at a line and a column, both from 1.
    pub(crate) fn text(line: usize, column: usize, message: impl Into<String>) -> TraceError {
        TraceError {
            path: None,
            cause: Cause::Text {
                line,
                column,
                message: message.into(),
            },
        }
    }

    /// The same error, saying which file it is about.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> TraceError {
        self.path.get_or_insert_with(|| path.into());
        self
    }

    /// The file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Line and column, both from 1, where the text is at fault.
    pub fn position(&self) -> Option<(usize, usize)> {
        match &self.cause {
            Cause::Json(error) if error.line() > 0 => Some((error.line(), error.column())),
            Cause::Text { line, column, .. } => Some((*line, *column)),
            _ => None,
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        match &self.cause {
            Cause::Read(error) => write!(f, "cannot be read: {error}"),
            Cause::Write(error) => write!(f, "cannot be written: {error}"),
            Cause::Json(error) if error.is_eof() => {
                write!(
                    f,
                    "the trace ends too early, perhaps its writer was cut off: {error}"
                )
            }
            Cause::Json(error) => write!(f, "not a trace: {error}"),
            Cause::Text {
                line,
                column,
                message,
            } => write!(f, "{message} at line {line} column {column}"),
            Cause::Content(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Read(error) | Cause::Write(error) => Some(error),
            Cause::Json(error) => Some(error),
            Cause::Text { .. } | Cause::Content(_) => None,
        }
    }
}

//! The error of reading or writing a trace.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The error of reading or writing a trace, with the file, the position in it, and what was expected.
///
/// Match on [`kind`](Self::kind) to handle some cases; print the error for a person.
#[derive(Debug)]
pub struct TraceError {
    path: Option<PathBuf>,
    cause: Cause,
}

/// The reason of a [`TraceError`].
///
/// ```
/// use trace_runtime::{model::TraceErrorKind, read};
///
/// let error = read::from_slice(b"op,count\nmatmul,3\n").unwrap_err();
/// assert_eq!(error.kind(), TraceErrorKind::NotATrace);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TraceErrorKind {
    /// The file or stream could not be read: it does not exist, access was denied, a decoder failed.
    Read,
    /// The file could not be written.
    Write,
    /// The path is a directory.
    Directory,
    /// The content is not a trace: another sort of file, or JSON without the keys of a trace.
    NotATrace,
    /// The content is compressed and must be decompressed first.
    Compressed,
    /// The text of a trace ends too early, as after a crash of its writer.
    Truncated,
    /// The header of a recording is damaged. Nothing else in the file can be read without it.
    Damaged,
    /// The text of a trace has a syntax error, at [`TraceError::position`].
    Syntax,
    /// The trace is too large: for a limit of this program, or for the viewers of an export.
    TooLarge,
    /// The trace was written by a newer version of this crate.
    NewerVersion,
    /// The arguments of a call do not fit together, such as two traces of one rank in a merge.
    InvalidInput,
    /// The format of an export is not known, or needs a feature that this build does not have.
    UnknownFormat,
}

#[derive(Debug)]
enum Cause {
    Read(io::Error),
    Write(io::Error),
    Json(serde_json::Error),
    Text {
        line: usize,
        column: usize,
        truncated: bool,
        message: String,
    },
    Message(TraceErrorKind, String),
}

impl TraceError {
    /// An error of the JSON parser, or the error of the stream that it read from.
    pub(crate) fn json(error: serde_json::Error) -> TraceError {
        if error.is_io() {
            let error = io::Error::from(error);
            return error.downcast().unwrap_or_else(TraceError::reading);
        }
        TraceError {
            path: None,
            cause: Cause::Json(error),
        }
    }

    /// An error while a file or stream was opened or read, for programs that open traces themselves and
    /// pass them to [`read::from_reader`](crate::read::from_reader).
    pub fn reading(error: io::Error) -> TraceError {
        if error.kind() == io::ErrorKind::IsADirectory {
            return TraceError::directory("name a trace file in it");
        }
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

    /// An error of this kind with this message, for programs that read or write traces themselves. The message is
    /// lower-case: first the fact, then what to do.
    pub fn new(kind: TraceErrorKind, message: impl Into<String>) -> TraceError {
        TraceError {
            path: None,
            cause: Cause::Message(kind, message.into()),
        }
    }

    /// Content that is not a trace; `message` names the content and what was expected.
    pub(crate) fn not_a_trace(message: impl Into<String>) -> TraceError {
        TraceError::new(TraceErrorKind::NotATrace, message)
    }

    pub(crate) fn too_large(message: impl Into<String>) -> TraceError {
        TraceError::new(TraceErrorKind::TooLarge, message)
    }

    pub(crate) fn directory(way_out: &str) -> TraceError {
        let message = format!("is a directory; {way_out}");
        TraceError::new(TraceErrorKind::Directory, message)
    }

    /// Wrong text at a line and a column, both from 1.
    pub(crate) fn syntax(line: usize, column: usize, message: impl Into<String>) -> TraceError {
        TraceError {
            path: None,
            cause: Cause::Text {
                line,
                column,
                truncated: false,
                message: message.into(),
            },
        }
    }

    /// Text that ends too early, at a line and a column, both from 1.
    pub(crate) fn truncated(line: usize, column: usize, expected: &str) -> TraceError {
        TraceError {
            path: None,
            cause: Cause::Text {
                line,
                column,
                truncated: true,
                message: format!(
                    "the trace ends too early, perhaps its writer was interrupted: expected {expected}"
                ),
            },
        }
    }

    /// The reason, to match on.
    pub fn kind(&self) -> TraceErrorKind {
        match &self.cause {
            Cause::Read(_) => TraceErrorKind::Read,
            Cause::Write(_) => TraceErrorKind::Write,
            Cause::Json(error) if error.is_eof() => TraceErrorKind::Truncated,
            Cause::Text {
                truncated: true, ..
            } => TraceErrorKind::Truncated,
            Cause::Json(_) | Cause::Text { .. } => TraceErrorKind::Syntax,
            Cause::Message(kind, _) => *kind,
        }
    }

    /// The same error with the file that it is about, unless it has one.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> TraceError {
        self.path.get_or_insert_with(|| path.into());
        self
    }

    /// The file that the error is about, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Line and column, both from 1, of wrong text.
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
            Cause::Read(error) if error.kind() == io::ErrorKind::NotFound => {
                f.write_str("no such file")
            }
            Cause::Read(error) => write!(f, "cannot be read: {error}"),
            Cause::Write(error) => write!(f, "cannot be written: {error}"),
            Cause::Json(error) if error.is_eof() => {
                write!(
                    f,
                    "the trace ends too early, perhaps its writer was interrupted: {error}"
                )
            }
            Cause::Json(error) => write!(f, "not a trace: {error}"),
            Cause::Text {
                line,
                column,
                message,
                ..
            } => write!(f, "{message} at line {line} column {column}"),
            Cause::Message(_, message) => f.write_str(message),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Read(error) | Cause::Write(error) => Some(error),
            Cause::Json(error) => Some(error),
            Cause::Text { .. } | Cause::Message(..) => None,
        }
    }
}

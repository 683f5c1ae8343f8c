//! The error of starting or finishing a session.

use crate::model::{TraceError, TraceStore};
use std::fmt;

/// The error of starting a session or of writing its trace.
///
/// Match on [`kind`](Self::kind) to handle some cases; print the error for a person.
///
/// ```
/// use trace_runtime::{Session, SessionErrorKind};
///
/// let session = Session::start()?;
/// let error = Session::start().unwrap_err();
/// assert_eq!(error.kind(), SessionErrorKind::AlreadyRunning);
/// session.finish();
/// # Ok::<(), trace_runtime::SessionError>(())
/// ```
#[derive(Debug)]
pub struct SessionError {
    cause: Cause,
    /// The trace, if only writing it failed.
    trace: Option<Box<TraceStore>>,
}

/// The reason of a [`SessionError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionErrorKind {
    /// There is a session already. Sessions do not nest.
    AlreadyRunning,
    /// An environment variable has a value that cannot be used.
    Environment,
    /// The output file cannot be written: its directory does not exist, or its ending does not name a format.
    /// Reported when the session starts.
    Output,
    /// Writing the trace failed when the session finished.
    Write,
}

#[derive(Debug)]
enum Cause {
    AlreadyRunning,
    Environment {
        name: &'static str,
        value: String,
        expected: &'static str,
    },
    Output(TraceError),
    Write(TraceError),
}

impl SessionError {
    pub(super) fn already_running() -> SessionError {
        SessionError::new(Cause::AlreadyRunning)
    }

    pub(super) fn environment(
        name: &'static str,
        value: impl Into<String>,
        expected: &'static str,
    ) -> SessionError {
        SessionError::new(Cause::Environment {
            name,
            value: value.into(),
            expected,
        })
    }

    pub(super) fn output(error: TraceError) -> SessionError {
        SessionError::new(Cause::Output(error))
    }

    pub(super) fn write(error: TraceError, trace: TraceStore) -> SessionError {
        SessionError {
            cause: Cause::Write(error),
            trace: Some(Box::new(trace)),
        }
    }

    fn new(cause: Cause) -> SessionError {
        SessionError { cause, trace: None }
    }

    /// The reason, to match on.
    pub fn kind(&self) -> SessionErrorKind {
        match &self.cause {
            Cause::AlreadyRunning => SessionErrorKind::AlreadyRunning,
            Cause::Environment { .. } => SessionErrorKind::Environment,
            Cause::Output(_) => SessionErrorKind::Output,
            Cause::Write(_) => SessionErrorKind::Write,
        }
    }

    /// The trace that could not be written, complete. `None` for the other kinds.
    pub fn into_trace(self) -> Option<TraceStore> {
        self.trace.map(|trace| *trace)
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::AlreadyRunning => f.write_str(
                "a session is running already and sessions do not nest; finish it first, \
                 or use `record` for a part of this thread",
            ),
            Cause::Environment {
                name,
                value,
                expected,
            } => {
                let value = value.escape_debug();
                write!(f, "`{name}` is `{value}`; expected {expected}")
            }
            Cause::Output(error) | Cause::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            // The message includes that of the cause, so the source is the next cause.
            Cause::Output(error) | Cause::Write(error) => error.source(),
            Cause::AlreadyRunning | Cause::Environment { .. } => None,
        }
    }
}

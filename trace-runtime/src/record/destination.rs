//! The output file of a session, which other processes may write too.

use crate::export::OutputFile;
use crate::model::whole_file::FileIdentity;
use crate::model::{TraceError, TraceStore};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The file that a session writes at its end, and the identity of the file that was there when the session started.
///
/// Several processes may have the same file name: ranks of a job, two runs at once. Each file is complete.
/// The first process to end gets the name; the others add their rank or process number to it.
#[derive(Debug)]
pub(super) struct Destination {
    file: OutputFile,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    /// The file that was there before this session, or that it wrote itself; `None` if there was no file.
    before: Option<FileIdentity>,
    /// The file that this session has written instead, if another process has the name.
    elsewhere: Option<OutputFile>,
}

impl Destination {
    pub(super) fn new(file: OutputFile) -> Destination {
        let written = Mutex::new(Written {
            before: FileIdentity::of(file.path()),
            elsewhere: None,
        });
        Destination { file, written }
    }

    /// Writes the trace, over a file that this session has written before. Returns the path if it differs from the
    /// requested one.
    pub(super) fn write(
        &self,
        trace: &TraceStore,
        rank: Option<u32>,
    ) -> Result<Option<PathBuf>, TraceError> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = &written.elsewhere {
            other.write(trace)?;
            return Ok(Some(other.path().to_owned()));
        }
        let before = written.before.as_ref();
        let path = self.file.write_unless_taken(trace, before, rank)?;
        if path == self.file.path() {
            written.before = FileIdentity::of(&path);
            return Ok(None);
        }
        written.elsewhere = OutputFile::new(&path).ok();
        Ok(Some(path))
    }
}

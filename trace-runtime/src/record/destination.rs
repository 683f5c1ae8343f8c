//! The output file of a session, which other processes may write too.

use crate::export::OutputFile;
use crate::model::whole_file::FileIdentity;
use crate::model::{TraceError, TraceStore};
use std::path::PathBuf;

/// The file that a session writes at its end, and what was there when the session started.
///
/// Several processes may have one name: ranks of a job, two runs at once. Each file is written whole.
/// The first process to end has the name; the others add their rank or process to it.
#[derive(Debug)]
pub(super) struct Destination {
    file: OutputFile,
    /// None if there was no file.
    before: Option<FileIdentity>,
}

impl Destination {
    pub(super) fn new(file: OutputFile) -> Destination {
        let before = FileIdentity::of(file.path());
        Destination { file, before }
    }

    /// Writes the trace. Returns the path if it is not the one that was asked for.
    pub(super) fn write(
        &self,
        trace: &TraceStore,
        rank: Option<u32>,
    ) -> Result<Option<PathBuf>, TraceError> {
        let written = self
            .file
            .write_unless_taken(trace, self.before.as_ref(), rank)?;
        Ok((written != self.file.path()).then_some(written))
    }
}

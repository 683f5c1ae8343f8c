//! The data that is needed to write the output of a session when a signal ends the process. The session itself belongs
//! to another thread.

use super::destination::Destination;
use super::session::{gather, report_loss, report_other_path};
use super::step_marks::StepMarks;
use crate::model::optrace;
use crate::model::{TraceError, TraceStore};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trace_core::__engine::state::Running;

/// A session's data in a form that another thread can write.
#[derive(Debug)]
pub(super) struct SignalOutput {
    pub(super) running: Running,
    pub(super) output: Arc<Destination>,
    /// The file of a session that streams.
    pub(super) recording: Option<PathBuf>,
    pub(super) unreachable_before: u64,
    pub(super) notes: Mutex<(HashMap<String, String>, StepMarks)>,
}

impl SignalOutput {
    /// The facts and steps of the session, which the session keeps up to date.
    pub(super) fn notes(&self) -> MutexGuard<'_, (HashMap<String, String>, StepMarks)> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the trace so far.
    pub(super) fn write(&self) {
        let written = self
            .trace()
            .and_then(|trace| self.output.write(&trace, self.running.shared.rank));
        // The process is about to end, so there is no caller to return the error to.
        match written {
            Ok(None) => {}
            Ok(Some(path)) => report_other_path(&path),
            Err(error) => report_loss(&error),
        }
    }

    fn trace(&self) -> Result<TraceStore, TraceError> {
        if let Some(path) = &self.recording {
            return optrace::open(path);
        }
        let notes = self.notes();
        Ok(gather(
            &self.running,
            &notes.0,
            &notes.1,
            self.unreachable_before,
        ))
    }
}

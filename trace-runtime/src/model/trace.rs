//! A finished record of a run, with owned data.

use super::entry::RecordedTraceEntry;
use super::error::TraceError;
use super::order::top_by;
use super::trace_step::TraceStep;
use super::whole_file::write_whole;
use super::wire::json::{self, JsonContent, JsonTrace};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;

/// A finished record of a run, with owned strings and vectors, to build, change and serialise.
///
/// Use a [`TraceStore`](super::TraceStore) for long traces: it is smaller and faster to analyse. Both are a
/// [`TraceView`](super::TraceView), and each converts to the other without loss.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedExecutionTrace {
    /// Entries in the order they began, so a parent always comes before its children.
    pub entries: Vec<RecordedTraceEntry>,
    /// Time spent in ops, in microseconds. No moment of one thread is counted twice.
    pub total_duration_us: f64,
    /// Facts about the run; [`wire::metadata`](super::wire::metadata) has the keys that this crate writes.
    pub metadata: HashMap<String, String>,
    /// The steps of the program's loop, earliest first; empty if it marked none.
    pub steps: Vec<TraceStep>,
}

impl RecordedExecutionTrace {
    /// An empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an entry and adds its time to the total.
    ///
    /// An entry whose parent is on the same thread adds nothing, because its time is part of its
    /// parent's. Add parents before their children.
    pub fn add_entry(&mut self, entry: RecordedTraceEntry) {
        if !self.runs_inside(&entry) {
            self.total_duration_us += entry.duration_us - entry.suspended_us;
        }
        self.entries.push(entry);
    }

    fn runs_inside(&self, entry: &RecordedTraceEntry) -> bool {
        entry
            .parent
            .and_then(|parent| self.at_step(parent))
            .is_some_and(|parent| parent.thread == entry.thread && parent.rank == entry.rank)
    }

    /// The entry of this step.
    pub(crate) fn at_step(&self, step: usize) -> Option<&RecordedTraceEntry> {
        match self.entries.get(step) {
            Some(entry) if entry.step == step => Some(entry),
            _ => {
                let index = self
                    .entries
                    .binary_search_by_key(&step, |entry| entry.step)
                    .ok()?;
                self.entries.get(index)
            }
        }
    }

    /// Adds a fact about the run.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The number of entries.
    pub fn step_count(&self) -> usize {
        self.entries.len()
    }

    /// The sum of the bytes of all outputs, whether or not they existed at the same time; saturating.
    pub fn total_memory_bytes(&self) -> usize {
        self.entries.iter().fold(0, |sum: usize, entry| {
            sum.saturating_add(entry.memory_bytes)
        })
    }

    /// The largest output of a single entry, in bytes; 0 for an empty trace.
    pub fn peak_memory_bytes(&self) -> usize {
        self.entries
            .iter()
            .map(|entry| entry.memory_bytes)
            .max()
            .unwrap_or(0)
    }

    /// The `n` entries with the longest durations, longest first. Equal ones are in the order in which they began.
    /// Entries with a duration of NaN come last.
    pub fn slowest_ops(&self, n: usize) -> Vec<&RecordedTraceEntry> {
        top_by(
            self.entries.iter().map(|entry| (entry.duration_us, entry)),
            n,
        )
    }

    /// The trace as JSON, indented.
    ///
    /// # Errors
    /// JSON cannot be made. This does not happen for a trace.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// Reads what [`to_json`](Self::to_json) wrote, now or in an older version.
    ///
    /// # Errors
    /// The text is not a trace of this crate, or of a later version. [`TraceError::kind`] is the reason.
    pub fn from_json(json: &str) -> Result<Self, TraceError> {
        Self::from_slice(json.as_bytes())
    }

    fn from_slice(json: &[u8]) -> Result<Self, TraceError> {
        json::read(serde_json::Deserializer::from_slice(json)).map(RecordedExecutionTrace::from)
    }

    /// Reads a trace from a JSON file that [`write`](Self::write) or [`to_json`](Self::to_json) wrote.
    ///
    /// [`read::open`](crate::read::open) also reads the formats of other profilers, and needs less memory.
    ///
    /// # Errors
    /// The file cannot be read, or is not a trace of this crate.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let json = fs::read(path).map_err(|error| TraceError::reading(error).in_file(path))?;
        Self::from_slice(&json).map_err(|error| error.in_file(path))
    }

    /// Writes the trace to a JSON file. The file is replaced only when everything is written.
    ///
    /// [`export::write_file`](crate::export::write_file) writes other formats too.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), TraceError> {
        write_whole(path.as_ref(), |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }
}

impl Serialize for RecordedExecutionTrace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonTrace::with_complete_metadata(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RecordedExecutionTrace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        json::deserialize(deserializer).map(RecordedExecutionTrace::from)
    }
}

impl From<JsonContent<Vec<RecordedTraceEntry>>> for RecordedExecutionTrace {
    fn from(content: JsonContent<Vec<RecordedTraceEntry>>) -> Self {
        RecordedExecutionTrace {
            entries: content.entries,
            total_duration_us: content.total_duration_us,
            metadata: content.metadata,
            steps: content.steps,
        }
    }
}

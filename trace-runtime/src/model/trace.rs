//! A finished record of a run, owned.

use super::entry::RecordedTraceEntry;
use super::error::{TraceError, TraceErrorKind};
use super::json_struct::{Read, Wire};
use super::order::top_by;
use super::trace_step::{TraceStep, WireStep};
use super::whole_file::write_whole;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::Path;

/// The version of the JSON that this crate writes. It grows when an older reader would get something
/// wrong; keys that older readers may pass over do not change it.
pub const SCHEMA_VERSION: u32 = 1;

/// A finished record of a run: owned strings and vectors, what people build, read and serialise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedExecutionTrace {
    /// Entries in the order they began, so a parent always comes before its children.
    pub entries: Vec<RecordedTraceEntry>,
    /// Time spent in ops, in microseconds: no moment of one thread is counted twice.
    pub total_duration_us: f64,
    /// What is known of the run.
    pub metadata: HashMap<String, String>,
    /// The steps of the program's loop, earliest first; empty where it marked none.
    pub steps: Vec<TraceStep>,
}

impl RecordedExecutionTrace {
    /// An empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an entry and adds its time to the total.
    ///
    /// An entry inside another one of the same thread adds nothing: its time is its parent's already.
    /// Parents are added before their children.
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

    /// How many entries there are.
    pub fn step_count(&self) -> usize {
        self.entries.len()
    }

    /// The bytes of all outputs added up, whether or not they lived at the same time; saturating.
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

    /// The `n` entries that took longest, longest first. Ties stay in the order they began; a NaN
    /// comes last.
    pub fn slowest_ops(&self, n: usize) -> Vec<&RecordedTraceEntry> {
        top_by(
            self.entries.iter().map(|entry| (entry.duration_us, entry)),
            n,
        )
    }

    /// The trace as JSON, indented.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// Reads what [`to_json`](Self::to_json) wrote, now or in an older version.
    pub fn from_json(json: &str) -> Result<Self, TraceError> {
        Self::from_slice(json.as_bytes())
    }

    pub(crate) fn from_slice(json: &[u8]) -> Result<Self, TraceError> {
        let newer = Cell::new(false);
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let trace = deserializer
            .deserialize_map(TraceFields { newer: &newer })
            .and_then(|trace| deserializer.end().map(|()| trace));
        trace.map_err(|error| match newer.get() {
            true => TraceError::new(TraceErrorKind::NewerVersion, error.to_string()),
            false => TraceError::json(error),
        })
    }

    /// Reads a trace from a JSON file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let json = fs::read(path).map_err(|error| TraceError::reading(error).in_file(path))?;
        Self::from_slice(&json).map_err(|error| error.in_file(path))
    }

    /// Writes the trace to a JSON file. The file is complete or not there: it takes its name only
    /// once everything is written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), TraceError> {
        write_whole(path.as_ref(), |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }
}

impl Serialize for RecordedExecutionTrace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
        map.serialize_entry("entries", &self.entries)?;
        map.serialize_entry("total_duration_us", &Wire(&self.total_duration_us))?;
        map.serialize_entry("metadata", &Wire(&self.metadata))?;
        if !self.steps.is_empty() {
            let steps: Vec<WireStep> = self.steps.iter().map(WireStep::from).collect();
            map.serialize_entry("steps", &steps)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RecordedExecutionTrace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TraceFields {
            newer: &Cell::new(false),
        })
    }
}

struct TraceFields<'a> {
    /// Set if the trace is of a newer version: `serde_json`'s error has only text.
    newer: &'a Cell<bool>,
}

impl<'de> serde::de::Visitor<'de> for TraceFields<'_> {
    type Value = RecordedExecutionTrace;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace: an object with `entries`, `total_duration_us` and `metadata`")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        use serde::de::Error as _;
        let (mut entries, mut total, mut metadata, mut steps) = (None, None, None, None);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "schema_version" => check_version(map.next_value()?, self.newer)?,
                "entries" if entries.is_none() => entries = Some(map.next_value()?),
                "total_duration_us" if total.is_none() => {
                    total = Some(map.next_value::<Read<f64>>()?.0);
                }
                "metadata" if metadata.is_none() => {
                    metadata = Some(map.next_value::<Read<HashMap<_, _>>>()?.0);
                }
                "steps" if steps.is_none() => {
                    let list: Vec<WireStep> = map.next_value()?;
                    steps = Some(list.into_iter().map(TraceStep::from).collect());
                }
                "steps" => return Err(A::Error::duplicate_field("steps")),
                "entries" => return Err(A::Error::duplicate_field("entries")),
                "total_duration_us" => return Err(A::Error::duplicate_field("total_duration_us")),
                "metadata" => return Err(A::Error::duplicate_field("metadata")),
                _ => {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
            }
        }
        Ok(RecordedExecutionTrace {
            entries: entries.ok_or_else(|| A::Error::missing_field("entries"))?,
            total_duration_us: total.ok_or_else(|| A::Error::missing_field("total_duration_us"))?,
            metadata: metadata.ok_or_else(|| A::Error::missing_field("metadata"))?,
            steps: steps.unwrap_or_default(),
        })
    }
}

fn check_version<E: serde::de::Error>(version: u32, newer: &Cell<bool>) -> Result<(), E> {
    if version > SCHEMA_VERSION {
        newer.set(true);
        return Err(E::custom(format_args!(
            "the trace has schema version {version} and this program reads up to {SCHEMA_VERSION}; \
             update the program, or write the trace with an older one"
        )));
    }
    Ok(())
}

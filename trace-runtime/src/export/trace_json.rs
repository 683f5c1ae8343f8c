//! The described JSON, written entry by entry.

use super::Exporter;
use crate::model::json_struct::Wire;
use crate::model::memory::{EVENTS_KEY, EventLines};
use crate::model::runtime_call::{CALLS_KEY, CallLines};
use crate::model::trace_step::WireStep;
use crate::model::view::thread_name_key;
use crate::model::{SCHEMA_VERSION, TraceView};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, BufWriter, Write};

/// Writes what [`RecordedExecutionTrace::to_json`](crate::RecordedExecutionTrace::to_json) returns,
/// for a trace of any size; [`RecordedExecutionTrace::read`](crate::RecordedExecutionTrace::read)
/// reads it back.
#[derive(Debug, Clone, Copy, Default)]
pub struct TraceJson;

impl Exporter for TraceJson {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let trace = Streamed {
            trace,
            threads: RefCell::default(),
        };
        serde_json::to_writer_pretty(&mut out, &trace)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    fn extension(&self) -> &'static str {
        "json"
    }
}

struct Streamed<'a, T: ?Sized> {
    trace: &'a T,
    /// Seen while the entries are written, named in the metadata behind them.
    threads: RefCell<BTreeSet<u64>>,
}

impl<T: TraceView + ?Sized> Serialize for Streamed<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
        map.serialize_entry("entries", &Entries(self))?;
        map.serialize_entry("total_duration_us", &Wire(&self.trace.total_duration_us()))?;
        map.serialize_entry("metadata", &Metadata(self))?;
        let steps = self.trace.steps();
        if !steps.is_empty() {
            let steps: Vec<WireStep> = steps.iter().map(WireStep::from).collect();
            map.serialize_entry("steps", &steps)?;
        }
        map.end()
    }
}

/// Written behind the entries, when their threads are known.
struct Metadata<'a, T: ?Sized>(&'a Streamed<'a, T>);

impl<T: TraceView + ?Sized> Serialize for Metadata<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Metadata(Streamed { trace, threads }) = self;
        let mut metadata: BTreeMap<Cow<'_, str>, &str> = trace
            .metadata()
            .iter()
            .map(|(key, value)| (key.into(), value.as_str()))
            .collect();
        for &thread in threads.borrow().iter() {
            if let Some(name) = trace.thread_name(thread) {
                metadata.insert(thread_name_key(thread).into(), name);
            }
        }
        if trace.memory_events().next().is_some() {
            metadata.insert(EVENTS_KEY.into(), "");
        }
        if trace.runtime_calls().next().is_some() {
            metadata.insert(CALLS_KEY.into(), "");
        }
        let mut map = serializer.serialize_map(Some(metadata.len()))?;
        for (key, value) in metadata {
            if key == EVENTS_KEY && value.is_empty() {
                map.serialize_entry(&key, &Text(EventLines(*trace)))?;
            } else if key == CALLS_KEY && value.is_empty() {
                map.serialize_entry(&key, &Text(CallLines(*trace)))?;
            } else {
                map.serialize_entry(&key, value)?;
            }
        }
        map.end()
    }
}

/// What prints itself, as a string that is never whole in memory.
struct Text<T>(T);

impl<T: fmt::Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

struct Entries<'a, T: ?Sized>(&'a Streamed<'a, T>);

impl<T: TraceView + ?Sized> Serialize for Entries<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Entries(Streamed { trace, threads }) = self;
        let mut list = serializer.serialize_seq(Some(trace.entry_count()))?;
        let mut threads = threads.borrow_mut();
        let mut seen = None;
        for view in trace.views() {
            if view.thread() != seen {
                seen = view.thread();
                threads.extend(seen);
            }
            list.serialize_element(&view.to_entry())?;
        }
        list.end()
    }
}

//! The described JSON, written entry by entry.

use super::Exporter;
use crate::model::json_struct::Wire;
use crate::model::memory::{EVENTS_KEY, write_events};
use crate::model::view::thread_name_key;
use crate::model::{SCHEMA_VERSION, TraceView};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

/// Writes what [`RecordedExecutionTrace::to_json`](crate::RecordedExecutionTrace::to_json) returns,
/// for a trace of any size; [`RecordedExecutionTrace::read`](crate::RecordedExecutionTrace::read)
/// reads it back.
#[derive(Debug, Clone, Copy, Default)]
pub struct DescribedJson;

impl Exporter for DescribedJson {
    fn export<T: TraceView + ?Sized, W: Write>(&self, trace: &T, out: W) -> io::Result<()> {
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
        map.serialize_entry("metadata", &self.metadata())?;
        map.end()
    }
}

impl<T: TraceView + ?Sized> Streamed<'_, T> {
    fn metadata(&self) -> BTreeMap<String, String> {
        let mut metadata: BTreeMap<String, String> = self
            .trace
            .metadata()
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        for &thread in self.threads.borrow().iter() {
            if let Some(name) = self.trace.thread_name(thread) {
                metadata.insert(thread_name_key(thread), name.to_owned());
            }
        }
        if self.trace.memory_events().next().is_some() {
            let events = write_events(self.trace.memory_events());
            metadata.insert(EVENTS_KEY.to_owned(), events);
        }
        metadata
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

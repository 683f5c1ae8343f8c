//! The JSON format of a trace: one writer over any [`TraceView`] and one reader, both entry by entry.
//!
//! The format is an object with `schema_version`, `entries`, `total_duration_us`, `metadata` and `steps`
//! (optional); unknown keys are ignored. An entry is written and read by [`RecordedTraceEntry`].

use super::metadata;
use crate::model::builder::TraceStoreBuilder;
use crate::model::error::{TraceError, TraceErrorKind};
use crate::model::json_struct::{Read, Wire};
use crate::model::memory::EventLines;
use crate::model::runtime_call::CallLines;
use crate::model::thread_names::names_as_metadata;
use crate::model::trace_step::{TraceStep, WireStep};
use crate::model::{RecordedTraceEntry, TraceView};
use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::marker::PhantomData;

/// The version of the JSON that this crate writes. It increases when an older reader would misread a newer
/// file; new keys that older readers may ignore do not change it.
pub const SCHEMA_VERSION: u32 = 1;

const VERSION_KEY: &str = "schema_version";
const ENTRIES: &str = "entries";
const TOTAL_DURATION_US: &str = "total_duration_us";
const METADATA: &str = "metadata";
const STEPS: &str = "steps";

/// A trace as JSON. Holds one entry at a time in addition to the trace.
pub(crate) struct JsonTrace<'a> {
    trace: &'a dyn TraceView,
    /// The metadata as they are, if they contain everything that is not an entry.
    complete_metadata: Option<&'a HashMap<String, String>>,
    /// The threads of the entries written so far, for the names of threads in the metadata.
    threads: RefCell<BTreeSet<(Option<u32>, u64)>>,
}

impl<'a> JsonTrace<'a> {
    /// A trace in any storage.
    pub(crate) fn new(trace: &'a dyn TraceView) -> JsonTrace<'a> {
        JsonTrace {
            trace,
            complete_metadata: None,
            threads: RefCell::default(),
        }
    }

    /// A trace whose metadata already contain the names of threads, memory events and runtime calls.
    pub(crate) fn with_complete_metadata(trace: &'a dyn TraceView) -> JsonTrace<'a> {
        JsonTrace {
            complete_metadata: Some(trace.metadata()),
            ..JsonTrace::new(trace)
        }
    }
}

impl Serialize for JsonTrace<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry(VERSION_KEY, &SCHEMA_VERSION)?;
        map.serialize_entry(ENTRIES, &JsonEntries(self))?;
        map.serialize_entry(TOTAL_DURATION_US, &Wire(&self.trace.total_duration_us()))?;
        // Written after the entries, because only then all threads are known.
        match self.complete_metadata {
            Some(metadata) => map.serialize_entry(METADATA, &Wire(metadata))?,
            None => map.serialize_entry(METADATA, &JsonMetadata(self))?,
        }
        let steps = self.trace.steps();
        if !steps.is_empty() {
            let steps: Vec<WireStep> = steps.iter().map(WireStep::from).collect();
            map.serialize_entry(STEPS, &steps)?;
        }
        map.end()
    }
}

struct JsonEntries<'a>(&'a JsonTrace<'a>);

impl Serialize for JsonEntries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let JsonTrace { trace, threads, .. } = self.0;
        let mut list = serializer.serialize_seq(Some(trace.entry_count()))?;
        let mut threads = threads.borrow_mut();
        let mut thread = None;
        for view in trace.views() {
            let own = view.thread().map(|thread| (view.rank(), thread));
            if own != thread {
                thread = own;
                threads.extend(own);
            }
            match view.as_owned() {
                Some(entry) => list.serialize_element(entry)?,
                None => list.serialize_element(&view.to_entry())?,
            }
        }
        list.end()
    }
}

struct JsonMetadata<'a>(&'a JsonTrace<'a>);

/// A value of the metadata.
enum Fact<'a> {
    Text(&'a str),
    MemoryEvents,
    RuntimeCalls,
}

impl Serialize for JsonMetadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let JsonTrace { trace, threads, .. } = self.0;
        // Sorted by key, so that the same trace gives the same bytes.
        let mut facts: BTreeMap<Cow<'_, str>, Fact<'_>> = trace
            .metadata()
            .iter()
            .map(|(key, value)| (key.into(), Fact::Text(value)))
            .collect();
        let threads = threads.borrow();
        let named = threads
            .iter()
            .map(|&(rank, thread)| (rank, thread, trace.thread_name(rank, thread)));
        for (key, name) in names_as_metadata(named) {
            facts.insert(key.into(), Fact::Text(name));
        }
        // If this trace is a part of another one, these may be the events of the whole.
        facts.remove(metadata::MEMORY_EVENTS);
        facts.remove(metadata::RUNTIME_CALLS);
        if trace.memory_events().next().is_some() {
            facts.insert(metadata::MEMORY_EVENTS.into(), Fact::MemoryEvents);
        }
        if trace.runtime_calls().next().is_some() {
            facts.insert(metadata::RUNTIME_CALLS.into(), Fact::RuntimeCalls);
        }
        let mut map = serializer.serialize_map(Some(facts.len()))?;
        for (key, fact) in facts {
            match fact {
                Fact::Text(text) => map.serialize_entry(&key, text)?,
                Fact::MemoryEvents => map.serialize_entry(&key, &Lines(EventLines(*trace)))?,
                Fact::RuntimeCalls => map.serialize_entry(&key, &Lines(CallLines(*trace)))?,
            }
        }
        map.end()
    }
}

/// Text that is written piece by piece and is never in memory as a whole.
struct Lines<T>(T);

impl<T: fmt::Display> Serialize for Lines<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The content of a trace in JSON, with its entries in a storage of the reader's choice.
#[derive(Debug)]
pub(crate) struct JsonContent<E> {
    pub(crate) entries: E,
    pub(crate) total_duration_us: f64,
    pub(crate) metadata: HashMap<String, String>,
    pub(crate) steps: Vec<TraceStep>,
}

/// Takes entries while they are read.
pub(crate) trait EntrySink: Default {
    fn push(&mut self, entry: RecordedTraceEntry) -> Result<(), TraceError>;
}

impl EntrySink for Vec<RecordedTraceEntry> {
    fn push(&mut self, entry: RecordedTraceEntry) -> Result<(), TraceError> {
        Vec::push(self, entry);
        Ok(())
    }
}

impl EntrySink for TraceStoreBuilder {
    fn push(&mut self, entry: RecordedTraceEntry) -> Result<(), TraceError> {
        self.push_owned(&entry)
    }
}

/// Reads a trace from all of `deserializer`.
pub(crate) fn read<'de, R, E>(
    mut deserializer: serde_json::Deserializer<R>,
) -> Result<JsonContent<E>, TraceError>
where
    R: serde_json::de::Read<'de>,
    E: EntrySink,
{
    let failure = RefCell::new(None);
    let content = deserializer
        .deserialize_map(TraceVisitor::new(&failure))
        .and_then(|content| deserializer.end().map(|()| content));
    content.map_err(|error| failure.take().unwrap_or_else(|| TraceError::json(error)))
}

/// Reads a trace from any serde format.
pub(crate) fn deserialize<'de, D, E>(deserializer: D) -> Result<JsonContent<E>, D::Error>
where
    D: Deserializer<'de>,
    E: EntrySink,
{
    deserializer.deserialize_map(TraceVisitor::new(&RefCell::new(None)))
}

struct TraceVisitor<'a, E> {
    /// The error of this crate; a serde error would keep only its text.
    failure: &'a RefCell<Option<TraceError>>,
    sink: PhantomData<E>,
}

impl<'a, E> TraceVisitor<'a, E> {
    fn new(failure: &'a RefCell<Option<TraceError>>) -> Self {
        TraceVisitor {
            failure,
            sink: PhantomData,
        }
    }
}

impl<'de, E: EntrySink> Visitor<'de> for TraceVisitor<'_, E> {
    type Value = JsonContent<E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace: an object with `entries`, `total_duration_us` and `metadata`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        use serde::de::Error as _;
        let failure = self.failure;
        let (mut entries, mut total, mut metadata, mut steps) = (None, None, None, None);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                VERSION_KEY => check_version(map.next_value()?, failure)?,
                ENTRIES if entries.is_none() => {
                    let seed = EntriesSeed {
                        failure,
                        sink: E::default(),
                    };
                    entries = Some(map.next_value_seed(seed)?);
                }
                TOTAL_DURATION_US if total.is_none() => {
                    total = Some(map.next_value::<Read<f64>>()?.0);
                }
                METADATA if metadata.is_none() => {
                    metadata = Some(map.next_value::<Read<HashMap<_, _>>>()?.0);
                }
                STEPS if steps.is_none() => {
                    let list: Vec<WireStep> = map.next_value()?;
                    steps = Some(list.into_iter().map(TraceStep::from).collect());
                }
                STEPS => return Err(A::Error::duplicate_field(STEPS)),
                ENTRIES => return Err(A::Error::duplicate_field(ENTRIES)),
                TOTAL_DURATION_US => return Err(A::Error::duplicate_field(TOTAL_DURATION_US)),
                METADATA => return Err(A::Error::duplicate_field(METADATA)),
                _ => {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
            }
        }
        Ok(JsonContent {
            entries: entries.ok_or_else(|| A::Error::missing_field(ENTRIES))?,
            total_duration_us: total.ok_or_else(|| A::Error::missing_field(TOTAL_DURATION_US))?,
            metadata: metadata.ok_or_else(|| A::Error::missing_field(METADATA))?,
            steps: steps.unwrap_or_default(),
        })
    }
}

/// Reads the list of entries into a sink.
struct EntriesSeed<'a, E> {
    failure: &'a RefCell<Option<TraceError>>,
    sink: E,
}

impl<'de, E: EntrySink> DeserializeSeed<'de> for EntriesSeed<'_, E> {
    type Value = E;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<E, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, E: EntrySink> Visitor<'de> for EntriesSeed<'_, E> {
    type Value = E;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<E, A::Error> {
        while let Some(entry) = list.next_element()? {
            if let Err(error) = self.sink.push(entry) {
                return Err(fail(self.failure, error));
            }
        }
        Ok(self.sink)
    }
}

fn check_version<E: serde::de::Error>(
    version: u32,
    failure: &RefCell<Option<TraceError>>,
) -> Result<(), E> {
    if version > SCHEMA_VERSION {
        let message = format!(
            "the trace has schema version {version} and this program reads up to {SCHEMA_VERSION}; \
             update the program, or write the trace with an older one"
        );
        let error = TraceError::new(TraceErrorKind::NewerVersion, message);
        return Err(fail(failure, error));
    }
    Ok(())
}

/// Keeps the error of this crate, and returns a serde error with its text.
fn fail<E: serde::de::Error>(failure: &RefCell<Option<TraceError>>, error: TraceError) -> E {
    let text = E::custom(&error);
    failure.replace(Some(error));
    text
}

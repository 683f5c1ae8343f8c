//! The data of a trace: entries, their tensors, steps, memory events and runtime calls.
//!
//! There are two storages: [`RecordedExecutionTrace`], with owned entries to build and serialise, and
//! [`TraceStore`], which is compact. Both return the same [`EntryView`], and everything that reads a trace
//! takes any [`TraceView`]. This module depends on `trace_core`, and on nothing else in the crate.

pub(crate) mod assemble;
mod builder;
pub(crate) mod collective_keys;
mod convert;
mod dtypes;
mod entry;
mod entry_details;
mod entry_view;
mod error;
pub(crate) mod hash;
mod in_parallel;
pub(crate) mod json_struct;
pub(crate) mod memory;
mod memory_context;
pub(crate) mod merge;
mod merge_source;
mod meta;
mod new_entry;
mod optional_us;
pub(crate) mod optrace;
pub(crate) mod order;
pub(crate) mod pause;
mod row_order;
mod rows;
pub(crate) mod runtime_call;
mod select;
pub(crate) mod store;
mod stored_entry;
mod tensor_view;
pub(crate) mod thread_names;
mod trace;
pub(crate) mod trace_step;
pub(crate) mod view;
pub(crate) mod whole_file;
pub mod wire;

pub use builder::{ThreadIndex, TraceStoreBuilder};
pub use dtypes::DTypes;
pub use entry::RecordedTraceEntry;
pub use entry_details::EntryDetails;
pub use entry_view::EntryView;
pub use error::{TraceError, TraceErrorKind};
pub use memory::MemoryEvent;
pub use memory_context::{MemoryContext, memory_contexts};
pub use meta::{Meta, MetaIter};
pub use new_entry::NewEntry;
pub use optional_us::OptionalUs;
pub use pause::{NotAPause, Pause};
pub(crate) use rows::WholeRow;
pub use rows::{NewRow, SignatureIndex};
pub use runtime_call::{Launch, RuntimeCall};
pub use store::TraceStore;
pub use stored_entry::StoredEntry;
pub use tensor_view::{TensorView, Tensors};
pub use trace::RecordedExecutionTrace;
pub(crate) use trace_core::__engine::{chunk, interner, signature, ticks};
#[doc(inline)]
pub use trace_core::{DType, Device, DeviceName, OpKind, Outcome, PauseKind};
pub use trace_step::TraceStep;
pub use view::{EntryStorage, TraceView, Views};
pub use wire::SCHEMA_VERSION;

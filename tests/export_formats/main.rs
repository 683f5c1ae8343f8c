//! What every export promises, whatever the trace: it is valid, it nests, and its times are ours.

#[path = "../support/arbitrary.rs"]
mod arbitrary;
mod chrome;
mod collapsed;
mod csv;
mod files;
#[cfg(feature = "flamegraph")]
mod flame_graph;
mod hostile_names;
#[cfg(feature = "parquet")]
mod parquet_tables;
mod perfetto;
mod random_trace;
mod round_trip;
mod speedscope;
mod trace_json;

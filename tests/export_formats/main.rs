//! Checks that every export of every trace is valid, that its spans nest, and that its times are those of the trace.

#[path = "../support/arbitrary.rs"]
mod arbitrary;
mod chakra;
mod chrome;
mod collapsed;
mod csv;
mod files;
#[cfg(feature = "flamegraph")]
mod flame_graph;
mod hostile_names;
mod memory;
mod output_file;
#[cfg(feature = "parquet")]
mod parquet_tables;
mod perfetto;
mod protobuf;
mod random_trace;
mod round_trip;
mod speedscope;
mod trace_json;

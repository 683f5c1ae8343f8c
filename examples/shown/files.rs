//! Writes a trace to files.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use trace_runtime::RecordedExecutionTrace;
use trace_runtime::export::{FlameGraph, PerfettoTrace, write};

/// Writes the trace as JSON, for Perfetto and as a flame graph, and prints the paths.
pub(crate) fn write_all(name: &str, trace: &RecordedExecutionTrace) -> Result<(), Box<dyn Error>> {
    let folder = folder(name);
    fs::create_dir_all(&folder)?;
    let json = folder.join("trace.json");
    let perfetto = folder.join("trace.pftrace");
    let flame = folder.join("flame.svg");
    trace.write(&json)?;
    write(&PerfettoTrace::new(), trace, &perfetto)?;
    write(&FlameGraph::new().with_title(name), trace, &flame)?;
    println!("Written:");
    println!("  {}  every op: `optrace report {0}`", json.display());
    println!(
        "  {}  a timeline: drop it on https://ui.perfetto.dev",
        perfetto.display()
    );
    println!("  {}  a flame graph: open it in a browser", flame.display());
    Ok(())
}

/// The folder for the files of an example, below the current one; git ignores it.
pub(crate) fn folder(name: &str) -> PathBuf {
    PathBuf::from("traces-out").join(name)
}

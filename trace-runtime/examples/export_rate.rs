//! Exports a large trace in every format and prints the rate and the peak of memory, compared with
//! `cat` of the same bytes.
//!
//! ```text
//! cargo run --release -p trace-runtime --features flamegraph,parquet --example export_rate -- [ENTRIES] [FOLDER]
//! ```
//!
//! Ten million entries by default, written below the folder for temporary files. Linux only: memory is
//! read from `/proc`.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use trace_runtime::export::{
    ChromeTrace, CollapsedStacks, CsvTable, Exporter, PerfettoTrace, Speedscope, TraceJson,
};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, TraceError, TraceStore};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let entries = match args.next() {
        Some(count) => count.parse()?,
        None => 10_000_000,
    };
    let folder = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let trace = many_ops(entries)?;
    println!(
        "{} entries, {} MiB as a store",
        trace.len(),
        trace.heap_bytes() >> 20
    );
    println!(
        "{:<18} {:>9} {:>8} {:>9} {:>11} {:>10} {:>12}",
        "format", "MiB", "s", "MiB/s", "entries/s", "cat MiB/s", "memory MiB"
    );
    let bench = Bench { trace, folder };
    bench.run("Chrome trace", &ChromeTrace::new())?;
    bench.run("Perfetto", &PerfettoTrace::new())?;
    bench.run("speedscope", &Speedscope)?;
    bench.run("described JSON", &TraceJson)?;
    bench.run("collapsed stacks", &CollapsedStacks)?;
    #[cfg(feature = "flamegraph")]
    bench.run("flame graph", &trace_runtime::export::FlameGraph::new())?;
    bench.run("CSV by shape", &CsvTable::ByShape)?;
    #[cfg(feature = "parquet")]
    {
        use trace_runtime::export::parquet::{ParquetEntries, ParquetShapes};
        bench.run("Parquet entries", &ParquetEntries)?;
        bench.run("Parquet shapes", &ParquetShapes)?;
    }
    Ok(())
}

struct Bench {
    trace: TraceStore,
    folder: PathBuf,
}

impl Bench {
    fn run(&self, name: &str, exporter: &dyn Exporter) -> Result<(), Box<dyn Error>> {
        let path = self
            .folder
            .join(format!("export-rate.{}", exporter.extension()));
        // Forgets the peak so far.
        fs::write("/proc/self/clear_refs", "5")?;
        let before = status_kib("VmRSS:")?;
        let started = Instant::now();
        exporter.export(&self.trace, &mut File::create(&path)?)?;
        let took = started.elapsed();
        let memory = status_kib("VmHWM:")?.saturating_sub(before);
        let mib = fs::metadata(&path)?.len() as f64 / f64::from(1 << 20);
        let cat = cat(&path)?;
        fs::remove_file(&path)?;
        println!(
            "{name:<18} {mib:>9.0} {:>8.1} {:>9.0} {:>11.0} {:>10.0} {:>12.1}",
            took.as_secs_f64(),
            mib / took.as_secs_f64(),
            self.trace.len() as f64 / took.as_secs_f64(),
            mib / cat.as_secs_f64(),
            memory as f64 / 1024.0
        );
        Ok(())
    }
}

/// The time that `cat` takes to write the same bytes.
fn cat(path: &Path) -> Result<Duration, Box<dyn Error>> {
    let copy = path.with_extension("copy");
    let started = Instant::now();
    let status = Command::new("cat")
        .arg(path)
        .stdout(File::create(&copy)?)
        .status()?;
    let took = started.elapsed();
    fs::remove_file(copy)?;
    if !status.success() {
        return Err("`cat` failed".into());
    }
    Ok(took)
}

fn status_kib(key: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find(|line| line.starts_with(key))
        .ok_or("no such line")?;
    let number = line.split_whitespace().nth(1).ok_or("no number")?;
    Ok(number.parse()?)
}

/// Steps of a layer with a matmul and a softmax inside it, on eight threads in turn.
fn many_ops(entries: usize) -> Result<TraceStore, TraceError> {
    let mut builder = TraceStoreBuilder::new();
    let threads: Vec<_> = (1..=8)
        .map(|id| builder.thread(Some(id), Some(0), Some("worker")))
        .collect();
    let (a, b, c) = ([512, 1024], [1024, 4096], [512, 4096]);
    let inputs: [(&[usize], DType); 2] = [(&a, DType::F32), (&b, DType::F32)];
    let outputs: [(&[usize], DType); 1] = [(&c, DType::F32)];
    let mut start = 0;
    for step in 0..entries.div_ceil(3) {
        let thread = threads[step % threads.len()];
        let layer = builder.push(&NewEntry::new("Layer::forward", thread, start, 9_000))?;
        for (name, offset) in [("matmul", 100), ("softmax", 5_000)] {
            let mut op = NewEntry::new(name, thread, start + offset, 3_500);
            op.parent = Some(layer);
            op.inputs = if name == "matmul" { &inputs } else { &outputs };
            op.outputs = &outputs;
            builder.push(&op)?;
        }
        start += 10_000;
    }
    Ok(builder.finish())
}

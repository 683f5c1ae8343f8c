//! Computes the figures that HTA computes, in one process: `time_read TRACE…` loads each trace, plain or
//! gzip, and prints its largest op, busy and idle time and overlap, then the peak memory of the process.
//! `scripts/compare-hta.sh` times it.

use flate2::bufread::GzDecoder;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};
use trace_runtime::TraceStore;
use trace_runtime::analyze::{activity, by_op};
use trace_runtime::read::Reader;
use trace_runtime::report::{duration, percent};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let reader = Reader::new().with_threads((cores / paths.len().max(1)).max(1));
    let lines: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = paths
            .iter()
            .map(|path| scope.spawn(move || figures(path, reader)))
            .collect();
        running.into_iter().map(ScopedJoinHandle::join).collect()
    });
    for line in lines {
        println!("{}", line.map_err(|_| "a reader panicked")??);
    }
    if let Some(peak) = peak_memory() {
        println!("peak {peak}");
    }
    Ok(())
}

/// The peak memory of this process in kilobytes, on systems that report it in `/proc`.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn load(path: &str, reader: Reader) -> Result<TraceStore, Box<dyn Error>> {
    let file = File::open(path)?;
    if Path::new(path).extension() != Some("gz".as_ref()) {
        return Ok(reader.from_reader(file)?);
    }
    let file = BufReader::with_capacity(1 << 16, file);
    Ok(reader.from_reader(GzDecoder::new(file))?)
}

fn figures(path: &str, reader: Reader) -> Result<String, String> {
    let trace = load(path, reader).map_err(|error| format!("{path}: {error}"))?;
    let ops = by_op(&trace);
    let first = ops.first().map_or("none", |row| row.operation.as_str());
    let devices = activity(&trace).ranks;
    let [device] = devices.as_slice() else {
        return Ok(format!("{path}: {} ops, first {first}", ops.len()));
    };
    Ok(format!(
        "{path}: {} ops, first {first}; busy {}, idle {}, overlap {}",
        ops.len(),
        duration(device.busy_ns),
        duration(device.idle_ns),
        percent(device.overlap_share().unwrap_or(0.0))
    ))
}

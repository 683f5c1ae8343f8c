//! Data-parallel training over four devices; one has five times the work of the others.
//!
//! ```text
//! cargo run --release --example pipeline
//! cargo run --release --example pipeline -- ranks     # two devices, one trace for each
//! ```

#[path = "../shown/files.rs"]
mod files;
mod graph;
#[path = "../shown/report.rs"]
mod report;

use graph::{EXAMPLE_ROWS, EXAMPLE_STEPS, train};
use std::error::Error;
use std::fs;
use trace_runtime::analyze::activity;
use trace_runtime::export::{ChromeTrace, write_ranks};
use trace_runtime::report::{duration, percent};
use trace_runtime::{RecordedExecutionTrace, Session};

fn main() -> Result<(), Box<dyn Error>> {
    let as_ranks = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("ranks") => true,
        Some(other) => {
            return Err(format!("`{other}` is not a mode; the only one is `ranks`").into());
        }
    };
    let rows: &[usize] = if as_ranks { &[64, 320] } else { &EXAMPLE_ROWS };

    let session = Session::start()?;
    let weights = train(rows, EXAMPLE_STEPS);
    let trace = session.finish();
    let agree = weights.windows(2).all(|pair| {
        let difference = &pair[0] - &pair[1];
        difference.iter().all(|difference| difference.abs() < 1e-3)
    });
    if !agree {
        return Err("the devices should end up with the same weights".into());
    }
    if as_ranks {
        return split_by_rank(trace);
    }
    report::print(&trace, 10);
    name_the_slowest(&trace);
    files::write_all("pipeline", &trace)?;
    Ok(())
}

/// Prints which device the others wait for, and how much of their communication is exposed.
fn name_the_slowest(trace: &RecordedExecutionTrace) {
    let mut devices = activity(trace).devices;
    devices.sort_by_key(|device| std::cmp::Reverse(device.compute_ns));
    let Some((slowest, others)) = devices.split_first() else {
        return;
    };
    let mean = |total: u64| total / others.len().max(1) as u64;
    let compute = mean(others.iter().map(|device| device.compute_ns).sum());
    let exposed = mean(
        others
            .iter()
            .map(|device| device.exposed_communication_ns)
            .sum(),
    );
    let span = mean(others.iter().map(|device| device.span_ns).sum());
    println!(
        "{} is the slow device: it computes for {}, the others for {} on average.",
        slowest.device,
        duration(slowest.compute_ns),
        duration(compute),
    );
    println!(
        "They wait for it in `all_reduce`: {} each of exposed communication, {} of their time.\n",
        duration(exposed),
        percent(exposed as f64 / span.max(1) as f64),
    );
}

/// Makes each device a rank and writes one file per rank, as tools for distributed training expect.
fn split_by_rank(mut trace: RecordedExecutionTrace) -> Result<(), Box<dyn Error>> {
    for entry in &mut trace.entries {
        let rank = entry
            .device_id
            .as_deref()
            .and_then(|device| device.strip_prefix("npu:"));
        entry.rank = rank.map(str::parse).transpose()?;
    }
    trace.entries.retain(|entry| entry.rank.is_some());
    report::print(&trace, 10);
    let folder = files::folder("pipeline");
    fs::create_dir_all(&folder)?;
    trace.write(folder.join("ranks.json"))?;
    for path in write_ranks(&ChromeTrace::new(), &trace, folder.join("trace.json"))? {
        println!("Written: {}", path.display());
    }
    Ok(())
}

//! `optrace merge`: the traces of several ranks as one.

use super::convert::{Destination, OutputOptions};
use crate::args::Reading;
use crate::failure::Failure;
use crate::input;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use trace_runtime::model::wire::metadata::{
    CLOCK_DRIFT_PPB, CLOCK_ERROR_NS, CLOCK_OFFSET_NS, MERGE_CLOCK, of_rank,
};
use trace_runtime::report::{duration, printable, prose};
use trace_runtime::{TraceStore, TraceView as _};

#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// The traces, one per rank
    #[arg(required = true, value_name = "RANK_FILES")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) target: OutputOptions,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

pub(super) fn run(args: &MergeArgs) -> Result<(), Failure> {
    let destination = Destination::of(&args.target)?;
    let paths: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let traces = input::load_all(&paths, args.reading)?;
    let merged = TraceStore::merge(&traces)?;
    destination.write(&merged)?;
    for line in clock_lines(&merged) {
        eprintln!("{line}");
    }
    Ok(())
}

/// The method by which the clocks were aligned, and the result for each rank.
fn clock_lines(merged: &TraceStore) -> Vec<String> {
    let facts = merged.metadata();
    let how = facts.get(MERGE_CLOCK).map_or("", String::as_str);
    let mut lines = vec![printable(&format!("clocks aligned by: {how}"))];
    let ranks: BTreeSet<u32> = merged.views().filter_map(|view| view.rank()).collect();
    for rank in ranks {
        let number = |key: &str| facts.get(&of_rank(rank, key))?.parse::<i64>().ok();
        let time = |ns: i64| prose(&duration(ns.unsigned_abs()));
        let mut parts = Vec::new();
        if let Some(ns) = number(CLOCK_OFFSET_NS).filter(|ns| *ns != 0) {
            let side = if ns > 0 { "ahead" } else { "behind" };
            parts.push(format!("wall clock {} {side}", time(ns)));
        }
        if let Some(ppb) = number(CLOCK_DRIFT_PPB).filter(|ppb| *ppb != 0) {
            parts.push(format!("drift {:.3} ppm", ppb as f64 / 1000.0));
        }
        if let Some(ns) = number(CLOCK_ERROR_NS).filter(|ns| (1..i64::MAX).contains(ns)) {
            parts.push(format!("error at most {}", time(ns)));
        }
        if !parts.is_empty() {
            lines.push(format!("  rank {rank}: {}", parts.join(", ")));
        }
    }
    lines
}

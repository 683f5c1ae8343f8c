//! `optrace baseline`: runs as a small file that can be committed.

use super::diff::group;
use crate::args::Reading;
use crate::failure::Failure;
use crate::output;
use std::path::PathBuf;

/// Write a small file with the figures of several runs, for the `--before` of a later `optrace diff`
///
/// The file has the figures that a comparison needs and no entries: below 200 kB for a thousand ops × shapes. Commit
/// it, and write it again when the machine or the intended speed changes.
#[derive(Debug, clap::Args)]
pub(crate) struct BaselineArgs {
    /// Traces of runs of one build on one machine; five are enough
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

pub(super) fn run(args: &BaselineArgs) -> Result<(), Failure> {
    let runs = group(&args.files, args.reading)?;
    output::write(args.output.as_deref(), runs.to_baseline()?.as_bytes())
}

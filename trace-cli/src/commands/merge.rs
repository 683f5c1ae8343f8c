//! `optrace merge`: the traces of several ranks as one.

use super::convert::{Destination, Target};
use crate::args::Reading;
use crate::failure::Failure;
use crate::input;
use std::path::{Path, PathBuf};
use trace_runtime::TraceStore;

#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// The traces, one per rank
    #[arg(required = true, value_name = "RANK_FILES")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

pub(super) fn run(args: &MergeArgs) -> Result<(), Failure> {
    let destination = Destination::of(&args.target)?;
    let paths: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let traces = input::load_all(&paths, args.reading)?;
    let merged = TraceStore::merge(&traces)?;
    destination.write(&merged)
}

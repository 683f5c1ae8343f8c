//! `optrace merge`: one trace of several ranks.

use super::convert::Destination;
use crate::args::MergeArgs;
use crate::failure::Failure;
use crate::input;
use std::path::{Path, PathBuf};
use trace_runtime::TraceStore;

pub(super) fn run(args: &MergeArgs) -> Result<(), Failure> {
    let destination = Destination::of(&args.target)?;
    let paths: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let traces = input::load_all(&paths, args.reading)?;
    let merged = TraceStore::merge(&traces)?;
    destination.write(&merged)
}

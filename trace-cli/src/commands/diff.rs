//! `optrace diff`: the changes between runs, and whether they exceed a limit.

use super::Verdict;
use super::gate::{self, Limits};
use crate::args::{Layout, Reading};
use crate::failure::Failure;
use crate::input;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use trace_runtime::analyze::{Design, RunGroup, diff};

/// Compare runs before and after a change: the total, and the ops that explain its change
///
/// A change counts only if it is larger than chance explains. Several runs a side show how much runs vary: give five a
/// side, or let `optrace compare` make them.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("runs").args(["files", "before"]).required(true)))]
pub(crate) struct DiffArgs {
    /// Trace before the change, and trace after it
    #[arg(value_names = ["BEFORE", "AFTER"], num_args = 2, conflicts_with_all = ["before", "after"])]
    pub(crate) files: Vec<PathBuf>,
    /// Traces of runs before the change, or a file of `optrace baseline`
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after")]
    pub(crate) before: Vec<PathBuf>,
    /// Traces of runs after the change
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before")]
    pub(crate) after: Vec<PathBuf>,
    /// The runs of the two sides were made in turns, and the files are in that order
    #[arg(long, requires = "before")]
    pub(crate) pairs: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

pub(super) fn run(args: &DiffArgs) -> Result<Verdict, Failure> {
    let (before, after) = match args.files.as_slice() {
        [before, after] => (std::slice::from_ref(before), std::slice::from_ref(after)),
        _ => (args.before.as_slice(), args.after.as_slice()),
    };
    if args.pairs && before.len() != after.len() {
        return Err(Failure::Message(format!(
            "`--pairs` needs as many runs before ({}) as after ({})",
            before.len(),
            after.len()
        )));
    }
    if after.iter().any(|path| is_baseline(path)) {
        return Err(Failure::Message(
            "a baseline goes before the change; name traces after it".to_owned(),
        ));
    }
    let design = if args.pairs {
        Design::Pairs
    } else {
        Design::Groups
    };
    let before = group(before, args.reading)?;
    let after = group(after, args.reading)?;
    let found = diff(&before, &after, &args.limits.settings(design));
    gate::write(&found, &args.limits, &args.layout)
}

/// The runs of one side: traces, baselines, or both.
pub(super) fn group(paths: &[PathBuf], reading: Reading) -> Result<RunGroup, Failure> {
    let mut group = RunGroup::default();
    let (baselines, traces): (Vec<&Path>, Vec<&Path>) = paths
        .iter()
        .map(PathBuf::as_path)
        .partition(|path| is_baseline(path));
    for path in baselines {
        let unreadable =
            |error| Failure::Message(format!("{}: cannot be read: {error}", path.display()));
        let json = std::fs::read(path).map_err(unreadable)?;
        let read = RunGroup::from_baseline(&json).map_err(|error| error.in_file(path))?;
        group.runs.extend(read.runs);
    }
    let loaded: RunGroup = input::load_all(&traces, reading)?.iter().collect();
    group.runs.extend(loaded.runs);
    Ok(group)
}

fn is_baseline(path: &Path) -> bool {
    // Standard input cannot be read twice; a file that cannot be read is reported when it is loaded.
    if path.as_os_str() == "-" || !path.is_file() {
        return false;
    }
    let mut start = [0; 64];
    let read = File::open(path).and_then(|mut file| file.read(&mut start));
    read.is_ok_and(|length| RunGroup::is_baseline(&start[..length]))
}

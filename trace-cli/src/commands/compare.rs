//! `optrace compare`: runs two programs in turns and compares their traces.

use super::Verdict;
use super::gate::{self, Limits};
use crate::args::{Layout, Reading};
use crate::failure::Failure;
use crate::input;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trace_runtime::analyze::{Design, Evidence, RunGroup, RunSummary, TraceDiff, diff};
use trace_runtime::report::{duration, percent, printable, prose};

/// Run two programs in turns, several times, and compare their traces
///
/// The programs are run with `OPTRACE` set to a file, to which they write their trace: start a session with
/// `Session::from_env()`. Other programs on the machine affect both sides alike, so this finds smaller changes than
/// `optrace diff`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "optrace compare [OPTIONS] -- BEFORE [ARGS]... -- AFTER [ARGS]...")]
pub(crate) struct CompareArgs {
    /// Maximum number of runs of each program; fewer are made if the noise is small
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Minimum number of runs of each program
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) min_runs: u32,
    /// Number of first runs of each program that are not used
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) warmup: u32,
    /// Keep the traces in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) keep: Option<PathBuf>,
    /// The program before the change with its arguments, `--`, and the program after it with its arguments
    #[arg(last = true, required = true, value_name = "PROGRAMS")]
    pub(crate) programs: Vec<OsString>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

pub(super) fn run(args: &CompareArgs) -> Result<Verdict, Failure> {
    let (before, after) = programs(&args.programs)?;
    let folder = Folder::new(args.keep.as_deref())?;
    // Both sides use the same file name. The size of the environment decides where the stack begins, and the addresses
    // of an op's data can make it twice as slow.
    let file = folder.path.join("run.json");
    for round in 0..args.warmup {
        show(&format!("warm-up {} of {}", round + 1, args.warmup));
        for program in [before, after] {
            execute(program, &file)?;
            let _ = fs::remove_file(&file);
        }
    }
    let mut groups = [RunGroup::default(), RunGroup::default()];
    let settings = args.limits.settings(Design::Pairs);
    let mut found = TraceDiff::default();
    for round in 0..args.runs {
        // The program that runs first alternates between rounds, so that running first is not an advantage.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for side in order {
            let (name, program) = [("before", before), ("after", after)][side];
            execute(program, &file)?;
            let trace = input::load(&file, args.reading)?;
            groups[side].runs.push(RunSummary::of(&trace));
            // Unless traces are kept, they are deleted with the folder.
            let kept = folder.path.join(format!("{name}-{}.json", round + 1));
            fs::rename(&file, &kept).map_err(|error| {
                Failure::Message(format!("{}: cannot be written: {error}", kept.display()))
            })?;
        }
        found = diff(&groups[0], &groups[1], &settings);
        show(&progress(round + 1, args.runs, &groups, &found));
        if round + 1 >= args.min_runs && is_precise(&found) {
            break;
        }
    }
    drop(folder);
    gate::write(&found, &args.limits, &args.layout)
}

/// Splits the command line at the second `--`.
fn programs(words: &[OsString]) -> Result<(&[OsString], &[OsString]), Failure> {
    let usage = || {
        let text =
            "expected two programs: `optrace compare -- BEFORE [ARGS]... -- AFTER [ARGS]...`";
        Failure::Message(text.to_owned())
    };
    let middle = words
        .iter()
        .position(|word| word == "--")
        .ok_or_else(usage)?;
    let (before, after) = (&words[..middle], &words[middle + 1..]);
    if before.is_empty() || after.is_empty() {
        return Err(usage());
    }
    Ok((before, after))
}

/// Runs a program that is to write its trace to `file`.
fn execute(program: &[OsString], file: &Path) -> Result<(), Failure> {
    let name = program[0].to_string_lossy();
    let output = Command::new(&program[0])
        .args(&program[1..])
        .env("OPTRACE", file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| Failure::Message(format!("`{name}` cannot be run: {error}")))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rfind(|line| !line.trim().is_empty());
    let last = last.map_or_else(String::new, |line| format!(": {}", line.trim()));
    if !output.status.success() {
        return Err(Failure::Message(format!(
            "`{name}` failed ({}){last}",
            output.status
        )));
    }
    if !file.exists() {
        return Err(Failure::Message(format!(
            "`{name}` wrote no trace to the file in `OPTRACE`; start a session with `Session::from_env()` and keep it \
             until the work is done{last}"
        )));
    }
    Ok(())
}

/// True if more runs would not change the verdicts much: the uncertainty of each tested op is at most half of the
/// threshold, and that of the total at most the threshold. Five steady runs cannot give less for the total, because a
/// certain variation of it is always assumed. The decision depends on the uncertainty and not on the result, so the
/// error rates of the tests stay the same.
fn is_precise(found: &TraceDiff) -> bool {
    let threshold = found.method.threshold;
    let within = |evidence: &[Evidence], limit: f64| {
        let mut quiet = evidence.iter().filter(|one| one.metric == "quiet time");
        quiet.all(|one| (one.high - one.low) / 2.0 <= limit)
    };
    let mut rows = found.ops.iter().chain(&found.rows);
    rows.all(|row| within(&row.evidence, threshold / 2.0))
        && within(&found.total.evidence, threshold)
}

fn progress(round: u32, of: u32, groups: &[RunGroup; 2], found: &TraceDiff) -> String {
    let last = |group: &RunGroup| group.runs.last().map_or(0, |run| run.total_ns);
    let [before, after] = [&groups[0], &groups[1]].map(|group| prose(&duration(last(group))));
    let total = found
        .total
        .evidence
        .iter()
        .find(|one| one.metric == "quiet time");
    let so_far = total.map_or_else(String::new, |one| {
        let sign = if one.change < 0.0 { '−' } else { '+' };
        let error = percent((one.high - one.low) / 2.0);
        format!(
            "; quiet time so far {sign}{} ± {error}",
            percent(one.change.abs())
        )
    });
    format!("run {round} of at most {of}: before {before}, after {after}{so_far}")
}

fn show(line: &str) {
    // Errors are ignored: the comparison continues without progress.
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// The folder for the traces. It is deleted at the end, unless `--keep` is given.
struct Folder {
    path: PathBuf,
    kept: bool,
}

impl Folder {
    fn new(keep: Option<&Path>) -> Result<Folder, Failure> {
        let path = match keep {
            Some(folder) => folder.to_owned(),
            None => std::env::temp_dir().join(format!("optrace-compare-{}", std::process::id())),
        };
        fs::create_dir_all(&path).map_err(|error| {
            Failure::Message(format!("{}: cannot be created: {error}", path.display()))
        })?;
        Ok(Folder {
            path,
            kept: keep.is_some(),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
